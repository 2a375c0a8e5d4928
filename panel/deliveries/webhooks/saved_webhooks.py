"""Saves webhooks, for pages and API alike: create, change, replace the secret, delete."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.shortcuts import get_object_or_404

from panel.accounts.authentication.second_factor import seal, unseal
from panel.accounts.security_log import security_entries
from panel.deliveries import delivery_queue, http_post
from panel.deliveries.signature import new_secret
from panel.deliveries.webhooks import webhook_fanout
from panel.models import SecurityKind, User, Webhook, WebhookDelivery
from storage import event_list
from storage.database_clock import database_now
from storage.models import Customer, EventKind
from storage.models.event import FAMILIES

WHOLE_FAMILIES: Final = tuple(f"{family}.*" for family in FAMILIES)
KINDS: Final = (*EventKind.values, *WHOLE_FAMILIES)
STORED: Final = ("name", "kinds", "customer", "is_on")
FORMER_HOURS: Final = 24
MOST_FORMER_HOURS: Final = 168


def customer_named(key: str | None) -> Customer | None:
    """The customer with this key; raises ValidationError where there is none."""
    if not key:
        return None
    customer = Customer.objects.filter(key=key).first()
    if customer is None:
        raise ValidationError({"customer": "There is no such customer."})
    return customer


def webhook_faults(values: Mapping[str, Any], webhook: Webhook | None) -> dict[str, str]:
    """What is wrong with the values of a webhook, new or `webhook` so far, by field. An address is
    one that the panel may call, as far as its text says."""
    url, kinds, faults = values.get("url"), values.get("kinds", ()), dict[str, str]()
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        faults["kinds"] = f"There is no type of event “{unknown[0]}”."
    if url:
        try:
            hosts = settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS
            http_post.target_of(url, hosts, http_post.WEBHOOKS)
        except http_post.Forbidden as error:
            faults["url"] = str(error)
    elif webhook is None:
        faults["url"] = "Enter the address."
    return faults


@transaction.atomic
def save_webhook(
    values: Mapping[str, Any], by: User, webhook: Webhook | None = None, *, is_enabling: bool = True
) -> tuple[Webhook, str]:
    """The stored webhook, and its generated secret, "" for none. Values that are not given stay, as
    does an empty address. Saving enables a webhook that a 410 disabled, where `is_enabling`. The
    row is read again under a lock: fan-out and sender update its position and failures meanwhile.
    Raises ValidationError."""
    if faults := webhook_faults(values, webhook):
        raise ValidationError(faults)
    row, made = Webhook() if webhook is None else _locked(webhook), ""
    was_in_use = row.pk is not None and row.is_on and row.disabled_at is None
    for name in set(STORED) & set(values):
        setattr(row, name, values[name])
    row.kinds = list(dict.fromkeys(row.kinds))
    row.clean_fields(exclude=("url", "secret", "customer"))
    url = values.get("url")
    row.url = seal(url) if url else row.url
    if not row.secret:
        made = new_secret()
        row.secret = seal(made)
    stays_disabled = row.disabled_at is not None and not is_enabling
    if row.is_on and not was_in_use and not stays_disabled:
        # Earlier events are in the list of events.
        row.position = event_list.head()
        row.disabled_at, row.failures, row.rests_until = None, 0, None
    verb = "changed" if row.pk else "added"
    if url:
        verb += f", to {http_post.server_name(url)}"
    row.save()
    if not row.is_on:
        webhook_fanout.give_up_waiting(row, webhook_fanout.OFF)
    note_webhook(row, verb, by)
    return row, made


def _locked(webhook: Webhook) -> Webhook:
    """The current row, locked; 404 where it was deleted since it was read."""
    return get_object_or_404(Webhook.objects.select_for_update(no_key=True), pk=webhook.pk)


def note_webhook(webhook: Webhook, verb: str, by: User) -> None:
    """Record every change of a webhook in the security log: it sends data out."""
    state = "" if webhook.is_on else ", switched off"
    security_entries.note(SecurityKind.WEBHOOK, "", f"{webhook.name} {verb}{state}", by=by)


def change_secret(webhook: Webhook, by: User, hours: int = FORMER_HOURS) -> str:
    """Generate a new secret, shown once; the former one also signs for `hours`."""
    made = new_secret()
    until = database_now() + timedelta(hours=hours)
    Webhook.objects.filter(pk=webhook.pk).update(
        secret=seal(made), former_secret=F("secret") if hours else "", former_until=until
    )
    note_webhook(webhook, f"got a new secret; the former one signs for {hours} h", by)
    return made


def delete(webhook: Webhook, by: User) -> None:
    """Delete the webhook and its messages."""
    note_webhook(webhook, "deleted", by)
    webhook.delete()


def send_again(row: WebhookDelivery) -> None:
    """Send the message again now, under the same id."""
    delivery_queue.again(row)
    # It is retried for as long as a new message.
    WebhookDelivery.objects.filter(pk=row.pk).update(tried_since=database_now())
    Webhook.objects.filter(pk=row.webhook_id).update(rests_until=None)
    transaction.on_commit(webhook_fanout.announce_events, robust=True)


def server_of(webhook: Webhook) -> str:
    """The server that receives its messages; the rest of the address may grant access."""
    try:
        return http_post.server_name(unseal(webhook.url))
    except ValueError:
        return "unreadable: enter the address again"
