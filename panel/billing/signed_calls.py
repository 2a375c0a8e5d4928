"""Signed calls of the billing system. The signature (Standard Webhooks) is the only credential:
there is no token and no person. `docs/billing.md` describes all calls."""

from __future__ import annotations

from typing import ClassVar, Final

import pghistory
from django.conf import settings
from django.db import transaction
from django.urls import URLPattern, path
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.queue.submit import Busy
from panel.accounts.client_address import address_of
from panel.api.framework import problem
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import unfit
from panel.api.framework.fields import Choice
from panel.api.framework.parameters import Header
from panel.api.framework.parsing import MAX_BODY_BYTES, too_large
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.billing import call_log, message_endpoints
from panel.billing.calls import call_bodies, customer_calls, order_calls, volume_calls
from panel.billing.calls.calling import ACTOR, CallDefinition, Caller
from panel.deliveries import signature
from panel.orders.order_request import OrderRefused
from storage import row_security
from storage.planner import Refused

REFUSALS = (ApiProblem, Refused, Busy, OrderRefused, ValidationError)
SIGNED: Final = tuple(
    Header(name, text, is_required=True)
    for name, text in (
        (signature.ID, "Your ID of the call. Send the same ID to repeat the call."),
        (signature.TIMESTAMP, "Unix time. It may differ by at most 5 minutes."),
        (signature.SIGNATURE, "v1,<base64 of HMAC-SHA256 over id.timestamp.body>"),
    )
)

CALLS = (
    CallDefinition(
        "create-customer",
        "Create a customer and its owner",
        call_bodies.CreateCustomerBody,
        customer_calls.create_customer,
    ),
    CallDefinition(
        "set-mandate", "Set a mandate", call_bodies.SetMandateBody, customer_calls.set_mandate
    ),
    CallDefinition("suspend", "Suspend a customer", call_bodies.OfCustomer, customer_calls.suspend),
    CallDefinition(
        "unsuspend", "Unsuspend a customer", call_bodies.OfCustomer, customer_calls.unsuspend
    ),
    CallDefinition(
        "login-link",
        "Create a sign-in link",
        call_bodies.LoginLinkBody,
        customer_calls.login_link,
        tells_once=True,
    ),
    CallDefinition(
        "bind-volume",
        "Give a volume to a customer",
        call_bodies.BindVolumeBody,
        volume_calls.bind_volume,
    ),
    CallDefinition(
        "terminate", "Switch volumes off", call_bodies.TerminateBody, volume_calls.terminate
    ),
    CallDefinition(
        "change-plan", "Change a volume's plan", call_bodies.ChangePlanBody, order_calls.change_plan
    ),
    CallDefinition(
        "decide-order", "Answer later", call_bodies.DecideOrderBody, order_calls.decide_order
    ),
    CallDefinition(
        "usage-lines",
        "List a month's usage lines",
        call_bodies.UsageLinesBody,
        customer_calls.usage_lines,
        only_reads=True,
    ),
    CallDefinition(
        "status",
        "Show an order or a job",
        call_bodies.StatusBody,
        order_calls.status,
        only_reads=True,
    ),
)


class CallAnswer(Shape):
    """`result` is success, pending (poll `status`) or error; other fields belong to the call."""

    result = Choice(
        "success, pending (poll `status`) or error.",
        ["success", "pending", "error"],
    )


class SignedCall(Resource):
    """One of `CALLS`."""

    # The webhook-id is the key of a call.
    keeps_key = True
    authentication_classes = ()
    permission_classes = ()  # type: ignore[assignment]  # the signature decides
    call: ClassVar[CallDefinition]

    def called(self, request: Request) -> Response:
        """Once for each webhook-id: the same one again is answered as the first time."""
        body = _body(request)
        try:
            name = signature.verify(_headers(request), body, settings.TIERCEL_BILLING_IN_SECRETS)
        except signature.BadSignature as bad:
            raise ApiProblem(
                401,
                "bad_signature",
                f"The call is not signed by the billing system: {bad}.",
                "Sign id, timestamp and body with the secret of TIERCEL_BILLING_IN_SECRETS.",
            ) from None
        caller = Caller(name, address_of(request._request))
        with row_security.beyond(), pghistory.context(actor=ACTOR, call=name):
            if self.call.only_reads:
                return self._act(caller)
            return call_log.once(self.call, caller, body, lambda: self._act(caller))

    def _act(self, caller: Caller) -> Response:
        """What the call did, or the problem that kept it from doing anything."""
        try:
            with transaction.atomic():
                values = self.read()
                if values.pop("call", self.call.name) != self.call.name:
                    raise unfit("call", "This body was signed for another call.")
                result = self.call.act(values, caller)
                return Response(result.to_json(), status=result.status)
        except REFUSALS as refusal:
            return problem.problem_answer(refusal, {"request": self.request})


def _body(request: Request) -> bytes:
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
        raise too_large()
    return request._request.body


def _headers(request: Request) -> dict[str, str]:
    return {each.name: request.headers.get(each.name, "") for each in SIGNED}


def _view(call: CallDefinition) -> type[SignedCall]:
    def post(self: SignedCall, request: Request) -> Response:
        return self.called(request)

    post.__doc__ = call.act.__doc__
    described = operation(
        f"billing_{call.name.replace('-', '_')}",
        f"Billing: {call.summary[0].lower()}{call.summary[1:]}",
        {
            200: CallAnswer,
            202: (CallAnswer, "The call is being carried out. Call `status` for its result."),
        },
        body=call.body,
        parameters=SIGNED,
        problems=(404, 409),
    )
    words = call.name.replace("-", " ").title().replace(" ", "")
    own = {"call": call, "post": described(post), "__doc__": call.body.__doc__}
    return type(words, (SignedCall,), own)


urlpatterns: list[URLPattern] = [
    *(
        path(f"billing/{call.name}", _view(call).as_view(), name=f"api-billing-{call.name}")
        for call in CALLS
    ),
    path("messages/", message_endpoints.BillingMessages.as_view(), name="api-messages"),
    path(
        "messages/<str:name>/again",
        message_endpoints.BillingMessageAgain.as_view(),
        name="api-message-again",
    ),
    path("messages/test", message_endpoints.BillingMessageTest.as_view(), name="api-message-test"),
    path("messages/enable", message_endpoints.BillingAddress.as_view(), name="api-billing-enable"),
]
