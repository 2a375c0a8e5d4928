"""What a broken attempt left beside a volume is a difference, exactly where a repair removes it."""

from __future__ import annotations

import dataclasses

import pytest

from storage.byte_sizes import GIB
from storage.health.drift import accept_refusal, drift_of
from storage.inventory.facts import LogicalVolume
from storage.naming import GROWN_TAG
from storage.planner import plan
from storage.planner.wish import Wish
from storage.volumes.snapshot import VolumeSnapshot
from tests import make
from tests.storage.health.test_drift import CACHED, DEVICE, KEY, POOL, READY, bcached, cached, row

OTHER = "bbbbbbbbbbbbbbbb"
ROOM = make.lv(f"x-{KEY}", tags=make.tags(KEY, made="room"), size_bytes=4 * GIB)
HELD = make.lv(f"w-{KEY}", tags=make.tags(KEY, made="left"), size_bytes=4 * GIB)
UNAWARE = "does not know that the volume has grown"


def pool(
    name: str = f"c-{OTHER}", key: str = KEY, pvs: tuple[str, ...] = ("md0",)
) -> LogicalVolume:
    return make.pool(name, tags=make.tags(key, made="pool"), size_bytes=20 * GIB, pvs=pvs)


def device(name: str = f"s-{OTHER}") -> LogicalVolume:
    return make.lv(name, tags=make.tags(KEY, made="cset"), size_bytes=20 * GIB, pvs=("md0",))


def beside(lv: LogicalVolume, recorded: Wish, *others: LogicalVolume) -> VolumeSnapshot:
    """The row of `lv`, with `others` on its host."""
    found = row(lv, recorded)
    assert found.lv is not None
    return dataclasses.replace(found, facts=make.facts(found.lv, *others))


def said(found: VolumeSnapshot) -> list[str]:
    drift = drift_of(found)
    return [each.found for each in drift.differences] if drift is not None else []


def is_planned(found: VolumeSnapshot, recorded: Wish) -> bool:
    assert found.facts is not None
    return bool(plan(found.facts, make.target(found.lv, volume_key=KEY), recorded))


@pytest.mark.parametrize(
    ("recorded", "lv", "left", "words"),
    [
        (Wish(8 * GIB), make.lv(), pool(), f"the cache pool c-{OTHER} (20 GiB)"),
        (CACHED, cached(), pool(), f"the cache pool c-{OTHER} (20 GiB)"),
        (Wish(8 * GIB), make.lv(), ROOM, f"x-{KEY} (4 GiB)"),
        (Wish(8 * GIB), make.lv(), HELD, f"w-{KEY} (4 GiB), disk space that is still to be"),
        (
            Wish(8 * GIB, layout="bcache"),
            make.lv(bcache=make.bcache()),
            device(),
            f"the cache device s-{OTHER} (20 GiB)",
        ),
    ],
)
def test_a_leftover_is_named_until_a_repair_removes_it_and_is_not_accepted(
    recorded: Wish, lv: LogicalVolume, left: LogicalVolume, words: str
) -> None:
    found = beside(lv, recorded, left)
    (sentence,) = said(found)
    assert sentence.startswith(words)
    assert is_planned(found, recorded)
    drift = drift_of(found)
    assert drift is not None and drift.refusal is None
    refusal = accept_refusal(found, drift)
    assert refusal is not None and refusal.correction == "Repair it instead."
    clean = beside(lv, recorded)
    assert (said(clean), is_planned(clean, recorded)) == ([], False)


def test_what_is_to_be_cleared_and_lost_its_tags_is_named_and_no_job_touches_it() -> None:
    bare = dataclasses.replace(HELD, tags=())
    found = beside(make.lv(), Wish(8 * GIB), bare)
    (sentence,) = said(found)
    assert sentence.endswith("without its tags no job clears or removes it")
    assert not is_planned(found, Wish(8 * GIB))


def test_a_guest_that_was_never_informed_is_named() -> None:
    grown = row(make.lv(tags=(GROWN_TAG,)), Wish(8 * GIB))
    assert said(grown) == [UNAWARE]
    assert is_planned(grown, Wish(8 * GIB))


def test_where_the_record_does_not_know_that_it_grew_the_way_out_is_by_hand() -> None:
    grown = row(make.lv(tags=(GROWN_TAG,), size_bytes=16 * GIB), Wish(8 * GIB))
    drift = drift_of(grown)
    assert drift is not None and drift.refusal is not None
    refusal = accept_refusal(grown, drift)
    assert refusal is not None
    assert "lvchange --deltag tiercel.grown vg0/web12" in refusal.correction


def test_what_is_anothers_in_use_recorded_or_on_a_lost_disk_is_no_leftover() -> None:
    plain = Wish(8 * GIB)
    for other in (pool(key=OTHER), make.pool(f"c-{OTHER}"), pool(pvs=("[unknown]",))):
        assert said(beside(make.lv(), plain, other)) == []
    lv, facts = bcached()
    found = row(lv, READY, facts)
    assert found.lv is not None
    own = dataclasses.replace(facts.lvs[1], tags=make.tags(KEY))
    assert own.name == DEVICE
    assert (
        said(dataclasses.replace(found, facts=dataclasses.replace(facts, lvs=(found.lv, own))))
        == []
    )


def test_a_cache_that_was_split_off_is_attached_again_before_it_is_given_up() -> None:
    found = beside(make.lv(), CACHED, pool(POOL))
    assert said(found) == ["none"]
    drift = drift_of(found)
    assert drift is not None and not drift.can_accept
    refusal = accept_refusal(found, drift)
    assert refusal is not None and "remove it on the volume's page then" in refusal.correction
