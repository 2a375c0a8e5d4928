"""Disks that have more to do than they can, and the volumes that are slow by it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from jobs.problems import Problem, problems_of
from jobs.slow_reasons import reasons_of_volume
from storage.analysis.disk_condition import judge_disks, judge_volumes
from storage.analysis.slowness.explanation import Cause, SlowExplanation
from storage.metrics.samples import record_sample
from storage.models import (
    CacheCondition,
    CachePlan,
    Device,
    Host,
    Placement,
    TagLimit,
    Volume,
)
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples import rounds
from tests.storage.metrics.samples.rounds import noon_gone, placed

pytestmark = pytest.mark.django_db
NOON = rounds.NOON - timedelta(days=1)
"""As of `noon_gone`: in the morning too, all lies in the past of the database's clock."""


@pytest.fixture
def host() -> Host:
    return make.host(last_seen_at=noon_gone())


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def problems(host: Host) -> list[Problem]:
    return list(problems_of([host.pk], NOON)[host.pk])


def disks_sampled(host: Host, lv_uuid: str, minute: int, share: float) -> None:
    """A round with an HDD and an SSD that have been busy that share of all time, each."""
    busy_ms = round(60_000 * minute * share)
    full = wire.disk(reads=1000 * minute, busy_ms=busy_ms, weighted_ms=20 * busy_ms)
    data = {
        "volumes": [wire.volume(lv_uuid)],
        "disks": [{"name": "sda", "disk": full}, {"name": "sdb", "disk": full}],
    }
    record_sample(host, data, wire.stamp(3600 + 60 * minute), at(minute))


@pytest.mark.parametrize("share", [0.99, 0.9])
def test_an_ssd_that_is_busy_all_the_time_is_found_and_an_hdd_without_users_is_not(
    host: Host, share: float
) -> None:
    facts = make.facts(
        disks=(make.disk("sda", rotational=True), make.disk("sdb", rotational=False))
    )
    Host.objects.update(facts=make.inventory(facts))
    _, lv_uuid = placed(host)
    for minute in range(21):
        disks_sampled(host, lv_uuid, minute, share)
        if minute % 5 == 0:
            judge_disks(at(minute))

    assert [(each.code, each.subject) for each in problems(host)] == (
        [("ssd_saturated", "sdb")] if share == 0.99 else []
    )
    row = CacheCondition.objects.get(volume=None)
    assert len(row.noted["disks"]) <= 5
    for minute in range(21, 26):
        disks_sampled(host, lv_uuid, minute, share * 21 / minute)
    judge_disks(at(25))
    assert problems(host) == []


class Neighbours:
    """Two volumes on the HDD sdc of a host, `noisy` and `calm`."""

    def __init__(self, host: Host) -> None:
        self.host = host
        noon_gone()
        lvs = [make.lv("noisy"), make.lv("calm")]
        self.uuids = [lv.uuid for lv in lvs]
        Host.objects.update(facts=make.inventory(make.facts(*lvs)))
        for lv in lvs:
            volume = make.volume(label=lv.name)
            make.placement(volume, host, lv_uuid=lv.uuid, lv_name=lv.name)
        Placement.objects.update(since=at(-60))
        Device.objects.create(
            host=host, kind="disk", identity="sdc", name="sdc", boot_id=wire.stamp(0)["boot_id"],
            size_bytes=1, is_fast=False,
        )  # fmt: skip
        self.minute = 0.0
        self.noisy, self.calm, self.disk = [0, 0], [0, 0], [0, 0]
        self.record()

    def record(self) -> None:
        volumes = [
            wire.volume(uuid, disk=wire.disk(reads=reads, read_sectors=8 * reads, read_ms=took_ms))
            for uuid, (reads, took_ms) in zip(self.uuids, (self.noisy, self.calm), strict=True)
        ]
        busy_ms, io_ms = self.disk
        reads = self.noisy[0] + self.calm[0]
        disk = wire.disk(reads=reads, read_ms=io_ms, busy_ms=busy_ms, weighted_ms=io_ms)
        data = {"volumes": volumes, "disks": [{"name": "sdc", "disk": disk}]}
        record_sample(self.host, data, wire.stamp(3600 + round(60 * self.minute)), at(self.minute))

    def works(self, seconds: int, calm_ms: float, *, noisy: int = 0, calm: int = 1200) -> None:
        """So many seconds until the next sample, in which `calm` makes so many reads that take so
        long, and `noisy` so many of 50 ms; both are of a minute."""
        self.minute = round(self.minute + seconds / 60, 6)
        share = seconds / 60
        calm_io_ms, noisy_io_ms = round(calm_ms * calm * share), round(50 * noisy * share)
        self.noisy = [self.noisy[0] + round(noisy * share), self.noisy[1] + noisy_io_ms]
        self.calm = [self.calm[0] + round(calm * share), self.calm[1] + calm_io_ms]
        busy_ms = round((57_000 if noisy else 6_000) * share)
        self.disk = [self.disk[0] + busy_ms, self.disk[1] + calm_io_ms + noisy_io_ms]
        self.record()

    def minutes(self, count: int, calm_ms: float, *, noisy: int = 0, calm: int = 1200) -> None:
        """So many minutes go by with one sample each, which is judged."""
        for _ in range(count):
            self.works(60, calm_ms, noisy=noisy, calm=calm)
            judge_volumes(at(self.minute))
            if self.minute % 5 == 0:
                judge_disks(at(self.minute))

    def explained(self) -> SlowExplanation:
        """Why `calm` is slow, for staff."""
        volume = Volume.objects.get(label="calm")
        [row] = snapshots_of([volume])
        user = make.staff_user()
        return reasons_of_volume(row, user, at(self.minute)).explanation

    def slow(self) -> dict[str, Problem]:
        return {each.subject_label: each for each in self.found("volume_slow")}

    def found(self, code: str) -> list[Problem]:
        return [each for each in problems(self.host) if each.code == code]


