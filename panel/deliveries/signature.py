"""Signatures by Standard Webhooks: HMAC-SHA256 over id, time and body. Pure but for the clock that
`verify` reads.

While a secret is being replaced there are two: the panel signs with both and accepts either.
"""

from __future__ import annotations

import base64
import re
import secrets as random_bytes
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook, WebhookVerificationError

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""What a webhook-id may be; a full stop separates the signed parts."""


SECRET_BYTES = 32


class BadSignature(Exception):
    """The signature matches no secret, or is older than five minutes."""


def sign(name: str, body: bytes, secrets: Sequence[str], at: datetime) -> dict[str, str]:
    """The headers that sign `body` as the message `name`, with each of `secrets` (whsec_…)."""
    signed = [Webhook(secret).sign(name, at.astimezone(UTC), body.decode()) for secret in secrets]
    return {ID: name, TIMESTAMP: str(int(at.timestamp())), SIGNATURE: " ".join(signed)}


def verify(headers: Mapping[str, str], body: bytes, secrets: Sequence[str]) -> str:
    """The message's name, once one of `secrets` is found to have signed it; `headers` have names in
    lower case. Raises `BadSignature`."""
    given = dict(headers)
    if NAME.fullmatch(given.get(ID, "")) is None:
        raise BadSignature(f"{ID} is missing, or is not 1 to 100 letters, digits, _ and -")
    why = "no secret is set"
    for secret in secrets:
        try:
            Webhook(secret).verify(body, given, json_parse=False)
        except WebhookVerificationError as error:
            why = str(error)
        except EmptyWebhookSecretError:
            why = "a secret in the settings is empty"
        except ValueError:  # what the library does not expect: not base64, not UTF-8, no comma
            why = "Malformed signature or body"
        else:
            return given[ID]
    raise BadSignature(why)


def new_secret() -> str:
    """One that can sign, as Standard Webhooks writes it."""
    return "whsec_" + base64.b64encode(random_bytes.token_bytes(SECRET_BYTES)).decode()


def is_secret(text: str) -> bool:
    """Whether it can sign: whsec_ and base64 of 24 to 64 bytes."""
    try:
        size = len(Webhook(text)._whsecret)
    except (ValueError, EmptyWebhookSecretError):
        return False
    return text.startswith("whsec_") and 24 <= size <= 64
