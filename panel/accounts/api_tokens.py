"""API tokens, `tcl_<key>.<secret>`: created, recognised, revoked. Only a digest is stored."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Sequence
from datetime import timedelta
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Least, Now
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from panel.accounts.security_log import security_entries
from panel.models import ApiToken, Scope, SecurityKind, User
from panel.models.api_token import KEY_LENGTH, READS
from storage.access import ORDERING_ROLES, Right, is_staff, may
from storage.database_clock import database_now
from storage.models import Member
from storage.naming import new_key

DEFAULT_DAYS = 90
MAX_DAYS = 366
MAX_LIVE = 50
LISTED_CHARACTERS = 90
READS_OF_CUSTOMERS = tuple(
    scope for scope in READS if scope not in (Scope.HOSTS_READ, Scope.ALERTS_READ, Scope.AUDIT_READ)
)
SALT = "panel.tokens"
WRITTEN = re.compile(r"tcl_([a-z2-7]{12})\.([\w-]{43})", re.ASCII)
USE_NOTED_EVERY = timedelta(minutes=1)


def issue(
    user: User,
    *,
    name: str,
    scopes: Collection[str],
    days: int,
    networks: Collection[str] = (),
    by: User | None = None,
    maker: ApiToken | None = None,
) -> tuple[ApiToken, str]:
    """Store a token of a person; returns it and its text, which cannot be read again.

    The scopes must be among `scopes_of(user)`, the days from 1 to `MAX_DAYS`; else ValueError. One
    that a token made (`maker`) does not outlive it.
    """
    if not scopes or not set(scopes) <= set(scopes_of(user)):
        raise ValueError(f"{user} may have tokens for {', '.join(scopes_of(user))}")
    if not 1 <= days <= MAX_DAYS:
        raise ValueError(f"a token is good for 1 to {MAX_DAYS} days")
    key, secret = new_key()[:KEY_LENGTH], secrets.token_urlsafe(32)
    expires_at = database_now() + timedelta(days=days)
    if maker is not None:
        expires_at = min(expires_at, maker.expires_at)
    token = ApiToken.objects.create(
        key=key,
        digest=_digest(secret),
        name=name,
        user=user,
        scopes=sorted(set(scopes)),
        networks=list(networks),
        expires_at=expires_at,
        made_by=maker.key if maker is not None else "",
    )
    security_entries.note(
        SecurityKind.TOKEN_MADE, user, f"{name} ({key}) for {_listed(token.scopes)}", by=by
    )
    return token, f"tcl_{key}.{secret}"


def _listed(scopes: Sequence[str]) -> str:
    """As many as an entry of the security log holds beside the token's name, and how many more;
    those that change something first."""
    scopes = sorted(scopes, key=lambda scope: scope.endswith("read"))
    for count in range(len(scopes), 1, -1):
        more = f" and {len(scopes) - count} more" if count < len(scopes) else ""
        if len(text := f"{', '.join(scopes[:count])}{more}") <= LISTED_CHARACTERS:
            return text
    return scopes[0]


def recognise(text: str) -> ApiToken | None:
    """The token that `text` is, with its person; None for anything that opens no door (any
    more)."""
    match = WRITTEN.fullmatch(text)
    if match is None:
        return None
    live = ApiToken.objects.live().select_related("user")
    token = live.filter(key=match[1]).first()
    if token is None or not _is_secret_of(token, match[2]):
        return None
    return token if token.user.is_active else None


def is_allowed_from(token: ApiToken, address: str | None) -> bool:
    """Whether a request from there may show the token."""
    if not token.networks:
        return True
    if address is None:
        return False
    return any(ip_address(address) in ip_network(each) for each in token.networks)


@transaction.atomic
def rotate(
    token: ApiToken, *, days: int, overlap: timedelta, by: User | None = None
) -> tuple[ApiToken, str]:
    """Create the successor of a token, with the same rights; the old token stops working after the
    overlap. ValueError as `issue` does."""
    scopes = [scope for scope in token.scopes if scope in scopes_of(token.user)]
    new, text = issue(
        token.user, name=token.name, scopes=scopes, days=days, networks=token.networks, by=by
    )
    ApiToken.objects.filter(pk=new.pk).update(made_by=token.key)
    new.made_by = token.key
    live = ApiToken.objects.filter(pk=token.pk, revoked_at=None)
    live.update(expires_at=Least("expires_at", Now() + overlap))
    return new, text


def note_use(token: ApiToken, ip: str | None) -> None:
    """Record a use, at most once a minute."""
    now = timezone.now()
    due = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_NOTED_EVERY)
    if token.last_used_at is None or token.last_used_at < now - USE_NOTED_EVERY:
        ApiToken.objects.filter(due, pk=token.pk).update(last_used_at=now, last_used_ip=ip)


def revoke_token(token: ApiToken, by: User | None = None) -> None:
    """From now on the token opens nothing; the first revocation stays."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()):
        security_entries.note(
            SecurityKind.TOKEN_REVOKED, token.user, f"{token.name} ({token.key})", by=by
        )


