"""Where events are sent, and what was sent; for admins."""

from __future__ import annotations

from typing import Any, ClassVar

from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.api.request_bodies import Body, WholeBody
from panel.api.resource_json import customer_ref
from panel.api.response_shapes import Json, Ref
from panel.deliveries.webhooks import webhook_fanout, webhook_forms
from panel.deliveries.webhooks.webhook_forms import (
    FORMER_HOURS,
    KINDS,
    MOST_FORMER_HOURS,
    WebhookForm,
)
from panel.deliveries.webhooks.webhook_sending import TEST
from panel.models import Scope, Webhook, WebhookDelivery
from storage.access import Right

NAMES = {"url": "address", "is_on": "on", "kinds": "types"}
"""Fields of the form that have another name here."""
FIELDS = {name: field for field, name in NAMES.items()}


class WebhookShape(Shape):
    """An address that events are sent to. The address and its secrets are never shown."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    server = serializers.CharField(help_text="Of the address.")
    types = serializers.ListField(child=serializers.CharField(), help_text="Empty: all.")
    customer = Ref(allow_null=True, help_text="Only what the people of this customer see.")
    on = serializers.BooleanField()
    disabled_at = serializers.DateTimeField(
        allow_null=True, help_text="When the receiver answered 410. Switching it on enables it."
    )
    failures = serializers.IntegerField(help_text="Tries in a row that failed.")
    rests_until = serializers.DateTimeField(allow_null=True, help_text="Nothing is tried before.")
    former_secret_until = serializers.DateTimeField(
        allow_null=True, help_text="Until then the former secret signs, too."
    )
    created_at = serializers.DateTimeField()
    secret = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="What signs; only in the answer that made it, null in its replay.",
    )


class WebhookBody(Body):
    """A webhook."""

    name = serializers.CharField(max_length=60)
    address = serializers.CharField(max_length=1000, help_text="URL that takes the events.")
    types = serializers.ListField(
        child=serializers.ChoiceField(choices=KINDS), default=list, help_text="Empty: all."
    )
    customer = serializers.CharField(
        max_length=26, required=False, allow_null=True, help_text="Key of the customer."
    )
    on = serializers.BooleanField(default=True)


class WholeWebhookBody(WholeBody, WebhookBody):
    """The whole webhook: each field is required."""

    address = serializers.CharField(
        max_length=1000,
        allow_null=True,
        help_text="URL that takes the events. It is never shown; null: it stays as it is.",
    )


class WebhookSecretBody(Body):
    """How long the former secret signs beside the new one."""

    former_hours = serializers.IntegerField(
        default=FORMER_HOURS,
        min_value=0,
        max_value=MOST_FORMER_HOURS,
        help_text="Hours that the former secret signs, too.",
    )


class WebhookDeliveryShape(Shape):
    """A message to a webhook. `id` is its webhook-id: the event's."""

    key = serializers.CharField()
    id = serializers.CharField(help_text="Its webhook-id: the event's id.")
    type = serializers.CharField(help_text="What the event tells.")
    subject = serializers.CharField(
        help_text="What it is about: volume:KEY, host:KEY or alert:KEY."
    )
    state = serializers.ChoiceField(choices=["delivered", "given_up", "waiting"])
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(
        allow_null=True, help_text="Of the last answer; null where none came."
    )
    error = serializers.CharField(
        allow_blank=True, help_text="What was wrong with the last try; empty: nothing."
    )
    next_at = serializers.DateTimeField(allow_null=True, help_text="When it is tried (again).")
    created_at = serializers.DateTimeField()
    delivered_at = serializers.DateTimeField(allow_null=True)


def webhook_json(webhook: Webhook, secret: str = "") -> Json:
    """A webhook, for `WebhookShape`; `secret` is one that was just made."""
    names = ("key", "name", "disabled_at", "failures", "rests_until", "created_at")
    data: Json = {name: getattr(webhook, name) for name in names}
    data |= {
        "url": reverse("api-webhook", args=[webhook.key]),
        "server": webhook_forms.server_of(webhook),
        "types": webhook.kinds,
        "customer": customer_ref(webhook.customer),
        "on": webhook.is_on and webhook.disabled_at is None,
        "former_secret_until": webhook.former_until if webhook.former_secret else None,
    }
    if secret:
        data["secret"] = secret
    shaped: Json = WebhookShape(data).data
    return shaped


def delivery_json(row: WebhookDelivery) -> Json:
    """A message that came with its event, for `WebhookDeliveryShape`."""
    is_waiting = row.state == "waiting"
    shaped: Json = WebhookDeliveryShape(
        {
            "key": row.key,
            "id": row.name,
            "type": row.event.kind if row.event is not None else TEST,
            "subject": row.subject,
            "state": row.state,
            "attempts": row.attempts,
            "status": row.last_status,
            "error": row.last_error,
            "next_at": row.next_at if is_waiting else None,
            "created_at": row.created_at,
            "delivered_at": row.delivered_at,
        }
    ).data
    return shaped


def _webhook_of(view: Resource, key: str) -> Webhook:
    view.demand(Right.ADMINISTER)
    return get_object_or_404(Webhook.objects.visible_to(view.user), key=key)


def _saved(view: Resource, given: Json, webhook: Webhook | None) -> Json:
    """By the rules of the page's form; what is not given stays."""
    data: dict[str, Any] = {} if webhook is None else webhook_forms.initial_of(webhook)
    data |= {FIELDS.get(name, name): value for name, value in given.items()}
    if "types" in given:
        data["kinds"] = ",".join(given["types"])
    form = WebhookForm(data, webhook=webhook, is_enabling="on" in given)
    if not form.is_valid():
        errors = [
            {"pointer": f"/{NAMES.get(name, name)}", "code": "invalid", "message": str(error)}
            for name, each in form.errors.items()
            for error in each
        ]
        raise ApiProblem(422, "invalid", errors[0]["message"], "Correct the fields.", errors=errors)
    row, secret = form.save(view.user)
    return webhook_json(row, secret)


