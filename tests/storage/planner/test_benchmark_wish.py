from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import HostFacts, KeptBenchmark, decode, encode, restored
from storage.naming import BENCHMARK_TAG_PREFIX, MANAGED_TAG, scratch_key, volume_tag
from storage.planner import Refused
from storage.planner.benchmark_wish import BenchmarkWish, scratch_space
from storage.planner.host_wish import read_host_wish, steps_of
from storage.planner.wish import BadWish
from tests import make

KEY = "abcdefghijklmnop"
ARGS = {
    "target": "lvmcache",
    "profile": "zipf_read",
    "state": "new",
    "mode": "writethrough",
    "data_bytes": 4 * GIB,
    "cache_bytes": GIB,
    "seconds": 60,
    "seed": 1,
    "jobs": 1,
    "iodepth": 16,
    "block_bytes": 4096,
}
WISH = BenchmarkWish(make.VG_UUID, "vg0", KEY, ARGS)


def scratch(name: str = f"b-{KEY}", *tags: str) -> Any:
    return make.lv(name, tags=tags or (MANAGED_TAG, f"{BENCHMARK_TAG_PREFIX}{KEY}"))


def refused(facts: HostFacts, wish: BenchmarkWish = WISH) -> Refused:
    with pytest.raises(Refused) as refusal:
        steps_of(facts, wish)
    return refusal.value


def test_a_run_is_one_step_on_the_disks_of_its_tiers() -> None:
    (step,) = steps_of(make.facts(), WISH)
    assert (step.verb, step.polled, step.holds_vg) == ("bench.run", True, False)
    assert step.args == {
        **ARGS, "vg": "vg0", "key": KEY, "slow_pvs": ["sdc"], "fast_pvs": ["md0"],
    }  # fmt: skip
    assert step.expect == {"vg_uuid": make.VG_UUID}


@pytest.mark.parametrize(("target", "tier"), [("hdd", "slow_pvs"), ("ssd", "fast_pvs")])
def test_a_target_without_a_cache_lies_on_its_own_tier_alone(target: str, tier: str) -> None:
    args = {**ARGS, "target": target, "cache_bytes": 0}
    (step,) = steps_of(make.facts(), replace(WISH, args=args))
    assert [name for name in step.args if name.endswith("_pvs")] == [tier]


def test_it_is_done_once_the_host_has_a_result_and_nothing_else_of_it() -> None:
    result = KeptBenchmark(KEY, "stopped")
    assert steps_of(make.facts(benchmarks=(result,)), WISH) == ()
    left = make.facts(benchmarks=(result,), scratch=(scratch(),))
    assert [step.verb for step in steps_of(left, WISH)] == ["bench.run"]
    other = make.facts(benchmarks=(KeptBenchmark("a" * 16, "finished"),))
    assert steps_of(other, WISH) != ()


def test_what_a_group_lacks_is_said() -> None:
    assert refused(make.facts(vgs=(make.vg(allowed=False),))).code == "observe_only"
    assert refused(make.facts(), replace(WISH, fast_pvs=("sdz",))).code == "not_found"
    large = replace(WISH, args={**ARGS, "data_bytes": 1 << 50})
    assert refused(make.facts(), large).code == "no_space"


def test_junk_needs_a_region_of_its_own() -> None:
    vg = make.vg()
    new = scratch_space(vg, ARGS)
    junk = scratch_space(vg, {**ARGS, "state": "junk"})
    assert (new.slow, junk.slow - new.slow) == (4 * GIB, 5 * GIB // 4)
    assert GIB < new.fast < GIB + 64 * MIB
    assert scratch_space(vg, {**ARGS, "target": "ssd"}).slow == 0


def test_the_wish_survives_json() -> None:
    wish = replace(WISH, slow_pvs=("sdc",))
    assert read_host_wish(json.loads(json.dumps(wish.to_json()))) == wish


@pytest.mark.parametrize(
    "changes",
    [
        {"key": "../../x"},
        {"lv": "v-abcdefgh"},
        {"args": {**ARGS, "lv": "v-abcdefgh"}},
        {"args": {**ARGS, "filename": "/dev/sda"}},
        {"args": {**ARGS, "seconds": "60"}},
        {"args": {"target": "hdd"}},
        {"slow_pvs": [1]},
        {"slow_pvs": "sdc"},
    ],
)
def test_other_json_is_no_run(changes: dict[str, Any]) -> None:
    with pytest.raises(BadWish):
        read_host_wish(WISH.to_json() | changes)


NAMES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["v-abcdefghijklmnop", "--config", "/dev/vg0/v-abcdefghijklmnop", "$(x)", f"b-{KEY}", "b-"]
    ),
)


