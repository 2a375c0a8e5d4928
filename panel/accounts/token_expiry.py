"""Warns the person responsible for an API token once, a week before it expires."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext

from panel.accounts import people
from panel.languages.choice import spoken_to
from panel.languages.local_times import plain_time
from panel.models import ApiToken, User
from panel.models.api_token import ApiTokenQuerySet

log = logging.getLogger(__name__)

WARNED_BEFORE: Final = timedelta(days=7)
SHORT: Final = timedelta(days=14)
"""The maker of a token that lives for less needs no warning."""


def warn() -> None:
    """Mail about every token that expires soon. What could not be sent is tried again."""
    if not settings.SMTP_HOST:
        return
    for token in ending_tokens().select_related("user"):
        if all([_mail(token, reader) for reader in _readers(token)]):
            ApiToken.objects.filter(pk=token.pk).update(warned_at=Now())


def ending_tokens() -> ApiTokenQuerySet:
    """Tokens that end soon, that have been used, and that no newer one of the same name follows."""
    follower = ApiToken.objects.filter(
        user=OuterRef("user"), name=OuterRef("name"), created_at__gt=OuterRef("created_at")
    )
    soon = Q(expires_at__lt=Now() + WARNED_BEFORE, expires_at__gt=F("created_at") + SHORT)
    used = ApiToken.objects.live().filter(soon, warned_at=None, last_used_at__isnull=False)
    return used.filter(~Exists(follower), user__is_active=True)


def _readers(token: ApiToken) -> list[User]:
    """The person; for a service account, which reads no mail, the admins."""
    return list(people.active_admins()) if token.user.is_service else [token.user]


def _mail(token: ApiToken, reader: User) -> bool:
    with translation.override(spoken_to(reader)):
        subject = gettext("An API token expires soon")
        text = gettext(
            "The API token {name} of {account} expires at {time}. Programs that use it will "
            "stop working. Create a new one, or replace it through the API:"
        ).format(name=token.name, account=token.user.email, time=plain_time(token.expires_at))
    link = f"{settings.TIERCEL_PUBLIC_URL}{reverse('tokens')}"
    try:
        send_mail(subject, f"{text}\n\n{link}\n", None, [reader.email])
    except OSError as error:  # smtplib's errors are OSErrors
        log.warning("%s could not be warned of token %s: %s", reader.email, token.key, error)
        return False
    return True
