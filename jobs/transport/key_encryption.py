"""Private halves of host keys at rest: every process may encrypt them, only worker and collector
can decrypt.

libsodium sealed boxes (X25519, XSalsa20-Poly1305). Every process has the public half; the secret
half is only where `TIERCEL_HOST_KEYS_SECRET` is set, and the web process has it emptied.
"""

from __future__ import annotations

import base64
import binascii

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from jobs.transport.errors import TransportError


class CannotUnseal(TransportError):
    """This process may not, or the key was sealed for another installation."""

    code = "key_sealed"


def seal(private_key: bytes) -> bytes:
    """Seal a private key for the installation's public half."""
    half = _half("TIERCEL_HOST_KEYS_PUBLIC")
    return SealedBox(PublicKey(half)).encrypt(private_key)


def unseal(sealed: bytes) -> bytes:
    """The private key, sealed with this pair's or (while it is changed) a former one's public
    half; raises `CannotUnseal`."""
    if not settings.TIERCEL_HOST_KEYS_SECRET:
        raise CannotUnseal(
            "This process cannot read host keys",
            "Give worker and collector (only them) TIERCEL_HOST_KEYS_SECRET.",
        )
    name = "TIERCEL_HOST_KEYS_SECRET"
    former = [
        _decoded(half, f"{name}_FALLBACKS") for half in getattr(settings, f"{name}_FALLBACKS")
    ]
    for half in (_half(name), *former):
        try:
            return SealedBox(PrivateKey(half)).decrypt(sealed)
        except CryptoError:
            continue
    raise CannotUnseal(
        "The host's key was sealed with other secrets",
        "Restore TIERCEL_HOST_KEYS_SECRET from a backup, or enrol the host again.",
    )


def _half(name: str) -> bytes:
    return _decoded(getattr(settings, name), name)


def _decoded(text: str, name: str) -> bytes:
    try:
        half = base64.urlsafe_b64decode(text)
    except (binascii.Error, ValueError) as error:
        raise ImproperlyConfigured(f"{name} is not URL-safe base64: {error}") from error
    if len(half) != PublicKey.SIZE:
        raise ImproperlyConfigured(
            f"{name} has {len(half)} bytes instead of {PublicKey.SIZE}; manage.py secrets makes it."
        )
    return half
