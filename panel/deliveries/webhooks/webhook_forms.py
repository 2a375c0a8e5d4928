"""The form of a webhook, for pages and API, and what else people do with one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django import forms
from django.conf import settings
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
from storage.name_validators import demand_name

WHOLE_FAMILIES: Final = tuple(f"{family}.*" for family in FAMILIES)
KINDS: Final = (*EventKind.values, *WHOLE_FAMILIES)
FORMER_HOURS: Final = 24
MOST_FORMER_HOURS: Final = 168


class WebhookForm(forms.Form):
    """An address that is there stays when its field is left empty. One that a 410 disabled is
    enabled by saving it, unless the form `is_enabling` none."""

    name = forms.CharField(max_length=60, validators=[demand_name])
    url = forms.CharField(
        max_length=1000,
        required=False,
        label="Address",
        help_text="https. A server in a private network must be named in "
        "TIERCEL_WEBHOOK_PRIVATE_HOSTS.",
    )
    kinds = forms.CharField(
        max_length=2000,
        required=False,
        label="Events",
        help_text=f"Types such as job.failed, or families: {', '.join(WHOLE_FAMILIES)}. "
        "Separated by commas; empty for all.",
    )
    customer = forms.CharField(
        max_length=26,
        required=False,
        help_text="Key of a customer: only what their people see. Empty for everything.",
    )
    is_on = forms.BooleanField(required=False, initial=True, label="Enabled")

    def __init__(
        self,
        *args: Any,
        webhook: Webhook | None = None,
        is_enabling: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.webhook, self.is_enabling = webhook, is_enabling

    def clean_url(self) -> str:
        """One that the panel may call, as far as its text says."""
        url: str = self.cleaned_data["url"].strip()
        if not url:
            if self.webhook is None:
                raise forms.ValidationError("Enter the address.")
            return url
        try:
            hosts = settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS
            http_post.target_of(url, hosts, http_post.WEBHOOKS)
        except http_post.Forbidden as error:
            raise forms.ValidationError(str(error)) from None
        return url

    def clean_kinds(self) -> list[str]:
        """Each one known."""
        given = self.cleaned_data["kinds"].replace(",", " ").split()
        kinds = list(dict.fromkeys(given))
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            raise forms.ValidationError(f"There is no type of event “{unknown[0]}”.")
        return kinds

    def clean_customer(self) -> Customer | None:
        """The customer by its key."""
        key = self.cleaned_data["customer"]
        if not key:
            return None
        customer = Customer.objects.filter(key=key).first()
        if customer is None:
            raise forms.ValidationError("There is no such customer.")
        return customer

    @transaction.atomic
    def save(self, by: User) -> tuple[Webhook, str]:
        """The webhook as it is stored, and its secret where one was made, else "". Fan-out and
        sender keep its place and its failures meanwhile: it is read anew under a lock."""
        data, made = self.cleaned_data, ""
        row = Webhook() if self.webhook is None else _locked(self.webhook)
        was_in_use = row.pk is not None and row.is_on and row.disabled_at is None
        for name in ("name", "kinds", "customer", "is_on"):
            setattr(row, name, data[name])
        row.url = seal(data["url"]) if data["url"] else row.url
        if not row.secret:
            made = new_secret()
            row.secret = seal(made)
        stays_disabled = row.disabled_at is not None and not self.is_enabling
        if row.is_on and not was_in_use and not stays_disabled:
            # What happened before, or meanwhile, is in the list of events.
            row.position = event_list.head()
            row.disabled_at, row.failures, row.rests_until = None, 0, None
        verb = "changed" if row.pk else "added"
        if data["url"]:
            verb += f", to {http_post.server_name(data['url'])}"
        row.save()
        if not row.is_on:
            webhook_fanout.give_up_waiting(row, webhook_fanout.OFF)
        note_webhook(row, verb, by)
        return row, made


def _locked(webhook: Webhook) -> Webhook:
    """As it is now; 404 where it was deleted since it was read."""
    return get_object_or_404(Webhook.objects.select_for_update(no_key=True), pk=webhook.pk)


def note_webhook(webhook: Webhook, verb: str, by: User) -> None:
    """Events leave the panel by it: what is done with one leaves a trace."""
    state = "" if webhook.is_on else ", switched off"
    security_entries.note(SecurityKind.WEBHOOK, "", f"{webhook.name} {verb}{state}", by=by)


def change_secret(webhook: Webhook, hours: int, by: User) -> str:
    """A new secret, shown once; the one so far also signs for so many hours."""
    made = new_secret()
    until = database_now() + timedelta(hours=hours)
    Webhook.objects.filter(pk=webhook.pk).update(
        secret=seal(made), former_secret=F("secret") if hours else "", former_until=until
    )
    note_webhook(webhook, f"got a new secret; the former one signs for {hours} h", by)
    return made


def delete(webhook: Webhook, by: User) -> None:
    """Nothing is sent there any more; what was sent is forgotten."""
    note_webhook(webhook, "deleted", by)
    webhook.delete()


def send_again(row: WebhookDelivery) -> None:
    """Once more, now, under the same name."""
    delivery_queue.again(row)
    # It is tried for as long as a new one.
    WebhookDelivery.objects.filter(pk=row.pk).update(tried_since=database_now())
    Webhook.objects.filter(pk=row.webhook_id).update(rests_until=None)
    transaction.on_commit(webhook_fanout.announce_events, robust=True)


def initial_of(webhook: Webhook) -> dict[str, Any]:
    """The form's fields as the webhook has them, without what is secret."""
    return {
        "name": webhook.name,
        "kinds": ", ".join(webhook.kinds),
        "customer": webhook.customer.key if webhook.customer is not None else "",
        "is_on": webhook.is_on,
    }


def server_of(webhook: Webhook) -> str:
    """Where its messages go: only the server, the rest may let somebody in."""
    try:
        return http_post.server_name(unseal(webhook.url))
    except ValueError:
        return "unreadable: enter the address again"
