"""Messages to the billing system, for programs of the provider."""

from __future__ import annotations

from datetime import date
from typing import ClassVar

from django.conf import settings
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema_serializer
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.deprecations import Deprecation
from panel.api.events.outgoing_shape import OutgoingShape
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Text
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.billing import outbox
from panel.models import Endpoint, Message, MessageType, Scope
from storage.access import Right
from storage.naming import new_key


@extend_schema_serializer(deprecate_fields=["name"])
class MessageShape(OutgoingShape):
    """A message to the billing system."""

    key = Text("Its webhook-id.", of="name")
    name = Text("The same as `key`.")
    type = Text("Its event, such as order.completed.")


class BillingMessages(Resource):
    """Messages to the billing system."""

    read_scope = Scope.BILLING_READ
    staff_only = True
    write_scope = Scope.CUSTOMERS
    listing: ClassVar = Listing(
        "messages", MessageShape, order=("created_at", "name"), newest_first=True
    )

    @operation("messages_list", "List messages to the billing system", listing)
    def get(self, request: Request) -> Response:
        """For admins. Newest first, without their content."""
        self.demand(Right.ADMINISTER)
        rows = Message.objects.visible_to(self.user)
        return self.page(rows)

    @operation(
        "message_make",
        "Send a test message to the billing system",
        status=202,
        problems=(409,),
        deprecated=Deprecation("message_make", date(2026, 11, 26)),
    )
    def post(self, request: Request) -> Response:
        """The same as `POST /messages/test`."""
        return _tested(self)


class BillingMessageTest(Resource):
    """A message that means nothing."""

    staff_only = True
    write_scope = Scope.CUSTOMERS

    @operation(
        "message_test", "Send a test message to the billing system", status=202, problems=(409,)
    )
    def post(self, request: Request) -> Response:
        """For admins. The billing system ignores its content; the list of messages shows the
        outcome."""
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

    @operation("message_again", "Send a message to the billing system again", status=202)
    def post(self, request: Request, name: str) -> Response:
        """For admins. Sent at once, under the same webhook-id."""
        self.demand(Right.ADMINISTER)
        outbox.send_message_again(
            get_object_or_404(Message.objects.visible_to(self.user), name=name)
        )
        return Response(status=202)


class BillingAddress(Resource):
    """The address of the billing system."""

    staff_only = True
    write_scope = Scope.CUSTOMERS

    @operation("billing_enable", "Resume messages to a billing system that answered 410")
    def post(self, request: Request) -> Response:
        """For admins."""
        self.demand(Right.ADMINISTER)
        Endpoint.objects.filter(url=settings.TIERCEL_BILLING_URL).update(disabled_at=None)
        outbox.announce_messages()
        return Response(status=204)
