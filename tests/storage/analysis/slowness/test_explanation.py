"""Why a volume waits and what helps, from figures alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from storage.analysis.disk_users import UsedDisk
from storage.analysis.slowness.explanation import (
    Cause,
    Help,
    Lack,
    PastChange,
    SlowRemedy,
    SpeedState,
    Timing,
)
from storage.byte_sizes import GIB
from tests.storage.analysis.slowness.explained import (
    FOURTH,
    NOISY,
    NOON,
    SLOW,
    THIRD,
    VICTIM,
    disk,
    explained,
    offer,
)


@pytest.mark.parametrize(
    ("of", "cause"),
    [
        (disk((NOISY, 0.9), (VICTIM, 0.1)), Cause.NEIGHBOUR),
        (disk((NOISY, 0.3), (THIRD, 0.3), (FOURTH, 0.3), (VICTIM, 0.1)), Cause.NEIGHBOURS),
        (disk((VICTIM, 0.6), (NOISY, 0.4)), Cause.ITSELF),
        (disk((VICTIM, 0.1), other=0.9), Cause.OUTSIDE),
        (disk((VICTIM, 0.9), busy=0.2), Cause.UNLOADED),
        (disk((VICTIM, 0.2), (NOISY, 0.8), busy=0.4), Cause.NEIGHBOUR),
        (disk((NOISY, 0.9), (VICTIM, 0.1), busy=None, other=None), Cause.NEIGHBOUR),
        (disk(), Cause.UNKNOWN),
        (None, Cause.UNKNOWN),
    ],
)
def test_the_shares_of_the_disk_name_the_cause(of: UsedDisk | None, cause: Cause) -> None:
    assert explained(of).cause == cause


def test_a_disk_that_is_not_well_is_the_cause_and_is_replaced() -> None:
    found = explained(disk((NOISY, 0.9), (VICTIM, 0.1)), offer(NOISY), faults=["sdc is failing."])
    assert found.cause == Cause.FAULT
    assert found.remedies == (SlowRemedy(Help.REPLACE_DISK),)


def test_the_three_greatest_users_are_named_and_the_least_are_not() -> None:
    of = disk((NOISY, 0.5), (THIRD, 0.3), (FOURTH, 0.15), (VICTIM, 0.05))
    assert [each.volume_id for each in explained(of).top] == [NOISY, THIRD, FOURTH]
    little = disk((NOISY, 0.97), (VICTIM, 0.03))
    found = explained(little)
    assert [each.volume_id for each in found.top] == [NOISY]
    assert (found.own_share, found.others_share) == (0.03, 0.97)


def test_a_cache_for_who_uses_the_disk_most_helps_first_then_one_for_the_volume() -> None:
    found = explained(disk((NOISY, 0.9), (VICTIM, 0.1)), offer(NOISY, 32), offer(VICTIM, 8))
    assert [(each.help, each.volume_id, each.size_bytes) for each in found.remedies] == [
        (Help.ADD_CACHE, NOISY, 32 * GIB),
        (Help.ADD_CACHE, VICTIM, 8 * GIB),
        (Help.LIMIT, NOISY, None),
    ]


def test_no_neighbour_is_the_culprit_who_uses_the_disk_less_than_the_volume() -> None:
    of = disk((VICTIM, 0.43), (NOISY, 0.3), (THIRD, 0.14), (FOURTH, 0.13))
    found = explained(of, offer(NOISY, 32), offer(VICTIM, 8))
    assert found.cause == Cause.NEIGHBOURS
    assert [(each.help, each.volume_id) for each in found.remedies] == [
        (Help.ADD_CACHE, VICTIM),
        (Help.ADD_CACHE, NOISY),
    ]


def test_a_cache_that_is_there_is_enlarged() -> None:
    found = explained(disk((VICTIM, 0.9)), offer(VICTIM, 64, has_cache=True, mode="writeback"))
    assert found.remedies == (
        SlowRemedy(Help.RESIZE_CACHE, VICTIM, 64 * GIB, "writeback", "reason 1"),
    )


def test_where_no_cache_helps_it_says_why_and_a_neighbour_can_be_limited() -> None:
    none = offer(NOISY, None, reason="A cache would not help: reads do not come back.")
    full = offer(VICTIM, 8, obstacle="There is no SSD space left for a cache.")
    found = explained(disk((NOISY, 0.9), (VICTIM, 0.1)), none, full)
    assert [each.help for each in found.remedies] == [Help.LIMIT]
    alone = explained(disk((VICTIM, 0.9)), full)
    assert alone.remedies == ()
    assert alone.closed == (full,) and found.closed == (none, full)


def test_no_cache_is_advised_for_a_volume_that_waits_for_an_ssd() -> None:
    ssd = disk((VICTIM, 0.9), is_fast=True)
    assert explained(ssd, offer(VICTIM)).remedies == ()


def test_what_no_volume_does_is_over_by_itself() -> None:
    found = explained(disk((VICTIM, 0.1), other=0.9), offer(VICTIM))
    assert (found.remedies, found.closed) == ((), ())


@pytest.mark.parametrize("lack", [Lack.SAMPLES, Lack.READS])
def test_what_the_figures_lack_is_said(lack: Lack) -> None:
    assert lack in explained(disk((VICTIM, 0.9)), lacks=[lack]).lacks


def test_figures_that_ended_a_moment_ago_still_name_the_cause() -> None:
    silent = replace(SLOW, state=SpeedState.UNKNOWN)
    found = explained(
        disk((NOISY, 0.9), (VICTIM, 0.1)), offer(NOISY), timing=silent, lacks=[Lack.SAMPLES]
    )
    assert found.cause == Cause.NEIGHBOUR
    assert [each.help for each in found.remedies] == [Help.ADD_CACHE, Help.LIMIT]
    well = explained(disk((NOISY, 0.9)), offer(NOISY), timing=replace(silent, since=None))
    assert well.remedies == ()


def test_without_figures_neither_a_cause_nor_a_remedy_is_named() -> None:
    unknown = Timing(SpeedState.UNKNOWN, NOON)
    found = explained(disk((VICTIM, 0.9)), offer(VICTIM), timing=unknown, lacks=[Lack.SAMPLES])
    assert (found.cause, found.remedies) == (Cause.UNKNOWN, ())
    nowhere = explained(None, offer(VICTIM))
    assert nowhere.lacks == (Lack.DISK,)
    assert explained(None, lacks=[Lack.INVENTORY]).lacks == (Lack.INVENTORY,)
    assert explained(disk((VICTIM, 0.9), busy=None)).lacks == (Lack.BUSY,)


def test_what_changed_in_the_day_before_it_began_is_named_newest_first() -> None:
    began = SLOW.since
    assert began is not None
    hours = (0.0, 1.0, 23.0, 25.0, -1.0)
    changes = [PastChange(began - timedelta(hours=h), "job", n) for n, h in enumerate(hours)]
    found = explained(disk((VICTIM, 0.9)), changes=changes)
    assert [each.number for each in found.changes] == [0, 1, 2]


def test_what_is_not_slow_needs_no_remedy_unless_an_alert_says_that_it_is() -> None:
    well, of = Timing(SpeedState.WELL, NOON), disk((VICTIM, 0.9))
    assert explained(of, offer(VICTIM), timing=well).remedies == ()
    alerted = explained(of, offer(VICTIM), timing=replace(well, is_alerted=True))
    assert [each.help for each in alerted.remedies] == [Help.ADD_CACHE]


def test_a_disk_is_explained_by_its_users_alone() -> None:
    found = explained(disk((NOISY, 0.8), (VICTIM, 0.2)), offer(NOISY), volume=None)
    assert found.cause == Cause.NEIGHBOUR
    assert [(each.help, each.volume_id) for each in found.remedies] == [
        (Help.ADD_CACHE, NOISY),
        (Help.LIMIT, NOISY),
    ]
    assert found.others_share == 1.0