class Webhooks(Resource):
    """Where events are sent."""

    read_scope = Scope.EVENTS_READ
    staff_only = True
    write_scope = Scope.WEBHOOKS
    listing: ClassVar = Listing("webhooks", WebhookShape, sorts={"name": "name"})
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="webhooks_list",
        summary="List webhooks",
        parameters=listing.described,
        responses={
            200: listing.page_shape("WebhookPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """For administrators, oldest first."""
        self.demand(Right.ADMINISTER)
        rows = Webhook.objects.visible_to(self.user).select_related("customer")
        return self.listing.answer(request, rows, lambda page: map(webhook_json, page))

    @extend_schema(
        operation_id="webhook_make",
        summary="Send events to an address",
        request=WebhookBody,
        responses={201: WebhookShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request) -> Response:
        """For administrators. It gets what happens from now on. The secret that signs is in this
        answer alone."""
        self.demand(Right.ADMINISTER)
        data = _saved(self, request_bodies.read(request, WebhookBody), None)
        return Response(data, status=201, headers={"Location": data["url"]})


class OneWebhook(Resource):
    """One webhook."""

    read_scope = Scope.EVENTS_READ
    staff_only = True
    write_scope = Scope.WEBHOOKS

    @extend_schema(
        operation_id="webhook",
        summary="Show a webhook",
        responses={200: WebhookShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """For administrators."""
        return Response(webhook_json(_webhook_of(self, key)))

    @extend_schema(
        operation_id="webhook_change",
        summary="Change fields of a webhook",
        request=WebhookBody,
        responses={200: WebhookShape, **described.problems(403, 404, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """For administrators. What is left out stays. One that is switched on again, or that had
        answered 410, gets what happens from now on."""
        webhook = _webhook_of(self, key)
        given = request_bodies.read(request, WebhookBody, partial=True)
        return Response(_saved(self, given, webhook))

    @extend_schema(
        operation_id="webhook_replace",
        summary="Replace a webhook",
        request=WholeWebhookBody,
        responses={200: WebhookShape, **described.problems(403, 404, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For administrators: all fields of it, of which none has a default."""
        webhook = _webhook_of(self, key)
        return Response(_saved(self, request_bodies.read(request, WholeWebhookBody), webhook))

    @extend_schema(
        operation_id="webhook_delete",
        summary="Delete a webhook",
        responses={204: None, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For administrators. What was sent is forgotten, too."""
        webhook_forms.delete(_webhook_of(self, key), self.user)
        return Response(status=204)


class WebhookSecret(Resource):
    """What signs."""

    staff_only = True
    write_scope = Scope.WEBHOOKS

    @extend_schema(
        operation_id="webhook_secret_change",
        summary="Change the secret of a webhook",
        request=WebhookSecretBody,
        responses={200: WebhookShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For administrators. The new secret is in this answer alone; the former one signs beside
        it for `former_hours`, so that the receiver can be changed meanwhile."""
        webhook = _webhook_of(self, key)
        hours = request_bodies.read(request, WebhookSecretBody)["former_hours"]
        secret = webhook_forms.change_secret(webhook, hours, self.user)
        return Response(webhook_json(_webhook_of(self, key), secret))


class WebhookTest(Resource):
    """A message that means nothing."""

    staff_only = True
    write_scope = Scope.WEBHOOKS
    takes_no_body = True

    @extend_schema(
        operation_id="webhook_test",
        summary="Send a test message",
        request=None,
        responses={202: WebhookDeliveryShape, **described.problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For administrators. Sent at once; the deliveries of the webhook show the answer."""
        webhook = _webhook_of(self, key)
        if not Webhook.objects.in_use().filter(pk=webhook.pk).exists():
            raise ApiProblem(409, "off", "The webhook is switched off.", "Switch it on first.")
        return Response(delivery_json(webhook_fanout.write_test(webhook)), status=202)


class WebhookDeliveries(Resource):
    """What was sent to a webhook."""

    read_scope = Scope.EVENTS_READ
    staff_only = True
    write_scope = Scope.WEBHOOKS
    listing: ClassVar = Listing("webhook-deliveries", WebhookDeliveryShape, newest_first=True)
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="webhook_deliveries_list",
        summary="List what was sent to a webhook",
        parameters=listing.described,
        responses={
            200: listing.page_shape("WebhookDeliveryPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request, key: str) -> Response:
        """For administrators, newest first."""
        rows = WebhookDelivery.objects.visible_to(self.user).filter(webhook=_webhook_of(self, key))
        return self.listing.answer(
            request, rows.select_related("event"), lambda page: map(delivery_json, page)
        )


class WebhookRedelivery(Resource):
    """The same message once more."""

    staff_only = True
    write_scope = Scope.WEBHOOKS
    takes_no_body = True

    @extend_schema(
        operation_id="webhook_redeliver",
        summary="Send a message again",
        request=None,
        responses={202: WebhookDeliveryShape, **described.problems(400, 403, 404)},
    )
    def post(self, request: Request, key: str, delivery: str) -> Response:
        """For administrators. Under the same id, so that who has it knows it."""
        rows = WebhookDelivery.objects.visible_to(self.user).select_related("event")
        row = get_object_or_404(rows, webhook=_webhook_of(self, key), key=delivery)
        webhook_forms.send_again(row)
        row.refresh_from_db()
        return Response(delivery_json(row), status=202)
