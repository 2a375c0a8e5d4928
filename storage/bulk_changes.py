"""One change for many volumes: the steps for each, or the reason against them.

Computed from the last inventories, as every preview begins. A person confirms these steps,
identified by their fingerprint; the host is read again before them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError

from storage.access import Person
from storage.analysis.size_forecasts import mode_of
from storage.models import CachePlan, Customer
from storage.planner import Disks, Refused, plan
from storage.planner.cost import Cost, cost
from storage.planner.current_wish import uncached
from storage.planner.fingerprint import disks_of, plan_fingerprint
from storage.planner.wish import Wish
from storage.volumes.cache_wish import MODES, CacheChoices, cache_wish
from storage.volumes.lifecycle import life_refusal, life_wish
from storage.volumes.ownership import refusal_to_give, refusal_to_take
from storage.volumes.plan_offers import size_of
from storage.volumes.snapshot import BlockingJob, VolumeSnapshot
from storage.volumes.ssd_capacity import less_reserved, net_bytes, wanted_bytes

MOST = 500
"""Volumes of one preview: a page must answer."""


class Action(StrEnum):
    MANAGE = "manage"
    CUSTOMER = "customer"
    NO_CUSTOMER = "nobody"
    ADD_CACHE = "add-cache"
    SET_MODE = "set-mode"
    REMOVE_CACHE = "remove-cache"
    RETIRE = "retire"
    ALLOCATE = "allocate"


ACTIONS = (
    (Action.MANAGE.value, "Take under management"),
    (Action.CUSTOMER.value, "Assign to a customer"),
    (Action.NO_CUSTOMER.value, "Remove customer"),
    (Action.ADD_CACHE.value, "Add a cache from a plan"),
    (Action.SET_MODE.value, "Change the cache mode"),
    (Action.REMOVE_CACHE.value, "Remove the cache"),
    (Action.RETIRE.value, "Retire"),
)
"""What a person chooses for volumes; the division of a host's SSD is proposed."""
TITLES = {**dict(ACTIONS), Action.ALLOCATE.value: "Divide the SSD anew"}
OPTIONS = {
    Action.CUSTOMER: "customer",
    Action.ADD_CACHE: "cache_plan",
    Action.SET_MODE: "mode",
}
"""What must be chosen beside the action."""


@dataclass(frozen=True, slots=True)
class BulkRequest:
    """What is to become of every volume: the action and, where it needs one, its option; for
    ALLOCATE the size in bytes of its cache (0 = none), by the volume's primary key."""

    action: Action
    customer: Customer | None = None
    cache_plan: CachePlan | None = None
    mode: str = ""
    sizes_bytes: Mapping[int, int] = field(default_factory=dict)

    @property
    def option(self) -> Any:
        """What was chosen beside the action, None for nothing."""
        name = OPTIONS.get(self.action)
        return getattr(self, name) or None if name is not None else None

    @property
    def option_key(self) -> str:
        """As the change keeps it."""
        return getattr(self.option, "key", self.option) or ""

    def check(self) -> None:
        """Raises Django's `ValidationError` where an option is missing or there is none such."""
        if self.mode and self.mode not in MODES:
            text = f"Select a valid choice: {' or '.join(MODES)}."
            raise ValidationError({"mode": ValidationError(text, code="invalid_choice")})
        if self.action in OPTIONS and self.option is None:
            raise ValidationError("Choose a value.", code="no_option")


def plan_on_offer(user: Person, key: str) -> CachePlan:
    """The plan from which caches are to be added; raises Django's `ValidationError`."""
    plan = CachePlan.objects.visible_to(user).filter(on_offer=True, key=key).first()
    if plan is None:
        error = ValidationError("There is no such plan on offer.", code="invalid_choice")
        raise ValidationError({"cache_plan": error})
    return plan


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What would become of one volume. `titles` are the steps, `disks` where they allocate;
    `refused` says why there are none, `blocked_by` is the key of the job that is the reason.
    `wish` and `cost` are None for what touches no host. Without a `fingerprint` the steps are not
    held to: they depend on what the changes before free."""

    row: VolumeSnapshot
    wish: Wish | None
    titles: tuple[str, ...]
    fingerprint: str
    refused: Refused | None
    cost: Cost | None = None
    disks: Disks = field(default_factory=dict)
    blocked_by: str = ""


def drafts(
    rows: Iterable[VolumeSnapshot],
    asked: BulkRequest,
    held: dict[str, int],
    now: datetime,
    busy: Mapping[int, BlockingJob] | None = None,
) -> list[PlannedChange]:
    """One draft for each row. `held` is the SSD space that is promised to others, by group; each
    draft promises its own before the next is judged; with ALLOCATE, where one begins when the one
    before has ended, it also gives back what it frees. `busy` are the jobs that change volumes, by
    the volumes' primary keys."""
    held, planned, changed = dict(held), list[PlannedChange](), set[str]()
    for row in rows:
        if (blocking := (busy or {}).get(row.volume.pk)) is not None:
            planned.append(_blocked(row, blocking))
            continue
        if asked.action in (Action.CUSTOMER, Action.NO_CUSTOMER):
            planned.append(_owned(row, asked.option))
            continue
        planned.append(draft := _draft(row, asked, held, now))
        if draft.wish is not None and row.facts is not None and row.placement is not None:
            group, uuid = row.placement.vg_uuid, row.placement.lv_uuid
            if asked.action is not Action.ALLOCATE:
                wanted = wanted_bytes(row.facts, group, draft.wish, uuid)
            else:
                wanted = net_bytes(row.facts, group, draft.wish, row.cache)
                if group in changed:
                    planned[-1] = dataclasses.replace(draft, fingerprint="")
                changed.add(group)
            held[group] = held.get(group, 0) + wanted
    return planned


