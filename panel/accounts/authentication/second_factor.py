"""Second factors: who needs one, and how their secrets are stored. The secrets of authenticator
apps and the seeds of recovery codes are encrypted with a key derived from TIERCEL_SECRET_KEY, so
that a reader of the database (a dump, a query) cannot use any factor. XSalsa20-Poly1305 of
libsodium."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from storage.access import Person, Right, is_staff, may

log = logging.getLogger(__name__)

MARK = "sealed:"
UNREADABLE = marked(
    "Your second factor cannot be read here. Use a security key, or ask your provider."
)
KINDS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""Recovery codes replace one of these; alone they are no factor."""


def is_missing(user: Person) -> bool:
    """Whether the person must set up a second factor before anything else. One query, for staff
    where the panel asks it of them."""
    return (
        settings.TIERCEL_STAFF_NEED_SECOND_FACTOR
        and is_staff(user)
        and not Authenticator.objects.filter(user_id=user.pk, type__in=KINDS).exists()
    )


def is_advised(user: Person) -> bool:
    """Whether an admin has no second factor, where none is required. One query, for admins."""
    return (
        may(user, Right.ADMINISTER)
        and not Authenticator.objects.filter(user_id=user.pk, type__in=KINDS).exists()
    )


class SealedAdapter(DefaultMFAAdapter):
    """allauth's, with secrets that are sealed."""

    def encrypt(self, text: str) -> str:
        """What the database keeps."""
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """The secret; a ValidationError where it was not sealed here: text that another party
        wrote into the database must not become a secret that this party knows."""
        try:
            return unseal(encrypted_text)
        except ValueError as error:
            log.error("a second factor cannot be read: %s", error)
            raise ValidationError(gettext(UNREADABLE)) from error

    def _get_site_name(self) -> str:
        return "Tiercel"


def seal(text: str) -> str:
    """Sealed with the newest key."""
    box = SecretBox(_keys()[0])
    return MARK + base64.b64encode(box.encrypt(text.encode())).decode()


def unseal(sealed: str) -> str:
    """What was sealed, with any key that is still known; raises ValueError."""
    if not sealed.startswith(MARK):
        raise ValueError("it is not sealed")
    try:
        data = base64.b64decode(sealed.removeprefix(MARK), validate=True)
    except binascii.Error as error:
        raise ValueError("it is not base64") from error
    for key in _keys():
        try:
            return SecretBox(key).decrypt(data).decode()
        except CryptoError:
            continue
    raise ValueError("it was sealed with another TIERCEL_SECRET_KEY")


def changed(data: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """An authenticator's data with each of its secrets changed."""
    secrets: dict[str, Any] = {
        name: change(data[name]) for name in ("secret", "seed") if name in data
    }
    if "migrated_codes" in data:
        secrets["migrated_codes"] = [change(code) for code in data["migrated_codes"]]
    return data | secrets


def _keys() -> list[bytes]:
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [
        salted_hmac("panel.factorseal", "key", secret=secret, algorithm="sha256").digest()
        for secret in secrets
    ]
