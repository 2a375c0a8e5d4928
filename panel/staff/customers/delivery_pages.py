"""The log of deliveries to the billing system, for admins."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from panel.billing import outbox
from panel.models import Endpoint, Message, MessageType
from panel.orders.pricing import mandate_limits
from storage.access import Right, staff_view
from storage.naming import new_key

PAGE_ROWS = 50


@staff_view(Right.ADMINISTER)
@require_safe
def deliveries(request: HttpRequest) -> HttpResponse:
    """Every message, newest first; `only=open` those that are not delivered."""
    deliveries_shown = Message.objects.visible_to(request.user).select_related("order")
    is_open = request.GET.get("only") == "open"
    if is_open:
        deliveries_shown = deliveries_shown.filter(delivered_at=None)
    context = {
        "url": settings.TIERCEL_BILLING_URL,
        "endpoint": Endpoint.objects.filter(url=settings.TIERCEL_BILLING_URL).first(),
        "takes_calls": bool(settings.TIERCEL_BILLING_IN_SECRETS),
        "page": Paginator(deliveries_shown, PAGE_ROWS).get_page(request.GET.get("page")),
        "is_open": is_open,
        "dead_end": mandate_limits.dead_end(),
    }
    return render(request, "staff/ledger/deliveries.html", context)


@staff_view(Right.ADMINISTER)
@require_POST
def deliver_again(request: HttpRequest, name: str) -> HttpResponse:
    """Send a message once more, now."""
    message = get_object_or_404(Message.objects.visible_to(request.user), name=name)
    outbox.send_message_again(message)
    messages.success(request, f"{message.type} is being sent again under the same id.")
    return redirect("billing")


@staff_view(Right.ADMINISTER)
@require_POST
def deliver_test(request: HttpRequest) -> HttpResponse:
    """Send a test message."""
    if outbox.is_on():
        outbox.write(MessageType.TEST, new_key(), {"text": "This is a test message."})
        messages.success(
            request, "The test message is being sent. Reload this page to see the answer."
        )
    else:
        messages.error(request, "Nothing was sent: no billing system is configured.")
    return redirect("billing")


@staff_view(Right.ADMINISTER)
@require_POST
def enable(request: HttpRequest) -> HttpResponse:
    """Send again to an address that said it was gone."""
    Endpoint.objects.filter(url=settings.TIERCEL_BILLING_URL).update(disabled_at=None)
    outbox.announce_messages()
    messages.success(request, "Messages are sent again.")
    return redirect("billing")
