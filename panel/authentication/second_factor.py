"""The second factor that staff need in addition to a password."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django.conf import settings

from storage.access import Person, is_staff

KINDS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""Recovery codes stand in for one of these; alone they are none."""


def is_missing(user: Person) -> bool:
    """Whether the person must set up a second factor before anything else. One query, for staff
    where the panel asks it of them."""
    return (
        settings.TIERCEL_STAFF_NEED_SECOND_FACTOR
        and is_staff(user)
        and not Authenticator.objects.filter(user_id=user.pk, type__in=KINDS).exists()
    )
