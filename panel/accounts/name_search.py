"""The search of the top bar, by parts of names. Staff find hosts, volumes, guests, customers and
jobs, customers their own volumes. A page of its own, and the list under the field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

from django.db.models import Case, Model, Prefetch, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from jobs.models import Job
from panel.accounts.member_scope import volumes_of
from storage.access import Person, is_staff
from storage.formatting import size
from storage.models import Customer, Host, Placement, Volume
from storage.naming import KEY_BYTES
from storage.templatetags.units import age

Row = TypeVar("Row", bound=Model)
MOST_CHARACTERS = 100
HOST_FIELDS = ("name", "address", "key")
VOLUME_FIELDS = ("label", "external_id", "key", "customer__name")
CUSTOMER_FIELDS = ("name", "external_id", "key")
MOST_ON_PAGE, MOST_IN_BAR = 25, 4
KEY_LETTERS = 6
"""From this length on, a match with a key is not accidental."""
CHOSEN = rf"^(?![a-z]-[a-z2-7]{{{KEY_BYTES * 8 // 5}}}$).*"
"""Matches a name that a person chose: not a logical volume's that is made of a key."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found: `detail` tells it from others with the same title."""

    title: str
    detail: str
    url: str


@dataclass(frozen=True, slots=True)
class HitGroup:
    """What was found of one kind. `has_more` where there is more than `hits`; `more_url` leads to
    all of it, "" where no list can show that."""

    name: str
    icon: str
    hits: tuple[Hit, ...]
    has_more: bool
    more_url: str = ""


def cleaned(text: str) -> str:
    """What a person typed, in the length and the characters that the database takes."""
    return " ".join(text.replace("\0", "").split())[:MOST_CHARACTERS].strip()


def find_names(user: Person, text: str, most: int) -> tuple[HitGroup, ...]:
    """Return the kinds of which something has every word of `text` (`cleaned`) in its names, with
    at most `most` hits each; nothing for no words."""
    words = text.split()
    if not words:
        return ()
    groups = _for_staff(user, words, most) if is_staff(user) else _for_customer(user, words, most)
    return tuple(group for group in groups if group.hits)


def _for_staff(user: Person, words: list[str], most: int) -> Iterable[HitGroup]:
    hosts = Host.objects.visible_to(user).without_inventory()
    yield _group("Hosts", "host", hosts.filter(every_word(words, HOST_FIELDS)), most, _host)
    here = (
        Placement.objects.filter(until=None)
        .select_related("host")
        .defer("host__facts", "host__hello")
    )
    volumes = (
        Volume.objects.visible_to(user)
        .existing()
        .select_related("customer")
        .prefetch_related(Prefetch("placement_set", here, to_attr="here"))
    )
    lv_names = Q(pk__in=here.filter(every_word(words, ("lv_name",))).values("volume"))
    by_label_first = Case(When(every_word(words, ("label",)), then=Value(0)), default=Value(1))
    matching = volumes.filter(every_word(words, VOLUME_FIELDS) | lv_names)
    matching = matching.order_by(by_label_first, "label", "id")
    more_url = f"{reverse('volumes')}?{urlencode({'q': ' '.join(words)})}"
    yield _group("Volumes", "volume", matching, most, lambda row: _volume(row, words), more_url)
    guests = volumes.filter(every_word(words, ("guest",))).order_by("guest", "id")
    yield _group("Guests", "guest", guests, most, _guest)
    customers = Customer.objects.visible_to(user).filter(every_word(words, CUSTOMER_FIELDS))
    yield _group("Customers", "customers", customers, most, _customer)
    jobs = Job.objects.visible_to(user).with_names().filter(dry_run=False)
    of_kind = every_word(words, ("key", "kind", "volume__label"))
    yield _group("Jobs", "job", jobs.filter(of_kind), most, _job)


def _for_customer(user: Person, words: list[str], most: int) -> Iterable[HitGroup]:
    own = volumes_of(user).filter(every_word(words, VOLUME_FIELDS))
    yield _group(gettext("Volumes"), "volume", own, most, _own_volume)


def _group(
    name: str,
    icon: str,
    rows: QuerySet[Row],
    most: int,
    hit: Callable[[Row], Hit],
    more_url: str = "",
) -> HitGroup:
    matches = list(rows[: most + 1])
    return HitGroup(name, icon, tuple(map(hit, matches[:most])), len(matches) > most, more_url)


def _host(host: Host) -> Hit:
    return Hit(host.name, host.address, reverse("host", args=[host.key]))


def _volume(volume: Volume, words: Iterable[str]) -> Hit:
    """Its further names are shown where the search matched them."""
    placements: Sequence[Placement] = getattr(volume, "here", ())
    owner = [volume.customer.name] if volume.customer is not None else []
    details = [size(volume.size_bytes), *(each.host.name for each in placements), *owner]
    plain = f"{volume.label} {' '.join(owner)}".lower()
    unseen = [word.lower() for word in words if word.lower() not in plain]
    others = [volume.external_id, *(each.lv_name for each in placements), volume.key]
    details += [name for name in others if any(word in name.lower() for word in unseen)][:1]
    return Hit(volume.label, " · ".join(details), reverse("volume", args=[volume.key]))


def _guest(volume: Volume) -> Hit:
    return Hit(volume.guest, f"uses {volume.label}", reverse("volume", args=[volume.key]))


def _customer(customer: Customer) -> Hit:
    return Hit(customer.name, customer.external_id, reverse("customer", args=[customer.key]))


def _job(job: Job) -> Hit:
    what = f"{job.get_kind_display()}: {job.label}"
    detail = f"{job.get_state_display()}, {age(job.created_at)}, on {job.host.name}"
    return Hit(what, detail, reverse("job", args=[job.key]))


def _own_volume(volume: Volume) -> Hit:
    return Hit(volume.label, size(volume.size_bytes), reverse("my-volume", args=[volume.key]))


def every_word(words: Iterable[str], fields: Iterable[str]) -> Q:
    """Rows in which each word is part of some field, in any case; all rows for no words. A key has
    no words in it: only its beginning counts, and only some letters of it mean anything. The same
    holds of a logical volume that is named by its key."""
    fields = tuple(fields)
    every = Q()
    for word in words:
        some = Q()
        for field in fields:
            part = Q(**{f"{field}__icontains": word})
            if field.endswith("lv_name"):
                some |= part & Q(**{f"{field}__iregex": f"{CHOSEN}{re.escape(word)}"})
                if len(word) >= KEY_LETTERS:
                    some |= Q(**{f"{field}__istartswith": word})
            elif field != "key":
                some |= part
            elif len(word) >= KEY_LETTERS:
                some |= Q(key__istartswith=word)
        every &= some
    return every


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Everything found, by kind; the thing itself where a person sent the form and there is one."""
    text = cleaned(request.GET.get("q", ""))
    groups = find_names(request.user, text, MOST_ON_PAGE)
    hits = [hit for group in groups for hit in group.hits]
    if len(hits) == 1 and "HX-Request" not in request.headers:
        return redirect(hits[0].url)
    context = {"q": text, "groups": groups, "hit_count": len(hits)}
    return render(request, "search/search.html", context)


@require_safe
def found(request: HttpRequest) -> HttpResponse:
    """The first few of each kind, for the top bar."""
    text = cleaned(request.GET.get("q", ""))
    groups = find_names(request.user, text, MOST_IN_BAR)
    hit_count = sum(len(group.hits) for group in groups)
    context = {"q": text, "groups": groups, "hit_count": hit_count}
    return render(request, "search/_found.html", context)
