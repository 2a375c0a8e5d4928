"""Webhooks for tests."""

from __future__ import annotations

from typing import Any

from panel.accounts.authentication.second_factor import seal
from panel.models import Webhook
from storage import event_list

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def webhook(url: str, **fields: Any) -> Webhook:
    """One that gets what happens from now on."""
    defaults = {
        "name": "scripts",
        "url": seal(url),
        "secret": seal(SECRET),
        "position": event_list.head(),
    }
    return Webhook.objects.create(**{**defaults, **fields})
