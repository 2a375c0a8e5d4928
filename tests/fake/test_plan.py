"""For any start and any wish: carrying out a plan step by step arrives, and stays there."""

from __future__ import annotations

import dataclasses
import json
import uuid
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.byte_sizes import MIB
from storage.inventory.facts import HostFacts, decode
from storage.planner import Target, plan
from storage.planner.draft import PlannedStep
from storage.planner.wish import Bcache, LvmCache, Wish
from tests.fake import FakeHost

KEY = "aaaaaaaa"
CSET = "0e9b1f6c-1111-4222-8333-444455556666"
OTHER_CSET = "0e9b1f6c-1111-4222-8333-444455556667"
THIRD_CSET = "0e9b1f6c-1111-4222-8333-444455556668"
SIZE_BYTES = 256 * MIB
ROUNDS = 12

lvm_caches = st.builds(
    LvmCache,
    name=st.sampled_from(["c-aaaaaaaa", "c-bbbbbbbb"]),
    # md0 has 4 GiB: there is no room for two of the largest.
    size_bytes=st.sampled_from([64 * MIB, 128 * MIB, 3072 * MIB]),
    mode=st.sampled_from(["writethrough", "writeback"]),
    migration_threshold_sectors=st.sampled_from([2048, 16384]),
)
# A cache set keeps its size: another size is another set.
bcaches = st.builds(
    lambda place, **fields: Bcache(**place, **fields),
    st.sampled_from(
        [
            {"name": "s-aaaaaaaa", "cset_uuid": CSET, "size_bytes": 512 * MIB},
            {"name": "s-bbbbbbbb", "cset_uuid": OTHER_CSET, "size_bytes": 3072 * MIB},
            {"name": "s-cccccccc", "cset_uuid": THIRD_CSET, "size_bytes": 2048 * MIB},
        ]
    ),
    cache_mode=st.sampled_from(["writethrough", "writeback", "writearound"]),
    sequential_cutoff_bytes=st.sampled_from([0, 4 * MIB]),
    writeback_percent=st.sampled_from([10, 40]),
)


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Wish], int, int]:
    """Wishes for one volume one after the other; how many steps of the last but one were done
    before the next wish came; how much dirty data there was then."""
    layout = draw(st.sampled_from(["plain", "bcache"]))
    caches = lvm_caches if layout == "plain" else bcaches
    kind = st.just(layout)
    wish = st.builds(Wish, st.just(SIZE_BYTES), layout=kind) | st.builds(
        Wish, st.just(SIZE_BYTES), layout=kind, cache=caches, flushed=st.booleans()
    )
    off = st.builds(Wish, st.just(SIZE_BYTES), layout=kind, life=st.just("retired"))
    wishes = [draw(wish), *draw(st.lists(wish | off, max_size=2))]
    # What was never begun cannot be retired.
    least = int(any(each.life == "retired" for each in wishes))
    return wishes, draw(st.integers(least, 4)), draw(st.sampled_from([0, 1 * MIB, 100 * MIB]))


class Story:
    """A volume on a fake host, seen and changed as the panel does it."""

    def __init__(self) -> None:
        self.host = FakeHost()
        vg = self.facts().vgs[0]
        self.target = Target(KEY, vg.uuid, vg.name, f"v-{KEY}", None)

    def ask(self, **fields: Any) -> Any:
        request = {"v": 1, "id": str(uuid.uuid4()), **fields}
        reply = json.loads(self.host.answer(json.dumps(request).encode() + b"\n"))
        assert reply["ok"], reply["error"]
        return reply["data"]

    def facts(self) -> HostFacts:
        return decode(self.ask(verb="inventory"))

    def plan(self, wish: Wish) -> tuple[PlannedStep, ...]:
        facts = self.facts()
        lv = facts.lv_named(self.target.vg_uuid, self.target.lv_name)
        if lv is not None:
            self.target = dataclasses.replace(self.target, lv_uuid=lv.uuid)
        steps = plan(facts, self.target, wish)
        assert plan(facts, self.target, wish) == steps
        return steps

    def run(self, step: PlannedStep) -> None:
        op = self.ask(verb=step.verb, args=step.args, expect=step.expect)["op"]
        self.host.wait_for_ops()
        outcome = self.ask(verb="op.get", args={"op": op})
        assert (outcome["state"], outcome["error"]) == ("done", None), (step, outcome)

    def pursue(self, wish: Wish, limit: int = ROUNDS) -> bool:
        """Whether the wish was fulfilled within so many steps."""
        for _ in range(limit):
            steps = self.plan(wish)
            if not steps:
                return True
            document = [
                {"verb": step.verb, "args": step.args, "expect": step.expect} for step in steps
            ]
            shown = self.ask(dry_run=document)["steps"]
            assert [each["error"] for each in shown] == [None] * len(steps), steps
            self.run(steps[0])
        return False

    def dirty(self, size_bytes: int) -> None:
        facts = self.facts().lv_named(self.target.vg_uuid, self.target.lv_name)
        writeback = facts is not None and (
            (facts.cache is not None and facts.cache.mode == "writeback")
            or (facts.bcache is not None and facts.bcache.cset_uuid is not None)
        )
        if writeback:
            self.host.root.dirty(self.target.lv_name, size_bytes)


@settings(max_examples=settings().max_examples // 2)
@given(stories())
def test_carrying_out_a_plan_step_by_step_ends_with_nothing_left_to_do(
    story: tuple[list[Wish], int, int],
) -> None:
    wishes, halfway, dirty_bytes = story
    panel = Story()
    for wish in wishes[:-1]:
        panel.pursue(wish, halfway)
        panel.dirty(dirty_bytes)
    assert panel.pursue(wishes[-1])
    assert panel.plan(wishes[-1]) == ()
    assert panel.host.gaps == []


def test_the_way_from_nothing_to_writeback_and_back_is_short() -> None:
    panel = Story()
    cache = LvmCache("c-aaaaaaaa", 64 * MIB, mode="writeback")
    wish = Wish(SIZE_BYTES, cache=cache)
    assert [step.verb for step in panel.plan(wish)] == [
        "volume.create", "pool.create", "cache.attach",
    ]  # fmt: skip
    assert panel.pursue(wish, 4)
    panel.dirty(100 * MIB)
    bare = Wish(SIZE_BYTES)
    assert [step.verb for step in panel.plan(bare)] == [
        "cache.flush", "cache.detach", "volume.clear",
    ]  # fmt: skip
    assert panel.pursue(bare, 4)


def test_from_retired_there_is_a_way_back_and_one_to_nothing() -> None:
    for layout in ("plain", "bcache"):
        panel, live = Story(), Wish(SIZE_BYTES, layout=layout)  # type: ignore[arg-type]
        policy = {"vgs": ["vg0"], "undo_hours": 0}
        panel.host.save("/etc/tiercel/agent.json", json.dumps(policy).encode())
        assert panel.pursue(live, 3)
        for life in ("retired", "live", "retired", "gone"):
            wish = dataclasses.replace(live, life=life)  # type: ignore[arg-type]
            assert panel.pursue(wish, 2), (layout, life)
        assert panel.facts().lvs == ()
        assert panel.host.gaps == []