@pytest.fixture
def neighbours(host: Host) -> Neighbours:
    return Neighbours(host)


def test_a_volume_that_a_neighbour_slows_is_found_in_two_minutes_and_the_neighbour_is_named(
    neighbours: Neighbours,
) -> None:
    neighbours.minutes(5, 5)
    assert problems(neighbours.host) == []
    neighbours.minutes(1, 24, noisy=6000)
    assert neighbours.slow() == {}
    neighbours.minutes(1, 24, noisy=6000)
    found = neighbours.slow()
    assert set(found) == {"noisy", "calm"}
    assert found["calm"].severity == "warning"
    assert found["calm"].message == (
        "Reads of calm have been slow for 2 min: 24.0 ms on average (20 ms is slow). "
        "In the last sample: 24.0 ms. sdc is 95 % busy: noisy 91.2 %, calm 8.8 %."
    )
    assert (found["calm"].since, found["calm"].until) == (at(5), None)
    assert found["calm"].correction.startswith("noisy uses sdc most.")
    assert found["noisy"].correction == found["calm"].correction
    assert {(each.waits_for, each.is_culprit) for each in found.values()} == {
        ("sdc", True),
        ("sdc", False),
    }


def test_the_minute_in_which_a_load_began_does_not_say_how_busy_the_disk_is(
    neighbours: Neighbours,
) -> None:
    neighbours.minutes(5, 5)
    neighbours.works(30, 5)
    neighbours.works(30, 60, noisy=6000)
    neighbours.minutes(1, 24, noisy=6000)
    assert "sdc is 95 % busy" in neighbours.slow()["calm"].message
    found = neighbours.explained()
    assert found.disk is not None and found.disk.busy == 0.95


def test_it_lasts_until_the_reads_have_been_well_for_five_minutes(neighbours: Neighbours) -> None:
    neighbours.minutes(3, 24)
    begun = neighbours.slow()["calm"].since
    neighbours.minutes(4, 10)
    neighbours.minutes(1, 17)
    neighbours.minutes(4, 10)
    last = neighbours.slow()["calm"]
    assert (last.since, last.until) == (begun, at(8))
    assert last.message.startswith(
        "Reads of calm were slow for at least 8 min, until 4 min ago: 16.1 ms on average (slow "
        "from 20 ms until below 15 ms for 5 min). In the last sample: 10.0 ms. sdc was "
    )
    neighbours.minutes(1, 10)
    assert neighbours.slow() == {}
    assert not CacheCondition.objects.filter(noted__has_key="slow").exists()


def test_single_quick_samples_do_not_hide_a_volume_that_is_slow_on_average(
    neighbours: Neighbours,
) -> None:
    neighbours.minutes(5, 5)
    for n in range(60):
        neighbours.works(10, 19 if n % 3 == 0 else 23.5, noisy=6000)
        if n % 2:
            judge_volumes(at(neighbours.minute))
    found = neighbours.slow()["calm"]
    assert found.since is not None and abs(found.since - at(5)) < timedelta(seconds=1)
    assert "slow for 10 min: 22.0 ms on average" in found.message
    assert neighbours.explained().timing.since == found.since


