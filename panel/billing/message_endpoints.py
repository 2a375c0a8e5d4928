"""Messages to the billing system, for programs of the provider."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.fields import Choice, DateTime, Integer, Text
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.api.response_shapes import Json
from panel.billing import outbox
from panel.models import Endpoint, Message, MessageType, Scope
from storage.access import Right
from storage.naming import new_key

MESSAGE_STATES = ["waiting", "delivered", "given_up"]


@extend_schema_serializer(deprecate_fields=["name"])
class MessageShape(Shape):
    """A message to the billing system."""

    key = Text("Its webhook-id.")
    name = Text("The same as `key`.")
    type = Text("What it tells, such as order.completed.")
    state = Choice("Where it stands now.", MESSAGE_STATES)
    attempts = Integer("How often it was tried.")
    status = Integer("Of the last answer; null where none came.", null=True)
    error = Text("What was wrong with the last try.")
    next_at = DateTime("When it is tried (again).", null=True)
    created_at = DateTime("When it was made.")
    delivered_at = DateTime("When it arrived; null: it has not yet.", null=True)


class BillingMessages(Resource):
    """Messages to the billing system."""

    read_scope = Scope.BILLING_READ
    staff_only = True
    write_scope = Scope.CUSTOMERS
    takes_no_body = True
    listing: ClassVar = Listing(
        "messages", MessageShape, order=("created_at", "name"), newest_first=True
    )
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="messages_list",
        summary="List messages to the billing system",
        parameters=listing.described,
        responses={
            200: listing.page_shape("MessagePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """For admins. Newest first, without what they say."""
        self.demand(Right.ADMINISTER)
        rows = Message.objects.visible_to(self.user)
        return self.listing.answer(request, rows, lambda page: map(_message_json, page))

    @extend_schema(
        operation_id="message_make",
        summary="Send a test message to the billing system",
        deprecated=True,
        request=None,
        responses={202: None, **described.problems(403, 404, 409)},
    )
    def post(self, request: Request) -> Response:
        """The same as `POST /messages/test`."""
        return _tested(self)


class BillingMessageTest(Resource):
    """A message that means nothing."""

    staff_only = True
    write_scope = Scope.CUSTOMERS
    takes_no_body = True

    @extend_schema(
        operation_id="message_test",
        summary="Send a test message to the billing system",
        request=None,
        responses={202: None, **described.problems(403, 404, 409)},
    )
    def post(self, request: Request) -> Response:
        """For admins. It means nothing; the list tells what became of it."""
        return _tested(self)


def _tested(view: Resource) -> Response:
    view.demand(Right.ADMINISTER)
    if not outbox.is_on():
        raise ApiProblem(409, "off", "No billing system is configured.", "Configure one.")
    outbox.write(MessageType.TEST, new_key(), {"text": "This is a test message."})
    return Response(status=202)


class BillingMessageAgain(Resource):
    """A message once more."""

    staff_only = True
    write_scope = Scope.CUSTOMERS
    takes_no_body = True

    @extend_schema(
        operation_id="message_again",
        summary="Send a message to the billing system again",
        request=None,
        responses={202: None, **described.problems(403, 404)},
    )
    def post(self, request: Request, name: str) -> Response:
        """For admins. Now, under the same webhook-id."""
        self.demand(Right.ADMINISTER)
        outbox.send_message_again(
            get_object_or_404(Message.objects.visible_to(self.user), name=name)
        )
        return Response(status=202)


class BillingAddress(Resource):
    """The address of the billing system."""

    staff_only = True
    write_scope = Scope.CUSTOMERS
    takes_no_body = True

    @extend_schema(
        operation_id="billing_enable",
        summary="Send to a billing system again that said it was gone",
        request=None,
        responses={204: None, **described.problems(403, 404)},
    )
    def post(self, request: Request) -> Response:
        """For admins."""
        self.demand(Right.ADMINISTER)
        Endpoint.objects.filter(url=settings.TIERCEL_BILLING_URL).update(disabled_at=None)
        outbox.announce_messages()
        return Response(status=204)


def _message_json(message: Message) -> Json:
    state = "delivered" if message.delivered_at is not None else "waiting"
    if message.given_up_at is not None:
        state = "given_up"
    names = ("name", "type", "attempts", "created_at", "delivered_at")
    data = {name: getattr(message, name) for name in names}
    data |= {
        "key": message.name,
        "state": state,
        "status": message.last_status,
        "error": message.last_error,
        "next_at": message.next_at if state == "waiting" else None,
    }
    return show(MessageShape, data)