@given(
    names=st.lists(NAMES, max_size=3),
    volumes=st.lists(NAMES, max_size=4, unique=True),
    texts=st.dictionaries(st.sampled_from(["target", "profile", "state", "mode"]), NAMES),
)
def test_no_plan_names_a_volume(
    names: list[str], volumes: list[str], texts: dict[str, str]
) -> None:
    """Whatever volumes are called, and whatever a wish says: the step has the run's key, a group,
    its disks, and what fio is to do."""
    customers = tuple(make.lv(name, tags=make.tags(KEY)) for name in volumes if name)
    facts = make.facts(lvs=customers)
    wish = BenchmarkWish(make.VG_UUID, "vg0", KEY, ARGS | texts, (), tuple(names))
    try:
        planned = steps_of(facts, read_host_wish(wish.to_json()))
    except (Refused, BadWish):
        return
    for step in planned:
        assert step.verb == "bench.run"
        named = {"vg", "key", "slow_pvs", "fast_pvs"}
        assert set(step.args) <= named | set(ARGS)
        assert (step.args["vg"], step.args["key"]) == ("vg0", KEY)
        assert step.args.get("slow_pvs", ["sdc"]) == ["sdc"]
        assert step.args.get("fast_pvs", ["md0"]) == ["md0"]


def test_scratch_volumes_and_their_parts_are_in_no_list_of_volumes() -> None:
    part = make.lv("[corig]", role=("private",))
    data = replace(scratch(), parts=(part.uuid,))
    cache = scratch(f"b-{KEY}-cache")
    own = make.lv("v-abcdefghijklmnop")
    sent = make.inventory(
        make.facts(
            lvs=(data, part, cache, own),
            csets=(make.cset(cache.uuid),),
            benchmarks=(KeptBenchmark(KEY, "finished"),),
        )
    )
    facts = decode(sent)
    assert facts.lvs == (own,)
    assert facts.public_lvs() == (own,)
    assert facts.csets == ()
    assert {lv.name for lv in facts.scratch_of(KEY)} == {data.name, cache.name}
    assert len(facts.scratch) == 3
    assert restored(encode(facts)) == facts


def test_a_host_cannot_hide_a_volume_by_calling_it_scratch() -> None:
    own = make.lv("v-abcdefghijklmnop")
    facts = decode(make.inventory(make.facts(lvs=(own,), scratch=(own,))))
    assert (facts.lvs, facts.scratch) == ((own,), ())


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        (f"b-{KEY}", ()),
        (f"b-{KEY}", (MANAGED_TAG,)),
        (f"b-{KEY}", (f"{BENCHMARK_TAG_PREFIX}{KEY}",)),
        (f"b-{KEY}", (MANAGED_TAG, f"{BENCHMARK_TAG_PREFIX}{'a' * 16}")),
        (f"b-{KEY}", (MANAGED_TAG, f"{BENCHMARK_TAG_PREFIX}{KEY}", volume_tag(KEY))),
        (f"b-{KEY}-other", (MANAGED_TAG, f"{BENCHMARK_TAG_PREFIX}{KEY}")),
        (KEY, (MANAGED_TAG, f"{BENCHMARK_TAG_PREFIX}{KEY}")),
        ("b-short", (MANAGED_TAG, f"{BENCHMARK_TAG_PREFIX}short")),
    ],
)
def test_only_name_and_tags_together_make_a_scratch_volume(
    name: str, tags: tuple[str, ...]
) -> None:
    assert scratch_key(name, tags) is None