def _blocked(row: VolumeSnapshot, blocking: BlockingJob) -> PlannedChange:
    """Skipped: the host would refuse a second job."""
    return PlannedChange(row, None, (), "", blocking.refused, blocked_by=blocking.key)


def _owned(row: VolumeSnapshot, customer: Customer | None) -> PlannedChange:
    """Given to the customer, or taken from the one it has."""
    if customer is None:
        refused = refusal_to_take(row.volume, is_busy=False)
        return PlannedChange(
            row, None, (f"Remove the customer {row.volume.customer}",), "", refused
        )
    title = f"Assign to {customer}, who will see the volume's name and its future orders and charts"
    refused = refusal_to_give(row.volume, customer, is_busy=False)
    return PlannedChange(row, None, (title,), "", refused)


def _draft(
    row: VolumeSnapshot, asked: BulkRequest, held: dict[str, int], now: datetime
) -> PlannedChange:
    action = asked.action
    if row.facts is not None and row.placement is not None:
        group = row.placement.vg_uuid
        row = dataclasses.replace(row, facts=less_reserved(row.facts, group, held.get(group, 0)))
    wish, refused = _wish(row, action, asked, now)
    if refused is None and wish is not None:
        return _planned(row, wish, action)
    return PlannedChange(row, None, (), "", refused or _refused("Nothing to do."))


def _wish(
    row: VolumeSnapshot, action: Action, asked: BulkRequest, now: datetime
) -> tuple[Wish | None, Refused | None]:
    """What the volume is to become, or why not."""
    is_now = row.wish
    if refused := _unfit(row, action) or row.refusal(is_now):
        return None, refused
    if is_now is None or action is Action.MANAGE:
        return is_now, None
    if action is Action.RETIRE:
        return life_wish(row, "retired"), life_refusal(row, "retired", now)
    if action is Action.REMOVE_CACHE or (
        action is Action.ALLOCATE and not asked.sizes_bytes[row.volume.pk]
    ):
        wish: Wish | None = uncached(row.facts, row.lv, is_now)
        return wish, row.refusal(wish)
    try:
        wish = cache_wish(row, _choices(row, asked))
    except ValidationError as error:
        return None, _refused(" ".join(error.messages))
    return wish, row.refusal(wish)


def _choices(row: VolumeSnapshot, asked: BulkRequest) -> CacheChoices:
    if asked.action is Action.ALLOCATE:
        return CacheChoices(mode_of(row), asked.sizes_bytes[row.volume.pk])
    if asked.action is Action.SET_MODE or asked.cache_plan is None:
        return CacheChoices(asked.mode)
    size_bytes = size_of(asked.cache_plan, row.volume.size_bytes, row.technology)
    return CacheChoices(asked.cache_plan.mode, size_bytes)


def _unfit(row: VolumeSnapshot, action: Action) -> Refused | None:
    """What needs no planner to see."""
    if action is Action.MANAGE and row.volume.managed:
        return _refused("The volume is already managed.")
    if action in (Action.SET_MODE, Action.REMOVE_CACHE) and row.cache is None:
        return _refused("The volume has no cache.")
    if action is Action.ADD_CACHE and row.cache is not None:
        return _refused(
            "The volume already has a cache.", "Change the cache size on the volume's page."
        )
    return None


def _planned(row: VolumeSnapshot, wish: Wish, action: Action) -> PlannedChange:
    """The steps to the wish, which nothing refuses."""
    facts, placement = row.facts, row.placement
    if facts is None or placement is None:
        return PlannedChange(row, None, (), "", _refused("The volume is missing on the host."))
    target = placement.target
    steps = plan(facts, target, wish)
    titles = tuple(step.title for step in steps)
    if not steps:
        return PlannedChange(row, None, (), "", _refused("No changes needed."))
    if action is Action.MANAGE and any(step.verb != "volume.tag" for step in steps):
        refused = _refused(
            "Tagging the volume would also change its settings.", "Manage the volume on its page."
        )
        return PlannedChange(row, None, titles, "", refused)
    spent = cost(facts, target, steps)
    return PlannedChange(row, wish, titles, plan_fingerprint(steps), None, spent, disks_of(steps))


def _refused(message: str, correction: str = "") -> Refused:
    return Refused("unsupported", message, correction)
