"""Links to the fleet on a screen: read-only, without a session, until they end or are revoked.

The database keeps only the digest of a link's secret, so that its address is shown once.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from panel.accounts.security_log import security_entries
from panel.models import KioskLink, SecurityKind, User
from storage.database_clock import database_now

MOST_DAYS: Final = 3650
SECRET_BYTES: Final = 32
SEEN_EVERY: Final = timedelta(minutes=1)
"""A link's last use is written no more often."""


@transaction.atomic
def make_link(
    name: str, by: User, *, site: str = "", shows_names: bool = False, days: int | None = None
) -> tuple[KioskLink, str]:
    """A new link and its address; without `days` it never expires."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    made = KioskLink.objects.create(
        name=name,
        digest=_digest(secret),
        site=site,
        shows_names=shows_names,
        expires_at=database_now() + timedelta(days=days) if days is not None else None,
        created_by=by,
    )
    security_entries.note(SecurityKind.KIOSK_LINK, by, f"made {name}: {scope_words(made)}", by=by)
    return made, f"{settings.TIERCEL_PUBLIC_URL}{reverse('kiosk', args=[secret])}"


@transaction.atomic
def revoke_link(link: KioskLink, by: User) -> None:
    """Revoke the link: its address stops working."""
    link.delete()
    security_entries.note(SecurityKind.KIOSK_LINK, by, f"revoked {link.name}", by=by)


def link_of(secret: str) -> KioskLink | None:
    """The link in force of that secret."""
    return KioskLink.objects.in_force().filter(digest=_digest(secret)).first()


def note_seen(link: KioskLink, at: datetime) -> None:
    """Record that a screen used the link."""
    since = Q(last_seen_at=None) | Q(last_seen_at__lt=at - SEEN_EVERY)
    KioskLink.objects.filter(since, pk=link.pk).update(last_seen_at=at)


def scope_words(link: KioskLink) -> str:
    """What a link shows."""
    hosts = f"the hosts of {link.site}" if link.site else "all hosts"
    return f"{hosts}, names of volumes" if link.shows_names else hosts


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
