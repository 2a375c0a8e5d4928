from __future__ import annotations

from typing import Any

import pytest

from storage.agent.benchmark import profiles
from storage.benchmarks.matrix import (
    BadSpec,
    CacheState,
    Cell,
    Profile,
    ProfileChoice,
    Spec,
    TargetChoice,
    TargetKind,
    demand_sound,
    label_of,
    runs_of,
)
from storage.byte_sizes import GIB, KIB, MIB
from storage.planner import Refused
from tests.storage.benchmarks.make_spec import LVMCACHE, ZIPF, cell, spec

HDD = TargetChoice(TargetKind.HDD)
SSD = TargetChoice(TargetKind.SSD)
BCACHE = TargetChoice(TargetKind.BCACHE, "writeback", sequential_cutoff_kib=4096)
OWN = ProfileChoice(Profile.OWN, options=(("rw", "randread"),))


def test_each_target_meets_each_profile_size_and_state_once() -> None:
    wanted = spec(
        targets=(HDD, LVMCACHE),
        profiles=(ZIPF, ProfileChoice(Profile.MIXED)),
        data_bytes=(2 * GIB, 4 * GIB),
        cache_bytes=(GIB, 2 * GIB),
        states=(CacheState.NEW, CacheState.JUNK),
    )
    cells = wanted.cells
    assert len(cells) == len(set(cells)) == 2 * 2 + 2 * 2 * 2 * 2
    assert all(not each.cache_bytes and each.state == "new" for each in cells if not each.has_cache)


def test_only_a_warmed_cache_is_warmed() -> None:
    wanted = spec(states=(CacheState.NEW, CacheState.WARMED), warm_seconds=120)
    assert {each.state: each.warm_seconds for each in wanted.cells} == {"new": 0, "warmed": 120}


def test_every_second_repeat_goes_backwards() -> None:
    runs = runs_of(spec(targets=(HDD, SSD), repeats=3))
    order = [(run.repeat, run.cell.target) for run in runs]
    assert order == [(0, "hdd"), (0, "ssd"), (1, "ssd"), (1, "hdd"), (2, "hdd"), (2, "ssd")]


def test_a_matrix_and_a_cell_survive_json() -> None:
    wanted = spec(targets=(HDD, BCACHE), profiles=(ZIPF, OWN), slow_pvs=("sdc",))
    assert Spec.from_json(wanted.to_json()) == wanted
    for each in wanted.cells:
        assert Cell.from_json(each.to_json()) == each


@pytest.mark.parametrize(
    "data", [None, [], {}, {"targets": "hdd"}, spec().to_json() | {"seed": "1"}]
)
def test_other_json_is_no_matrix(data: object) -> None:
    with pytest.raises(BadSpec):
        Spec.from_json(data)


def test_a_cell_names_no_volume() -> None:
    assert not {"lv", "lv_uuid", "volume", "device", "path", "filename"} & set(cell().to_json())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"targets": ()}, "no target"),
        ({"profiles": ()}, "no profile"),
        ({"cache_bytes": ()}, "has no size"),
        ({"data_bytes": (KIB,)}, "is no size for data"),
        ({"cache_bytes": (1 << 60,)}, "is no size for the cache"),
        ({"seconds": 5}, "cannot take"),
        ({"seconds": 25 * 3600}, "cannot take"),
        ({"states": (CacheState.WARMED,)}, "how long is missing"),
        ({"repeats": 0}, "repeats"),
        ({"seed": 0}, "seed"),
        ({"repeats": 30, "data_bytes": tuple(n * GIB for n in range(1, 30))}, "870 runs"),
        ({"targets": (TargetChoice(TargetKind.HDD, "writeback"),)}, "has no cache"),
        ({"targets": (TargetChoice(TargetKind.LVMCACHE, "writearound"),)}, "no mode writearound"),
        ({"targets": (TargetChoice(TargetKind.LVMCACHE, "writeback", 48),)}, "no chunk size"),
        (
            {"targets": (TargetChoice(TargetKind.LVMCACHE, "writeback", 0, 4),)},
            "sequential cutoff",
        ),
        (
            {"targets": (TargetChoice(TargetKind.BCACHE, "writeback", 96),)},
            "no buckets of 96 KiB",
        ),
        ({"targets": (BCACHE,), "cache_bytes": (128 * MIB,)}, "more than 512 buckets"),
        (
            {"targets": (TargetChoice(TargetKind.LVMCACHE, "writeback", 96),)},
            "do not fit a cache of 1 GiB",
        ),
        ({"data_bytes": (GIB + 1,)}, "whole MiB"),
        ({"profiles": (ProfileChoice(Profile.OWN),)}, "Options belong"),
        (
            {"profiles": (ProfileChoice(Profile.OWN, options=(("filename", "/dev/sda"),)),)},
            "without the option 'filename'",
        ),
        ({"profiles": (ProfileChoice(Profile.MIXED, options=(("rw", "read"),)),)}, "Options"),
        ({"profiles": (ProfileChoice(Profile.MIXED, jobs=0),)}, "streams"),
        ({"profiles": (ProfileChoice(Profile.MIXED, iodepth=1000),)}, "in flight"),
        ({"profiles": (ProfileChoice(Profile.MIXED, block_bytes=100),)}, "block size"),
    ],
)
def test_what_cannot_be_run_is_refused_with_what_to_change(
    changes: dict[str, Any], words: str
) -> None:
    demand_sound(spec())
    with pytest.raises(Refused, match=words) as refused:
        demand_sound(spec(**changes))
    assert refused.value.correction


def test_the_agent_knows_the_same_words() -> None:
    assert set(Profile) == set(profiles.PROFILES)
    assert set(TargetKind) == set(profiles.TARGETS)
    assert set(CacheState) == set(profiles.STATES)


def test_a_cell_has_a_label() -> None:
    assert label_of(cell()) == "lvmcache writethrough 1 GiB, new, zipf_read, 4 GiB"
    (bcache,) = spec(targets=(BCACHE,), states=(CacheState.JUNK,)).cells
    assert label_of(bcache) == (
        "bcache writeback 1 GiB cutoff 4 MiB, full of junk, zipf_read, 4 GiB"
    )
    (hdd,) = spec(targets=(HDD,)).cells
    assert label_of(hdd) == "hdd, zipf_read, 4 GiB"
