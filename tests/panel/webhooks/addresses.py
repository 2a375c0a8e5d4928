"""Webhooks for tests."""

from __future__ import annotations

from typing import Any

from panel.authentication.second_factor import seal
from panel.models import Webhook
from panel.webhooks import webhook_fanout

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def webhook(url: str, **fields: Any) -> Webhook:
    """One that gets what happens from now on."""
    defaults = {
        "name": "scripts",
        "url": seal(url),
        "secret": seal(SECRET),
        "position": webhook_fanout.latest_place(),
    }
    return Webhook.objects.create(**{**defaults, **fields})
