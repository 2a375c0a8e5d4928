"""Where events are sent, and what was sent; for admins."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.events.outgoing_shape import OutgoingShape
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, WholeBody
from panel.api.framework.fields import Boolean, Choice, DateTime, Integer, List, Text, Texts
from panel.api.framework.problem import ApiProblem
from panel.api.framework.refs import Noun, Ref
from panel.api.framework.resource import Resource
from panel.deliveries.webhooks import saved_webhooks, webhook_fanout
from panel.deliveries.webhooks.saved_webhooks import FORMER_HOURS, KINDS, MOST_FORMER_HOURS
from panel.deliveries.webhooks.webhook_sending import TEST
from panel.models import Scope, Webhook, WebhookDelivery
from storage.access import Right


class WebhookShape(Noun):
    """An address that events are sent to. The address and its secrets are never shown."""

    name = Text("Display name.")
    server = Text("Of the address.", of=saved_webhooks.server_of)
    types = Texts("Empty: all.", of="kinds")
    customer = Ref("Only events that this customer's people can see.", null=True)
    on = Boolean(
        "False: nothing is sent to it.",
        of=lambda webhook: webhook.is_on and webhook.disabled_at is None,
    )
    disabled_at = DateTime(
        "When the receiver answered 410. Switching it on enables it again.", null=True
    )
    failures = Integer("Consecutive failed attempts.")
    rests_until = DateTime("No attempt is made before this time.", null=True)
    former_secret_until = DateTime(
        "Until then, the former secret also signs.",
        of=lambda webhook: webhook.former_until if webhook.former_secret else None,
        null=True,
    )
    created_at = DateTime("When it was created.")
    secret = Text(
        "The signing secret; only in the answer that created it, null in its replay.",
        null=True,
        required=False,
    )


class WebhookBody(Body):
    """A webhook."""

    shows = WebhookShape
    name = Text(max_length=60)
    address = Text("URL that receives the events.", source="url", max_length=1000)
    types = List("", Choice("", KINDS), source="kinds", default=list)
    customer = Text("Key of the customer.", max_length=26, required=False, null=True)
    on = Boolean(source="is_on", default=True)


class WholeWebhookBody(WholeBody, WebhookBody):
    """The whole webhook: each field is required."""

    address = Text(
        "URL that receives the events. It is never shown; null keeps the current one.",
        source="url",
        max_length=1000,
        null=True,
    )


class WebhookSecretBody(Body):
    """How long the former secret also signs."""

    former_hours = Integer(
        "Hours for which the former secret also signs.",
        default=FORMER_HOURS,
        min_value=0,
        max_value=MOST_FORMER_HOURS,
    )


class WebhookDeliveryShape(OutgoingShape):
    """A message to a webhook. `id` is its webhook-id: the event's."""

    key = Text("Its name in the API; it never changes.")
    id = Text("Its webhook-id: the event's id.", of="name")
    type = Text("What the event tells.", of=lambda row: row.event.kind if row.event else TEST)
    subject = Text("What it is about: volume:KEY, host:KEY or alert:KEY.")
    error = Text("Why the last attempt failed; empty: it succeeded.", of="last_error")


class WebhookResource(Resource):
    """For administrators."""

    read_scope = Scope.EVENTS_READ
    staff_only = True
    write_scope = Scope.WEBHOOKS

    def webhooks(self) -> QuerySet[Webhook]:
        """Those of the person, who is an administrator."""
        self.demand(Right.ADMINISTER)
        return Webhook.objects.visible_to(self.user).select_related("customer")

    def webhook(self, key: str) -> Webhook:
        """The one of this key."""
        return get_object_or_404(self.webhooks(), key=key)

    def deliveries(self, key: str) -> QuerySet[WebhookDelivery]:
        """What was sent to the webhook of this key."""
        rows = WebhookDelivery.objects.visible_to(self.user).filter(webhook=self.webhook(key))
        return rows.select_related("event")

    def saved(self, webhook: Webhook | None = None, status: int = 200) -> Response:
        """The webhook with the values of the body."""
        values = self.read()
        if "customer" in values:
            values["customer"] = saved_webhooks.customer_named(values["customer"])
        row, secret = saved_webhooks.save_webhook(
            values, self.user, webhook, is_enabling="is_on" in values
        )
        return self.shown(row, status, **({"secret": secret} if secret else {}))


