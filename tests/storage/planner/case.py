"""What the tests of plans share: one volume of ours, and short ways to plan for it."""

from __future__ import annotations

from typing import Any

import pytest

from storage.byte_sizes import GIB
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner import PlannedStep, Refused, Target, plan
from storage.planner.wish import Bcache, LvmCache, Wish
from tests import make
from tests.storage.planner import model

KEY, OTHER = "aaaaaaaabbbbbbbb", "ccccccccdddddddd"
POOL, DEVICE = f"c-{KEY}", f"s-{KEY}"
OURS = make.tags(KEY)
POOL_TAGS, ROOM_TAGS = make.tags(KEY, made="pool"), make.tags(KEY, made="room")
PLAIN = Wish(8 * GIB)
READY = Wish(8 * GIB, layout="bcache")


def ours(**fields: Any) -> LogicalVolume:
    return make.lv(**{"tags": OURS, **fields})


def lvmcache(**fields: Any) -> Wish:
    return Wish(8 * GIB, cache=LvmCache(**{"name": POOL, "size_bytes": 2 * GIB, **fields}))


def bcached(**fields: Any) -> Wish:
    cache = Bcache(**{"name": DEVICE, "cset_uuid": make.CSET_UUID, "size_bytes": 2 * GIB, **fields})
    return Wish(8 * GIB, layout="bcache", cache=cache)


def aim(lv: LogicalVolume | None) -> Target:
    return make.target(lv, volume_key=KEY)


def steps(facts: HostFacts, lv: LogicalVolume | None, wish: Wish) -> tuple[PlannedStep, ...]:
    """The plan, every step of which the agent admits."""
    found = plan(facts, aim(lv), wish)
    if found:
        model.check(found)
    return found


def verbs(facts: HostFacts, lv: LogicalVolume | None, wish: Wish) -> list[str]:
    return [step.verb for step in steps(facts, lv, wish)]


def refusal(facts: HostFacts, lv: LogicalVolume | None, wish: Wish) -> Refused:
    """Why there is no plan; it tells the user what to do."""
    with pytest.raises(Refused) as caught:
        plan(facts, aim(lv), wish)
    assert caught.value.message and caught.value.correction
    return caught.value


def refused(facts: HostFacts, lv: LogicalVolume | None, wish: Wish) -> str:
    """The code of the refusal."""
    return refusal(facts, lv, wish).code
