"""What a job without a volume brings about on its host: a disk for a volume group, or for an array
below one. Pure."""

from __future__ import annotations

from storage.inventory.facts import HostFacts
from storage.planner.draft import PlannedStep
from storage.planner.member_wish import Replacement, replace
from storage.planner.ssd_wish import Preparation, prepare

HostWish = Preparation | Replacement


def read_host_wish(data: object) -> HostWish:
    """What a job keeps. Raises `BadWish`."""
    if isinstance(data, dict) and "array" in data:
        return Replacement.from_json(data)
    return Preparation.from_json(data)


def steps_of(facts: HostFacts, wish: HostWish) -> tuple[PlannedStep, ...]:
    """The steps that are left, `()` once all is done; raises `Refused`."""
    return replace(facts, wish) if isinstance(wish, Replacement) else prepare(facts, wish)
