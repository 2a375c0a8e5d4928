"""Webhooks: where events are sent, a test of each, and the log of what was sent."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from panel.deliveries.webhooks import saved_webhooks, webhook_fanout
from panel.deliveries.webhooks.webhook_forms import WebhookForm, initial_of
from panel.models import User, Webhook, WebhookDelivery
from storage.access import Right, staff_view

PAGE_ROWS: Final = 50


@staff_view(Right.ADMINISTER)
@require_safe
def webhooks(request: HttpRequest) -> HttpResponse:
    """All of them, and the latest messages; `only=open` those that are not delivered."""
    sent = WebhookDelivery.objects.visible_to(request.user).select_related("event", "webhook")
    is_open = request.GET.get("only") == "open"
    if is_open:
        sent = sent.filter(delivered_at=None)
    shown = Webhook.objects.visible_to(request.user).select_related("customer")
    context = {
        "webhooks": [(each, saved_webhooks.server_of(each)) for each in shown],
        "page": Paginator(sent, PAGE_ROWS).get_page(request.GET.get("page")),
        "is_open": is_open,
    }
    return render(request, "staff/webhooks/webhooks.html", context)


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def new_webhook(request: HttpRequest) -> HttpResponse:
    """Send events to one more address."""
    return _form(request, None)


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: HttpRequest, key: str) -> HttpResponse:
    """Change where, and which."""
    return _form(request, _one(request, key))


def _one(request: HttpRequest, key: str) -> Webhook:
    shown = Webhook.objects.visible_to(request.user).select_related("customer")
    return get_object_or_404(shown, key=key)


def _form(request: HttpRequest, row: Webhook | None) -> HttpResponse:
    if request.method != "POST":
        initial = initial_of(row) if row is not None else {}
        return _shown(request, WebhookForm(webhook=row, initial=initial), row)
    form = WebhookForm(request.POST, webhook=row)
    if not form.is_valid():
        return _shown(request, form, row, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    saved, secret = form.save(cast("User", request.user))
    if secret:
        # Shown once: only the sealed secret is stored.
        again = WebhookForm(webhook=saved, initial=initial_of(saved))
        return _shown(request, again, saved, secret)
    messages.success(request, f"Saved. Send a test message to check that {saved.name} gets it.")
    return redirect("webhook", saved.key)


def _shown(
    request: HttpRequest,
    form: WebhookForm,
    row: Webhook | None,
    secret: str = "",
    status: int = 200,
) -> HttpResponse:
    sent = WebhookDelivery.objects.filter(webhook=row).select_related("event", "webhook")
    context = {
        "form": form,
        "webhook": row,
        "secret": secret,
        "server": saved_webhooks.server_of(row) if row is not None else "",
        "sent": sent[:5] if row is not None else (),
        "former_hours": saved_webhooks.FORMER_HOURS,
    }
    return render(request, "staff/webhooks/webhook.html", context, status=status)


@staff_view(Right.ADMINISTER)
@require_POST
def new_secret(request: HttpRequest, key: str) -> HttpResponse:
    """Change what signs; the former secret signs beside it for a day."""
    row = _one(request, key)
    secret = saved_webhooks.change_secret(row, cast("User", request.user))
    row = _one(request, key)
    return _shown(request, WebhookForm(webhook=row, initial=initial_of(row)), row, secret)


@staff_view(Right.ADMINISTER)
@require_POST
def test_webhook(request: HttpRequest, key: str) -> HttpResponse:
    """Send a test message."""
    row = _one(request, key)
    if Webhook.objects.in_use().filter(pk=row.pk).exists():
        webhook_fanout.write_test(row)
        messages.success(request, "The test message is being sent. Reload to see its state.")
    else:
        messages.error(request, "Nothing was sent: the webhook is switched off.")
    return redirect("webhook", row.key)


@staff_view(Right.ADMINISTER)
@require_POST
def delete_webhook(request: HttpRequest, key: str) -> HttpResponse:
    """Delete a webhook and its log of messages."""
    row = _one(request, key)
    saved_webhooks.delete(row, cast("User", request.user))
    messages.success(request, f"{row.name} no longer receives events.")
    return redirect("webhooks")


@staff_view(Right.ADMINISTER)
@require_POST
def deliver_event_again(request: HttpRequest, key: str) -> HttpResponse:
    """Send a message once more, now."""
    row = get_object_or_404(WebhookDelivery.objects.visible_to(request.user), key=key)
    saved_webhooks.send_again(row)
    messages.success(request, "The message is being sent again under the same id.")
    return redirect("webhooks")
