"""The choices of a customer for a volume: cache plans, each with any reason against it.

The texts are the customer's: no host, no technology, no volume group. The volume's layout decides
the technology; whether a plan is possible is decided by the same planner that the job will use.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from storage.byte_sizes import MIB
from storage.models import CachePlan
from storage.naming import new_key
from storage.planner.current_wish import uncached
from storage.planner.lvm_sizes import round_up
from storage.planner.technologies.lookup import of_cache
from storage.planner.technologies.technology import Technology
from storage.planner.wish import BadWish, CacheWish, Wish
from storage.volumes.cache_sizes import has_mirror
from storage.volumes.cache_wish import CacheChoices, cache_wish
from storage.volumes.snapshot import VolumeSnapshot
from storage.volumes.ssd_capacity import less_reserved

OfferedChange = Literal["add", "set", "replace", "remove"]

STEP_BYTES = 64 * MIB
"""Sizes by ratio are whole steps, and sizes less than one apart are the same size: metadata and
whole extents make what is on the host a little different from what was asked for."""

TOO_LARGE = marked("Larger than the volume. A smaller plan gives the same result.")
NONE_FITS = marked("This volume is smaller than the smallest plan.")
"""No plan helps: a smaller one is not sold."""
NOTHING_MORE = marked("This plan costs more but your cache is already that large.")
NOT_NOW = marked("The plan of this volume cannot be changed now. Please contact support.")
MIRROR_DEGRADED = marked(
    "Not available at the moment: it needs mirrored SSDs, and one of them is out of service."
)
REASONS = {
    "no_space": marked(
        "Sold out for this volume at the moment. Choose a smaller plan or contact support."
    ),
    "no_fast_disk": marked("Not available for this volume."),
    "not_redundant": marked("Not available for this volume: it needs mirrored SSDs."),
    "unsupported": marked("Not available for this volume."),
    "inconsistent": marked("Another change is running. Try again in a minute."),
}
"""By code of a refusal; every other one is `NOT_NOW`."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One choice; `plan` is None for no cache at all. `reason` is "" where it may be chosen, and
    `wish` then says what the volume becomes."""

    plan: CachePlan | None
    size_bytes: int
    is_current: bool
    reason: str
    change: OfferedChange
    wish: Wish | None

    @property
    def key(self) -> str:
        return self.plan.key if self.plan is not None else "none"

    @property
    def name(self) -> str:
        return self.plan.name if self.plan is not None else gettext("No cache")

    @property
    def price_minor(self) -> int:
        return self.plan.price_minor if self.plan is not None else 0

    @property
    def currency(self) -> str:
        return self.plan.currency if self.plan is not None else ""


def offers(
    row: VolumeSnapshot,
    plans: Iterable[CachePlan],
    reserved_bytes: int,
    agreed_id: int | None = None,
    restored: CacheWish | None = None,
) -> list[Offer]:
    """No cache first, then the plans in their order. `reserved_bytes` of the SSD space of the
    volume's group is promised to others. A plan that is retired, or that the volume's host does
    not offer, is there only while it is the volume's own, or was agreed on before (`agreed_id`, its
    primary key). `restored` is a former cache of the volume: the offer of the agreed plan, or
    without one that of no plan, brings it back."""
    if row.facts is not None and row.placement is not None:
        facts = less_reserved(row.facts, row.placement.vg_uuid, reserved_bytes)
        row = dataclasses.replace(row, facts=facts)
    theirs, every = (row.volume.cache_plan_id, agreed_id), list(plans)
    only = _hosts_of(every)
    listed = [plan for plan in every if plan.pk in theirs or _is_offered(plan, row, only[plan.pk])]
    of_plans = [_offer(row, plan, plan.pk == agreed_id) for plan in listed]
    if all(offer.reason == TOO_LARGE for offer in of_plans):
        of_plans = [dataclasses.replace(offer, reason=NONE_FITS) for offer in of_plans]
    all_offers = [_no_cache(row), *of_plans]
    if restored is None:
        return all_offers
    return [
        _restoring(row, offer.plan, restored)
        if (offer.plan.pk if offer.plan is not None else None) == agreed_id
        else offer
        for offer in all_offers
    ]


def _hosts_of(plans: Collection[CachePlan]) -> defaultdict[int, set[int]]:
    """By primary key of the plan, those of the hosts that alone offer it. The table between them is
    asked: a customer sees no host but their own, and a plan of another one is not of every one."""
    between = CachePlan.hosts.through.objects.filter(cacheplan__in=plans)
    hosts = defaultdict[int, set[int]](set)
    for plan_id, host_id in between.values_list("cacheplan_id", "host_id"):
        hosts[plan_id].add(host_id)
    return hosts


def _is_offered(plan: CachePlan, row: VolumeSnapshot, only: set[int]) -> bool:
    here = row.host.pk if row.host is not None else None
    return plan.on_offer and (not only or here in only)


def size_of(plan: CachePlan, volume_bytes: int, technology: Technology) -> int:
    """The size in bytes of a plan's cache for a volume of that size; a ratio gives at least the
    smallest cache that can be made."""
    if plan.ratio_percent is None:
        return plan.size_bytes or 0
    share = -(-volume_bytes * plan.ratio_percent // 100)
    return max(technology.least_bytes, round_up(share, STEP_BYTES))


def _no_cache(row: VolumeSnapshot) -> Offer:
    is_current = row.cache is None and row.volume.cache_plan_id is None
    now = row.wish
    wish = uncached(row.facts, row.lv, now) if now is not None else None
    reason = "" if is_current else _reason(row, wish)
    return Offer(None, 0, is_current, reason, "remove", None if reason else wish)


def _offer(row: VolumeSnapshot, plan: CachePlan, is_agreed: bool) -> Offer:
    size_bytes = size_of(plan, row.volume.size_bytes, row.technology)
    has_cache = row.cache is not None
    is_current = has_cache and row.volume.cache_plan_id == plan.pk
    change: OfferedChange = "add"
    if has_cache:
        change = "set" if _is_same_size(row, size_bytes) else "replace"
    wish, reason = None, ""
    if not is_current:
        wish, reason = _wish(row, plan, size_bytes, keeps_cache=change == "set")
        # The way back has the price of before, whatever the plan costs by now.
        nothing_more = "" if is_agreed else _nothing_more(row, plan, change)
        reason = reason or nothing_more or _reason(row, wish)
    return Offer(plan, size_bytes, is_current, reason, change, None if reason else wish)


def _restoring(row: VolumeSnapshot, plan: CachePlan | None, former: CacheWish) -> Offer:
    change: OfferedChange = "add"
    if row.cache is not None:
        change = "set" if _is_same_size(row, former.size_bytes) else "replace"
    try:
        wish = _restored(row.wish, former, change) if row.wish is not None else None
    except BadWish:  # the volume was moved to where such a cache is not possible
        wish = None
    reason = _reason(row, wish)
    return Offer(plan, former.size_bytes, False, reason, change, None if reason else wish)


def _restored(now: Wish, former: CacheWish, change: OfferedChange) -> Wish:
    if change != "set" or now.cache is None:
        cache = former.another(new_key(), former.size_bytes, former.mode)
        return Wish(now.size_bytes, now.tier, now.layout, cache)
    names = [setting.name for setting in of_cache(former).settings]
    settings = {name: getattr(former, name) for name in names if hasattr(now.cache, name)}
    return dataclasses.replace(
        now, cache=dataclasses.replace(now.cache.with_mode(former.mode), **settings)
    )


def _wish(
    row: VolumeSnapshot, plan: CachePlan, size_bytes: int, *, keeps_cache: bool
) -> tuple[Wish | None, str]:
    if size_bytes > row.volume.size_bytes:
        return None, TOO_LARGE
    try:
        return cache_wish(row, CacheChoices(plan.mode, None if keeps_cache else size_bytes)), ""
    except ValidationError as error:
        if "mode" in getattr(error, "error_dict", {}):
            return None, _not_redundant(row)
    return None, REASONS["unsupported"] if row.wish is not None else NOT_NOW


def _nothing_more(row: VolumeSnapshot, plan: CachePlan, change: OfferedChange) -> str:
    """A step of size between two plans may be none on this volume: shares of it are rounded."""
    own = row.volume.cache_plan
    if change != "set" or own is None or row.cache is None or row.cache.mode != plan.mode:
        return ""
    is_dearer = own.currency == plan.currency and plan.price_minor > own.price_minor
    return NOTHING_MORE if is_dearer else ""


def _is_same_size(row: VolumeSnapshot, size_bytes: int) -> bool:
    now_bytes = row.cache.size_bytes if row.cache is not None else None
    return abs((now_bytes or 0) - size_bytes) < STEP_BYTES


def _reason(row: VolumeSnapshot, wish: Wish | None) -> str:
    refusal = row.refusal(wish)
    if refusal is None:
        return ""
    if wish is None:
        return NOT_NOW
    if refusal.code == "not_redundant":
        return _not_redundant(row)
    return REASONS.get(refusal.code, NOT_NOW)


def _not_redundant(row: VolumeSnapshot) -> str:
    """A mirror of which an SSD failed is whole again once that is replaced."""
    has_one = (
        row.facts is not None
        and row.placement is not None
        and has_mirror(row.facts, row.placement.vg_uuid)
    )
    return MIRROR_DEGRADED if has_one else REASONS["not_redundant"]