class Webhooks(WebhookResource):
    """Where events are sent."""

    listing: ClassVar = Listing("webhooks", WebhookShape, sorts={"name": "name"})

    @operation("webhooks_list", "List webhooks", listing)
    def get(self, request: Request) -> Response:
        """For administrators, oldest first."""
        return self.page(self.webhooks())

    @operation(
        "webhook_make", "Send events to an address", WebhookShape, status=201, body=WebhookBody
    )
    def post(self, request: Request) -> Response:
        """For administrators. The webhook gets events from now on. The signing secret is shown only
        in this answer."""
        self.demand(Right.ADMINISTER)
        return self.saved(status=201)


class OneWebhook(WebhookResource):
    """One webhook."""

    @operation("webhook", "Show a webhook", WebhookShape)
    def get(self, request: Request, key: str) -> Response:
        """For administrators."""
        return self.shown(self.webhook(key))

    @operation("webhook_change", "Change fields of a webhook", WebhookShape, body=WebhookBody)
    def patch(self, request: Request, key: str) -> Response:
        """For administrators. Omitted fields stay. A webhook that is switched on again, or that
        answered 410, gets events from now on."""
        return self.saved(self.webhook(key))

    @operation("webhook_replace", "Replace a webhook", WebhookShape, body=WholeWebhookBody)
    def put(self, request: Request, key: str) -> Response:
        """For administrators. All fields are required; none has a default."""
        return self.saved(self.webhook(key))

    @operation("webhook_delete", "Delete a webhook")
    def delete(self, request: Request, key: str) -> Response:
        """For administrators. Also deletes the list of its deliveries."""
        saved_webhooks.delete(self.webhook(key), self.user)
        return Response(status=204)


class WebhookSecret(WebhookResource):
    """What signs."""

    @operation(
        "webhook_secret_change",
        "Change the secret of a webhook",
        WebhookShape,
        body=WebhookSecretBody,
    )
    def post(self, request: Request, key: str) -> Response:
        """For administrators. The new secret is shown only in this answer. The former one also
        signs for `former_hours`, so that the receiver can be changed in that time."""
        webhook = self.webhook(key)
        hours = self.read()["former_hours"]
        secret = saved_webhooks.change_secret(webhook, self.user, hours)
        return self.shown(self.webhook(key), secret=secret)


class WebhookTest(WebhookResource):
    """A message that means nothing."""

    @operation(
        "webhook_test",
        "Send a test message",
        WebhookDeliveryShape,
        status=202,
        problems=(400, 409),
    )
    def post(self, request: Request, key: str) -> Response:
        """For administrators. Sent at once; the deliveries of the webhook show the answer."""
        webhook = self.webhook(key)
        if not Webhook.objects.in_use().filter(pk=webhook.pk).exists():
            raise ApiProblem(409, "off", "The webhook is switched off.", "Switch it on first.")
        return self.shown(webhook_fanout.write_test(webhook), status=202)


class WebhookDeliveries(WebhookResource):
    """What was sent to a webhook."""

    listing: ClassVar = Listing("webhook-deliveries", WebhookDeliveryShape, newest_first=True)

    @operation("webhook_deliveries_list", "List the deliveries of a webhook", listing)
    def get(self, request: Request, key: str) -> Response:
        """For administrators, newest first."""
        return self.page(self.deliveries(key))


class WebhookRedelivery(WebhookResource):
    """The same message once more."""

    @operation(
        "webhook_redeliver",
        "Send a message again",
        WebhookDeliveryShape,
        status=202,
        problems=(400,),
    )
    def post(self, request: Request, key: str, delivery: str) -> Response:
        """For administrators. The id stays the same, so the receiver can detect the repeat."""
        row = get_object_or_404(self.deliveries(key), key=delivery)
        saved_webhooks.send_again(row)
        row.refresh_from_db()
        return self.shown(row, status=202)
