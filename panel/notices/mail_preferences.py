"""Which kinds of notices a person wants, and the link in each e-mail that unsubscribes from one
kind."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse

from panel.models import Mute, NoticeKind, User

SALT = "panel.notices"


@dataclass(frozen=True, slots=True)
class MailPreference:
    """A person and a kind, as a link names them."""

    user: User
    kind: NoticeKind


def wanted(user: User) -> frozenset[NoticeKind]:
    """The kinds that a person is told of; all of them until they say otherwise."""
    muted = set(Mute.objects.filter(user=user).values_list("kind", flat=True))
    return frozenset(kind for kind in NoticeKind if kind not in muted)


@transaction.atomic
def want(user: User, kinds: Collection[str]) -> None:
    """From now on these kinds and no others."""
    Mute.objects.filter(user=user, kind__in=kinds).delete()
    for kind in NoticeKind:
        if kind not in kinds:
            mute(MailPreference(user, kind))


def mute(wish: MailPreference) -> None:
    """From now on not this kind."""
    Mute.objects.get_or_create(user=wish.user, kind=wish.kind)


def link(wish: MailPreference) -> str:
    """An address that can end this kind for this person, and nothing else. It stays good: mail is
    read late."""
    token = signing.dumps([wish.user.pk, wish.kind.value], salt=SALT)
    return f"{settings.TIERCEL_PUBLIC_URL}{reverse('notices-off', args=[token])}"


def named(token: str) -> MailPreference | None:
    """What such a link names; None for one that we did not sign, or whose person is gone."""
    try:
        pk, kind = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=pk).first()
    return MailPreference(user, NoticeKind(kind)) if user is not None else None
