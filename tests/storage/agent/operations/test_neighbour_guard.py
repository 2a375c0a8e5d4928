"""fio stands still while the other volumes on its disks are slower than they may become."""

from __future__ import annotations

import pytest

from storage.agent.operations.neighbour_guard import NeighbourGuard, NeighbourLoad
from storage.agent.operations.pace import CLASSES, Histograms
from tests.fake import FakeHost

FAST, SLOW = 20, 40
"""Classes of the histogram: the second is four doublings above the first."""


class Neighbour:
    """A volume that does so many I/Os between two looks, all of one class."""

    def __init__(self) -> None:
        self.at, self.count, self.is_blind = FAST, 100, False

    def look(self) -> Histograms | None:
        flow = [0.0] * CLASSES
        flow[self.at] = float(self.count)
        return None if self.is_blind else {"sdc": flow} if self.count else {}


@pytest.fixture
def neighbour() -> Neighbour:
    return Neighbour()


def guarded(host: FakeHost, neighbour: Neighbour, *, has_baseline: bool = True) -> NeighbourGuard:
    load = NeighbourLoad(host, neighbour.look, frozenset(("sdc",)))
    load.add()
    baseline = load.p95_ns() if has_baseline else {}
    return NeighbourGuard(host, neighbour.look, lambda: 20, baseline)


def rests_after(host: FakeHost, guard: NeighbourGuard, seconds: float) -> bool:
    rests = False
    for _ in range(int(seconds * 4)):
        beat = guard.beat()
        rests = beat.rests
        host.advance(beat.seconds)
    return rests


def test_fio_goes_on_beside_neighbours_that_feel_nothing(
    host: FakeHost, neighbour: Neighbour
) -> None:
    guard = guarded(host, neighbour)
    assert not rests_after(host, guard, 60)
    assert guard.pauses_ms == []


def test_fio_stands_still_until_they_are_as_fast_as_before(
    host: FakeHost, neighbour: Neighbour
) -> None:
    guard = guarded(host, neighbour)
    assert not rests_after(host, guard, 10)
    neighbour.at = SLOW
    assert rests_after(host, guard, 20)
    neighbour.at = FAST
    assert not rests_after(host, guard, 20)
    ((begun, ended),) = guard.pauses_ms
    assert begun < ended and not guard.has_waited_too_long


def test_half_an_hour_in_one_pause_is_too_long(host: FakeHost, neighbour: Neighbour) -> None:
    guard = guarded(host, neighbour)
    neighbour.at = SLOW
    assert rests_after(host, guard, 1700) and not guard.has_waited_too_long
    assert rests_after(host, guard, 200) and guard.has_waited_too_long
    guard.end()
    assert guard.pauses_ms[0][1] > 1_800_000


def test_one_that_begins_later_is_measured_in_a_pause_of_its_own(
    host: FakeHost, neighbour: Neighbour
) -> None:
    guard = guarded(host, neighbour, has_baseline=False)
    neighbour.count = 0
    assert not rests_after(host, guard, 20)
    neighbour.count = 100
    assert not rests_after(host, guard, 20)
    assert len(guard.pauses_ms) == 1, "how fast it is without us was measured"
    neighbour.at = SLOW
    assert rests_after(host, guard, 20)


def test_one_that_has_gone_keeps_fio_from_nothing(host: FakeHost, neighbour: Neighbour) -> None:
    guard = guarded(host, neighbour)
    neighbour.at = SLOW
    assert rests_after(host, guard, 20)
    neighbour.count = 0
    assert not rests_after(host, guard, 60)


def test_where_it_is_unknown_the_run_goes_on_and_says_so(
    host: FakeHost, neighbour: Neighbour
) -> None:
    guard = guarded(host, neighbour)
    neighbour.is_blind = True
    assert not rests_after(host, guard, 60)
    load = NeighbourLoad(host, neighbour.look, frozenset(("sdc",)))
    host.advance(5)
    load.add()
    assert load.to_json()["known"] is False


def test_what_the_others_do_is_given_per_second(host: FakeHost, neighbour: Neighbour) -> None:
    load = NeighbourLoad(host, neighbour.look, frozenset(("sdc",)))
    host.advance(10)
    load.add()
    figures = load.to_json()
    assert figures["known"] is True and figures["iops"] == 10.0
    assert figures["busy_percent"] == {"sdc": 0} and figures["p95_us"]["sdc"] > 0
