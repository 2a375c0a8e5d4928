"""The form of a webhook."""

from __future__ import annotations

from typing import Any

from django import forms

from panel.deliveries.webhooks.saved_webhooks import (
    WHOLE_FAMILIES,
    customer_named,
    save_webhook,
    webhook_faults,
)
from panel.models import User, Webhook
from storage.models import Customer
from storage.name_validators import demand_name


class WebhookForm(forms.Form):
    """An empty address keeps the stored one. Saving enables a webhook that a 410 disabled."""

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

    def __init__(self, *args: Any, webhook: Webhook | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.webhook = webhook

    def clean_url(self) -> str:
        """Without blanks around it."""
        return str(self.cleaned_data["url"]).strip()

    def clean_kinds(self) -> list[str]:
        """Words separated by commas or spaces, each once."""
        return list(dict.fromkeys(self.cleaned_data["kinds"].replace(",", " ").split()))

    def clean_customer(self) -> Customer | None:
        """The customer with this key."""
        try:
            return customer_named(self.cleaned_data["customer"])
        except forms.ValidationError as error:
            raise forms.ValidationError(error.messages) from None

    def clean(self) -> dict[str, Any]:
        """Validate by the rules of saving."""
        for name, fault in webhook_faults(self.cleaned_data, self.webhook).items():
            if name not in self.errors:
                self.add_error(name, fault)
        return self.cleaned_data

    def save(self, by: User) -> tuple[Webhook, str]:
        """The stored webhook, and its generated secret, "" for none."""
        return save_webhook(self.cleaned_data, by, self.webhook)


def initial_of(webhook: Webhook) -> dict[str, Any]:
    """The initial values of the form, without secrets."""
    return {
        "name": webhook.name,
        "kinds": ", ".join(webhook.kinds),
        "customer": webhook.customer.key if webhook.customer is not None else "",
        "is_on": webhook.is_on,
    }