def descendants_of(token: ApiToken) -> list[ApiToken]:
    """The live tokens that it made or that follow it, those that these made, and so on."""
    descendants: dict[str, ApiToken] = {}
    makers = {token.key}
    while makers:
        made = ApiToken.objects.filter(made_by__in=makers).select_related("user")
        makers = {each.key for each in made} - set(descendants)
        descendants |= {each.key: each for each in made}
    now = database_now()
    return [each for each in descendants.values() if each.is_live(now)]


@transaction.atomic
def revoke_with_made(token: ApiToken, by: User | None = None) -> int:
    """Revoke it and all that come from it; how many these were."""
    revoke_token(token, by)
    made = descendants_of(token)
    for each in made:
        revoke_token(each, by)
    return len(made)


@transaction.atomic
def forget(token: ApiToken, by: User | None = None) -> None:
    """Revoke the token and remove it from lists. Jobs and logs still name its key."""
    revoke_token(token, by)
    security_entries.note(
        SecurityKind.TOKEN_REVOKED, token.user, f"{token.name} ({token.key}), forgotten", by=by
    )
    token.delete()


def revoke_all(user: User) -> int:
    """The same of all that a person has; how many there were."""
    return ApiToken.objects.live().filter(user=user).update(revoked_at=Now())


def scopes_of(user: User) -> list[str]:
    """What a token of this person may be for: never more than they may do themselves."""
    scopes: list[str] = [Scope.READ]
    scopes += READS if is_staff(user) else READS_OF_CUSTOMERS
    if is_staff(user):
        scopes += [Scope.METRICS]
    if is_staff(user) and may(user, Right.OPERATE):
        scopes += [Scope.PREVIEW, Scope.VOLUMES, Scope.DESTROY, Scope.HOSTS, Scope.BENCHMARKS]
        scopes += [Scope.CUSTOMERS, Scope.ALERTS]
    if is_staff(user) and may(user, Right.ADMINISTER):
        scopes += [Scope.PLANS, Scope.ALERT_ROUTES, Scope.WEBHOOKS, Scope.PEOPLE]
    scopes += [Scope.TOKENS]
    if Member.objects.filter(user=user, role__in=ORDERING_ROLES).exists():
        scopes += [Scope.ORDERS]
    return scopes


def _is_secret_of(token: ApiToken, secret: str) -> bool:
    """Whether it is; a digest made with a former TIERCEL_SECRET_KEY is recomputed, so that
    the key can be given up once every token that is in use was used."""
    if constant_time_compare(token.digest, _digest(secret)):
        return True
    for former in settings.SECRET_KEY_FALLBACKS:
        if constant_time_compare(token.digest, _digest(secret, former)):
            ApiToken.objects.filter(pk=token.pk).update(digest=_digest(secret))
            return True
    return False


def _digest(secret: str, key: str | None = None) -> str:
    return salted_hmac(SALT, secret, secret=key, algorithm="sha256").hexdigest()
