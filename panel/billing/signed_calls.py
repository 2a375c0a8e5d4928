"""Signed calls of the billing system. The signature (Standard Webhooks) is the only credential:
there is no token and no person. `docs/billing.md` describes all calls."""

from __future__ import annotations

from typing import ClassVar

import pghistory
from django.conf import settings
from django.db import transaction
from django.urls import URLPattern, path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.queue.submit import Busy
from panel.accounts.client_address import address_of
from panel.api.framework import bodies, described, problem
from panel.api.framework.fields import Choice
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


CALLS = (
    CallDefinition(
        "create-customer",
        "Make a customer and its owner",
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
        "Make a link to sign in",
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
    """`result` is success, pending (`status` tells when it is over) or error; the rest is the
    call's."""

    result = Choice(
        "success, pending (`status` tells when it is over) or error.",
        ["success", "pending", "error"],
    )


class SignedCall(Resource):
    """One of `CALLS`."""

    # The webhook-id is the key of a call.
    keeps_key = True
    authentication_classes = ()
    permission_classes = ()  # type: ignore[assignment]  # nobody: the signature is asked
    call: ClassVar[CallDefinition]

    def post(self, request: Request) -> Response:
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
                return self._act(request, caller)
            return call_log.once(self.call, caller, body, lambda: self._act(request, caller))

    def _act(self, request: Request, caller: Caller) -> Response:
        """What the call did, or the problem that kept it from doing anything."""
        try:
            with transaction.atomic():
                values = bodies.read(request, self.call.body)
                if values.pop("call", self.call.name) != self.call.name:
                    raise bodies.unfit("call", "This body was signed for another call.")
                result = self.call.act(values, caller)
                return Response(result.to_json(), status=result.status)
        except REFUSALS as refusal:
            return problem.problem_answer(refusal, {"request": request})


def _body(request: Request) -> bytes:
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
        raise too_large()
    return request._request.body


def _headers(request: Request) -> dict[str, str]:
    names = (signature.ID, signature.TIMESTAMP, signature.SIGNATURE)
    return {name: request.headers.get(name, "") for name in names}


def _header(name: str, text: str) -> OpenApiParameter:
    return OpenApiParameter(
        name, OpenApiTypes.STR, OpenApiParameter.HEADER, required=True, description=text
    )


SIGNED = [
    _header(signature.ID, "Your ID of the call. Send the same ID to repeat the call."),
    _header(signature.TIMESTAMP, "Unix time. It may differ by at most 5 minutes."),
    _header(signature.SIGNATURE, "v1,<base64 of HMAC-SHA256 over id.timestamp.body>"),
]


def _view(call: CallDefinition) -> type[SignedCall]:
    words = call.name.replace("-", " ").title().replace(" ", "")
    view = type(words, (SignedCall,), {"call": call, "__doc__": call.body.__doc__})
    described_as = extend_schema(
        operation_id=f"billing_{call.name.replace('-', '_')}",
        summary=f"Billing: {call.summary[0].lower()}{call.summary[1:]}",
        description=call.act.__doc__,
        parameters=SIGNED,
        request=call.body,
        responses={
            200: CallAnswer,
            202: OpenApiResponse(
                CallAnswer, "The call is being carried out. Call `status` for its result."
            ),
            **described.problems(401, 403, 404, 409, 422),
        },
        auth=[],
    )
    post = SignedCall.post

    def answered(self: SignedCall, request: Request) -> Response:
        return post(self, request)

    view.post = described_as(answered)  # type: ignore[attr-defined]
    return view


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
