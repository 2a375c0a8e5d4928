"""How long a rebuild still takes: right within a fifth after ten minutes, whatever the disks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.inventory.disk_list import free_disks, seconds_left
from storage.inventory.facts import ArrayMember
from tests import make

SECTORS = 4 * 10**12 // 512
LIMIT_KIB = 200_000
"""The kernel's default limit of a rebuild."""

# Zones of equal speed, as hard disks have them: the share of the sectors at which each begins, and
# the speed as a share of the first zone's (the shape of published transfer diagrams of 3.5" disks).
ZONES = (
    (0.0, 1.0),
    (0.08, 0.97),
    (0.17, 0.94),
    (0.26, 0.9),
    (0.35, 0.86),
    (0.44, 0.81),
    (0.53, 0.76),
    (0.62, 0.71),
    (0.71, 0.66),
    (0.8, 0.6),
    (0.88, 0.55),
    (0.95, 0.5),
)


def zoned(first_kib: float) -> Callable[[float], float]:
    return lambda at: first_kib * [speed for begins, speed in ZONES if begins <= at][-1]


SPEEDS = {
    "evenly to a half": lambda at: 180_000 * (1 - 0.5 * at),
    "evenly to 0.42": lambda at: 260_000 * (1 - 0.58 * at),
    "evenly to 0.6": lambda at: 150_000 * (1 - 0.4 * at),
    "in zones": zoned(160_000),
    "in zones, held to the kernel's limit": lambda at: min(LIMIT_KIB, zoned(265_000)(at)),
    "slow and shared with guests": zoned(60_000),
}


def played(speed: Callable[[float], float], *, rotational: bool) -> tuple[float, float]:
    """What is said after ten minutes, and how long it really takes from then on."""
    done, seconds, said, at_said = 0.0, 0, 0.0, 0
    while done < SECTORS:
        if seconds == 600:
            members = (ArrayMember("sda1", "in_sync", "0"), ArrayMember("sdb1", "spare", "1"))
            array = make.array(
                members=members,
                sync_action="recover",
                sync_done_sectors=int(done),
                sync_total_sectors=SECTORS,
                sync_speed_kib=int(speed(done / SECTORS)),
            )
            disks = tuple(make.disk(name, rotational=rotational) for name in ("sda", "sdb"))
            facts = make.facts(disks=disks, arrays=(array,))
            left = seconds_left(facts, array)
            assert left is not None
            said, at_said = left, seconds
        done += speed(done / SECTORS) * 2 * 10
        seconds += 10
    return said, seconds - at_said


@pytest.mark.parametrize("name", SPEEDS)
def test_after_ten_minutes_the_time_left_is_right_within_a_fifth(name: str) -> None:
    said, real = played(SPEEDS[name], rotational=True)
    assert abs(said - real) <= 0.2 * real, (said, real)


def test_at_the_speed_of_the_moment_it_would_be_too_short() -> None:
    """Why the inner tracks count: as if the disks did not rotate."""
    said, real = played(SPEEDS["evenly to a half"], rotational=False)
    assert said < 0.75 * real


def test_disks_without_tracks_keep_their_speed() -> None:
    said, real = played(lambda at: 400_000, rotational=False)
    assert abs(said - real) <= 0.01 * real


def test_without_a_speed_nothing_is_said() -> None:
    facts = make.facts(arrays=(make.array(sync_action="recover", sync_speed_kib=0),))
    assert seconds_left(facts, facts.arrays[0]) is None


def test_a_disk_is_free_only_where_nothing_uses_it_and_large_enough() -> None:
    members = (ArrayMember("sda1", "in_sync", "0"),)
    disks = tuple(make.disk(name, size_bytes=100) for name in ("sda", "sdb", "sdc"))
    facts = make.facts(disks=disks, arrays=(make.array(members=members),), pvs=(make.pv("sdb"),))
    assert free_disks(facts, 100) == ("sdc",)
    assert free_disks(facts, 101) == ()
