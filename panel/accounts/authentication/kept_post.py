"""A POST that waits for a fresh proof. The page that asks for the proof carries it and submits it
with the proof (`panel.accounts.authentication.step_up`).

Nothing of it is kept in the session: what runs is what that very page showed. A signed mark says
for whom, for which address and with which fields the page was made, so that nothing else runs on
the proof. A mark is good for one run. Secrets and files are never put into a page: a POST that may
have some is not kept, and its form is filled in again after the proof.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, cast

from django.core import signing
from django.core.cache import cache
from django.db.models import Model
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext

from jobs.models import Job
from panel.accounts.authentication import protected_actions
from panel.models import AlertRoute, Order, User, Webhook
from storage.currency import not_iso
from storage.models import CachePlan, Customer, Host, Volume
from storage.templatetags.money import amount

PREFIX: Final = "proof"
"""Of the fields that are for the proof; the others are the action's own."""
MARK: Final = f"{PREFIX}-post"
SALT: Final = "panel.keptpost"
KEPT_SECONDS: Final = 3600
CSRF: Final = "csrfmiddlewaretoken"
MOST_DIGITS: Final = 15
UNSHOWN: Final = ("idempotency_key", "shown")
"""Fields that say nothing of what is done: a name of the request, the digest of a page."""
SUBJECTS: Final[dict[str, type[Model]]] = {
    "alert": AlertRoute,
    "cache": CachePlan,
    "customer": Customer,
    "host": Host,
    "job": Job,
    "my-order-revert": Order,
    "my-plan-confirm": Volume,
    "person": User,
    "preview": Job,
    "webhook": Webhook,
}
"""What the key in an address names, by the route or by its first word."""

Fields = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class KeptPost:
    """`back` is the page to which Cancel leads. `about` names what the address is about."""

    path: str
    back: str
    fields: Fields
    about: str
    user_id: int
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(12))

    @property
    def mark(self) -> str:
        """What the page brings back with the fields."""
        claim = [self.user_id, self.path, self.back, _digest(self.fields), self.nonce]
        return signing.dumps(claim, salt=SALT)

    @property
    def shown(self) -> list[tuple[str, str]]:
        """What is confirmed, for people: what it is about, then what was entered."""
        about = [("", self.about)] if self.about else []
        return [*about, *_shown_fields(dict(self.fields))]

    def begin(self) -> bool:
        """Whether it has not run yet; from now on it has."""
        return bool(cache.add(self._cache_key, 1, KEPT_SECONDS))

    def undo_begin(self) -> None:
        """The proof was wrong: it did not run."""
        cache.delete(self._cache_key)

    @property
    def _cache_key(self) -> str:
        return f"keptpost:{self.nonce}"


def keep_post(request: HttpRequest, back: str) -> KeptPost | None:
    """The POST of a request, for a page; None for one that a page may not show, or cannot say what
    it is about."""
    match = request.resolver_match
    if request.method != "POST" or match is None or request.FILES:
        return None
    about = _about(request)
    if protected_actions.has_secrets(match.view_name) or (match.kwargs and not about):
        return None
    path, fields = request.get_full_path(), _fields(request.POST)
    return KeptPost(path, back, fields, about, _user(request).pk)


def take_post(request: HttpRequest) -> KeptPost | None:
    """What the page brings back; None where no page of ours was made for just that."""
    try:
        claim = signing.loads(request.POST[MARK], salt=SALT, max_age=KEPT_SECONDS)
    except signing.BadSignature:
        return None
    user_id, path, back, digest, nonce = claim
    fields = _fields(request.POST)
    asked = [_user(request).pk, request.get_full_path(), _digest(fields)]
    if asked != [user_id, path, digest]:
        return None
    return KeptPost(path, back, fields, _about(request), user_id, nonce)


def without_proof(given: QueryDict) -> QueryDict:
    """The action's own fields."""
    own = given.copy()
    for name in given:
        if name.startswith(f"{PREFIX}-"):
            del own[name]
    return own


def _user(request: HttpRequest) -> User:
    return cast("User", request.user)


def _fields(given: QueryDict) -> Fields:
    return tuple(
        (name, tuple(map(str, values)))
        for name, values in without_proof(given).lists()
        if name != CSRF
    )


def _digest(fields: Fields) -> str:
    return hashlib.sha256(json.dumps(sorted(fields)).encode()).hexdigest()


def _shown_fields(fields: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    minor, currency = fields.get("price_minor", ("",))[-1], fields.get("currency", ("",))[-1]
    if minor.isdecimal() and len(minor) < MOST_DIGITS and not not_iso(currency):
        yield gettext("Price"), amount(int(minor), currency)
        fields = {name: fields[name] for name in fields if name not in ("price_minor", "currency")}
    whens = {
        "now": gettext("Now"),
        "period_end": gettext("At the end of the month you have paid for"),
    }
    for name, values in fields.items():
        if name in UNSHOWN or not any(values):
            continue
        if name == "when":
            values = tuple(whens.get(value, value) for value in values)
        yield name.replace("_", " ").capitalize(), ", ".join(values)


def _about(request: HttpRequest) -> str:
    """The names of what the address is about, as far as the person sees it."""
    match = request.resolver_match
    if match is None:
        return ""
    route = match.view_name
    model: Any = SUBJECTS.get(route) or SUBJECTS.get(route.partition("-")[0])
    named = {name: match.kwargs[name] for name in ("key", "pk") if name in match.kwargs}
    if model is None or not named:
        return ""
    row = model.objects.visible_to(request.user).filter(**named).first()
    names = [] if row is None else [str(row.volume if isinstance(row, Order) else row)]
    if choice := match.kwargs.get("choice"):
        plan = CachePlan.objects.visible_to(request.user).filter(key=choice).first()
        names.append(plan.name if plan is not None else choice)
    return ", ".join(names)