def test_what_is_judged_only_now_began_when_it_was_slow(neighbours: Neighbours) -> None:
    neighbours.minutes(5, 5)
    for _ in range(30):
        neighbours.works(60, 24, noisy=6000)
    judge_volumes(at(35))
    found = neighbours.slow()["calm"]
    explained = neighbours.explained()
    assert found.since == explained.timing.since == at(5)
    assert "slow for 30 min" in found.message and not explained.timing.is_older


def test_a_slow_time_of_one_minute_is_explained_by_that_minute_alone(
    neighbours: Neighbours,
) -> None:
    neighbours.minutes(10, 5)
    neighbours.minutes(1, 24, noisy=6000)
    found = neighbours.explained()
    assert found.cause == Cause.NEIGHBOUR
    assert found.speed is not None and found.speed.read_ms == 24.0
    assert found.disk is not None and found.disk.busy == 0.95


def test_a_slow_time_is_known_for_longer_than_figures_are_looked_at(
    neighbours: Neighbours,
) -> None:
    neighbours.minutes(1, 5)
    for _ in range(7 * 12):
        neighbours.works(300, 24, calm=1200)
        judge_volumes(at(neighbours.minute))
    found = neighbours.slow()["calm"]
    explained = neighbours.explained()
    assert found.since == explained.timing.since == at(1)
    assert "slow for 7 h:" in found.message


def test_one_slow_minute_is_no_problem_and_a_few_slow_reads_are_none(
    neighbours: Neighbours,
) -> None:
    for calm_ms in (24, 19, 24, 5):
        neighbours.minutes(1, calm_ms)
    neighbours.minutes(5, 900, calm=50)
    assert neighbours.slow() == {}


def test_what_was_found_of_a_host_that_falls_silent_stays(neighbours: Neighbours) -> None:
    neighbours.minutes(3, 24)
    judge_volumes(at(60))
    assert set(neighbours.slow()) == {"calm"}


def test_a_volume_that_left_the_host_is_not_slow_there(neighbours: Neighbours) -> None:
    neighbours.minutes(3, 24, noisy=6000)
    Placement.objects.filter(lv_name="calm").update(until=at(3))
    neighbours.minutes(1, 24, noisy=6000)
    assert set(neighbours.slow()) == {"noisy"}


def test_an_hdd_that_keeps_its_users_waiting_is_found_with_their_names(
    neighbours: Neighbours,
) -> None:
    neighbours.minutes(20, 24, noisy=6000)
    (found,) = neighbours.found("hdd_saturated")
    assert found.subject == "sdc"
    assert found.message.startswith("The HDD sdc is 95 % busy: noisy 91.2 %, calm 8.8 %")
    neighbours.minutes(20, 5)
    assert neighbours.found("hdd_saturated") == []


def test_an_hdd_that_is_busy_for_one_reader_is_not_saturated(host: Host) -> None:
    facts = make.facts(disks=(make.disk("sda", rotational=True),))
    Host.objects.update(facts=make.inventory(facts))
    _, lv_uuid = placed(host)
    for minute in range(21):
        busy_ms = 60_000 * minute
        disk = wire.disk(reads=1000 * minute, busy_ms=busy_ms, weighted_ms=busy_ms)
        data = {"volumes": [wire.volume(lv_uuid)], "disks": [{"name": "sda", "disk": disk}]}
        record_sample(host, data, wire.stamp(3600 + 60 * minute), at(minute))
        judge_disks(at(minute))
    assert problems(host) == []


def test_a_plan_and_a_tag_have_limits_of_their_own_for_slow_reads(neighbours: Neighbours) -> None:
    TagLimit.objects.create(tag="nvme", slow_read_ms=5)
    Host.objects.update(tags=["nvme"])
    neighbours.minutes(3, 6)
    assert "6.00 ms on average (5 ms is slow)" in neighbours.slow()["calm"].message
    bought = CachePlan.objects.create(
        name="Archive", size_bytes=2**30, price_minor=0, currency="EUR", slow_read_ms=50
    )
    Volume.objects.filter(label="calm").update(cache_plan=bought)
    neighbours.minutes(6, 6)
    assert neighbours.slow() == {}


def test_a_host_has_limits_of_its_own_for_slow_reads_and_busy_hdds(neighbours: Neighbours) -> None:
    Host.objects.update(slow_read_ms=5, busy_percent=97)
    neighbours.minutes(3, 6)
    assert "6.00 ms on average (5 ms is slow)" in neighbours.slow()["calm"].message
    neighbours.minutes(6, 4)
    assert set(neighbours.slow()) == {"calm"}
    neighbours.minutes(6, 3)
    assert neighbours.slow() == {}
    neighbours.minutes(20, 24, noisy=6000)
    assert neighbours.found("hdd_saturated") == []
