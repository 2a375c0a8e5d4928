"""What is done on the pages that a fresh proof of identity leads back to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.urls import Resolver404, resolve
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

NAMES: Final[Mapping[str, str]] = {
    "people": "Invite or change people",
    "person": "Change a person",
    "tokens": marked("API tokens"),
    "sessions": marked("Sessions"),
    "account_change_password": marked("Change password"),
    "account_set_password": marked("Change password"),
    "account_email": marked("E-mail"),
    **dict.fromkeys(
        (
            "mfa_edit_webauthn",
            "mfa_activate_totp",
            "mfa_deactivate_totp",
            "mfa_add_webauthn",
            "mfa_remove_webauthn",
        ),
        marked("Two-factor authentication"),
    ),
    **dict.fromkeys(
        (
            "mfa_view_recovery_codes",
            "mfa_generate_recovery_codes",
            "mfa_download_recovery_codes",
        ),
        marked("Recovery codes"),
    ),
    "host-new": "Add a host",
    "host-enrol": "Renew an enrolment command",
    "host": "Accept a host's key",
    "host-remove": "Remove a host",
    "host-history": "Accept a kernel fault",
    "benchmark": "Share a benchmark",
    "kiosk-links": "Add a screen",
    "host-settings": "Change a host's address",
    "alert-routes": "Change alert recipients",
    "alert-route-new": "Add an alert recipient",
    "alert-route": "Change an alert recipient",
    "webhook-new": "Add a webhook",
    "webhook": "Change a webhook",
    "customer": "Suspend or resume a customer",
    "customer-mandate": "Change a payment authorisation",
    "cache-plan-new": "Create a plan",
    "cache-plan": "Change a plan",
    "job": "Let a job change a host",
    "my-plan-confirm": marked("Order"),
    "my-order-revert": marked("Undo order"),
}
"""Names of the actions that require a proof, as shown to the person."""


def name_of_action(address: str) -> str:
    """The same by the page's address; "" for one that asks for no proof."""
    try:
        name = NAMES.get(resolve(address.partition("?")[0]).view_name, "")
    except Resolver404:
        return ""
    return gettext(name) if name else ""
