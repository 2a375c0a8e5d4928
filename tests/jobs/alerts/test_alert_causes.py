"""One alert for each cause, and what it stands for."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.alerts.alert_rules import SeenProblem
from tests.jobs.alerts.rounds import ARRAY, SILENT, World, problem


def test_the_volumes_of_an_array_come_with_its_alert() -> None:
    world = World()
    volumes = [
        problem("writeback_degraded", volume_key=f"v{n}", subject=f"vg0/v{n}") for n in range(30)
    ]
    world.begin(ARRAY, *volumes)
    assert world.passes(minutes=20) == ["opened"]
    assert {world.alerts[each.fingerprint].cause for each in volumes} == {ARRAY.fingerprint}
    world.end(ARRAY, *volumes)
    assert world.passes(minutes=20) == ["resolved"]


def test_the_disk_that_is_busy_comes_with_the_volume_that_is_slow() -> None:
    """Whichever was seen first: the slow volume names its disk, and who uses that."""
    world = World()
    disk = problem("hdd_saturated", subject="sdc", rank=2)
    slow = problem("volume_slow", subject="vg0/v1", volume_key="v1", rank=2)
    world.begin(disk)
    world.passes(seconds=20)
    world.begin(slow)
    assert world.passes(minutes=5) == ["opened"]
    assert world.alerts[disk.fingerprint].cause == slow.fingerprint


REBUILD = problem("array_recovering", subject="md0", rank=2)
ON_ONE_LEG = problem("writeback_degraded", volume_key="v1", subject="vg0/v1")


def test_an_alert_is_as_grave_as_the_gravest_that_follows_from_it() -> None:
    world = World()
    world.begin(REBUILD, ON_ONE_LEG)
    assert world.passes(seconds=20) == ["opened"]
    assert world.alerts[REBUILD.fingerprint].worst_rank == 0
    # It stays unacknowledged.
    assert world.passes(minutes=31) == ["escalated"]
    world.end(ON_ONE_LEG)
    world.passes(minutes=5)
    assert world.alerts[REBUILD.fingerprint].seen.rank == 2


def test_data_at_risk_that_joins_a_warning_notifies() -> None:
    world = World()
    world.begin(REBUILD)
    assert world.passes(minutes=5) == ["opened"]
    world.acknowledge(REBUILD)
    world.begin(ON_ONE_LEG)
    assert world.passes(minutes=5) == ["worsened"]
    assert world.alerts[REBUILD.fingerprint].seen.severity == "error"


def test_an_array_that_is_rebuilt_stays_one_alert_with_its_volumes() -> None:
    world = World()
    world.begin(ARRAY, ON_ONE_LEG)
    assert world.passes(minutes=20) == ["opened"]
    world.begin(REBUILD)
    assert world.passes(minutes=5) == []
    assert world.alerts[REBUILD.fingerprint].seen.rank == 0
    world.end(REBUILD, ON_ONE_LEG)
    assert world.passes(minutes=20) == ["resolved"]


def test_data_at_risk_under_a_warning_of_a_host_that_fell_silent_notifies() -> None:
    world = World()
    world.begin(SILENT, REBUILD, ON_ONE_LEG)
    assert "opened" in world.passes(seconds=60)
    opened = {fingerprint for fingerprint, _ in world.notified}
    assert opened & {REBUILD.fingerprint, ON_ONE_LEG.fingerprint}


def test_volumes_that_lose_their_ssd_together_are_one_alert() -> None:
    world = World()
    volumes = [problem("ssd_lost", volume_key=f"v{n}", subject=f"vg0/v{n}") for n in range(30)]
    for each in volumes:
        world.begin(each)
        world.passes(seconds=20)
    assert [kind for _, kind in world.notified] == ["opened"]


def test_what_outlasts_its_cause_notifies_after_a_while() -> None:
    world = World()
    volume = problem("volume_inactive", volume_key="v1", subject="vg0/web")
    group = problem("pv_missing", subject="vg0")
    world.begin(group, volume)
    assert world.passes(minutes=5) == ["opened"]
    world.end(group)
    assert world.passes(minutes=4) == ["resolved"]
    assert world.passes(minutes=6) == ["remains"]
    world.end(volume)
    assert world.passes(minutes=6) == ["resolved"]


def test_a_cause_takes_what_it_brought_with_it() -> None:
    world = World()
    volume = problem("volume_inactive", volume_key="v1", subject="vg0/web")
    group = problem("pv_missing", subject="vg0")
    world.begin(group, volume)
    world.passes(minutes=5)
    world.end(group)
    world.passes(minutes=4)
    world.end(volume)
    assert world.passes(minutes=30) == []
    assert world.alerts == {}


def test_what_comes_long_after_a_problem_has_a_reason_of_its_own() -> None:
    world = World()
    world.begin(ARRAY)
    world.passes(hours=1)
    world.acknowledge(ARRAY)
    world.begin(problem("writeback_degraded", volume_key="v1", subject="vg0/v1"))
    assert world.passes(minutes=2) == ["opened"]


def test_dirty_data_that_does_not_drain_takes_its_time_to_reach_the_limit() -> None:
    world = World()
    stuck = problem("cache_dirty_stuck", volume_key="v1", rank=2)
    high = problem("cache_dirty_high", volume_key="v1", rank=2)
    world.begin(stuck)
    assert world.passes(hours=2) == ["opened"]
    world.begin(high)
    assert world.passes(hours=1) == []
    world.end(stuck, high)
    assert world.passes(hours=1) == ["resolved"]


@pytest.mark.parametrize(
    ("cause", "effect", "count"),
    [
        ("cache_thrash", "cache_useless", 1),
        ("cache_thrash", "hit_rate_fell", 1),
        ("cache_dirty_stuck", "cache_dirty_high", 1),
        ("cache_bypassed", "hit_rate_fell", 1),
        ("hit_rate_fell", "hit_rate_below_usual", 1),
        ("cache_failed", "hit_rate_doubtful", 1),
        ("cache_needs_check", "cache_read_only", 1),
        ("ssd_lost", "volume_frozen", 1),
        ("cache_thrash", "cache_dirty_high", 2),
        ("cache_useless", "cache_metadata_full", 2),
    ],
)
def test_what_follows_from_another_trouble_of_the_cache_is_no_alert_of_its_own(
    cause: str, effect: str, count: int
) -> None:
    world = World()
    place = {"volume_key": "v1", "subject": "vg0/web"}
    world.begin(problem(cause, **place), problem(effect, rank=2, **place))
    assert world.passes(minutes=2) == ["opened"] * count


def test_a_frozen_volume_follows_from_a_disk_that_its_group_misses() -> None:
    world = World()
    frozen = problem("volume_frozen", volume_key="v1", subject="vg0/web")
    world.begin(problem("pv_missing", subject="vg0"), frozen)
    assert world.passes(minutes=2) == ["opened"]


def test_volumes_slowed_by_a_saturated_ssd_come_with_its_alert() -> None:
    world = World()
    slow = [problem("cache_slower", rank=2, volume_key=f"v{n}", subject=f"g/{n}") for n in range(9)]
    world.begin(problem("ssd_saturated", rank=2, subject="sdb"), *slow)
    assert world.passes(minutes=2) == ["opened"]


def test_findings_of_one_disk_are_one_alert() -> None:
    world = World()
    codes = ("pending_rose", "uncorrectable_rose", "disk_failing")
    world.begin(*(problem(code, subject="sdb") for code in codes))
    world.begin(problem("pending_rose", subject="sdc"))
    assert world.passes(minutes=2) == ["opened", "opened"]


def test_when_most_hosts_fall_silent_one_alert_stands_for_all() -> None:
    world = World(hosts=10)
    world.begin(*(problem("silent", host=n) for n in range(8)))
    assert world.passes(minutes=10) == ["opened"]
    few = World(hosts=10)
    few.begin(*(problem("silent", host=n) for n in range(2)))
    assert few.passes(minutes=10) == ["opened", "opened"]


def test_a_host_in_maintenance_stands_for_no_others_that_fall_silent() -> None:
    world = World(hosts=10, maintained={0})
    world.begin(problem("silent", host=0))
    world.passes(minutes=5)
    world.begin(*(problem("silent", host=n) for n in range(1, 8)))
    assert world.passes(minutes=10) == ["opened"]


def slow_volume(name: str, disk: str, **fields: Any) -> SeenProblem:
    return problem(
        "volume_slow", rank=2, volume_key=name, subject=f"g/{name}", waits_for=disk, **fields
    )


def test_slow_volumes_are_one_alert_where_they_wait_for_the_same_disk() -> None:
    world = World()
    mail, web = slow_volume("a-mail", "sdc"), slow_volume("web", "sdc", is_culprit=True)
    elsewhere = slow_volume("db", "sdd", is_culprit=True)
    world.begin(mail, web, elsewhere)
    assert world.passes(seconds=20) == ["opened", "opened"]
    # The one that keeps the disk busy leads.
    assert world.alerts[mail.fingerprint].cause == web.fingerprint
    assert world.alerts[web.fingerprint].cause == world.alerts[elsewhere.fingerprint].cause == ""


def test_who_keeps_the_disk_busy_sends_no_second_message_after_a_volume_that_waits() -> None:
    world = World()
    mail, web = slow_volume("mail", "sdc"), slow_volume("web", "sdc", is_culprit=True)
    world.begin(mail)
    assert world.passes(seconds=20) == ["opened"]
    world.begin(web)
    assert world.passes(minutes=1) == []
    assert world.alerts[web.fingerprint].cause == mail.fingerprint


def test_a_busy_disk_does_not_come_with_a_volume_that_waits_for_another_one() -> None:
    world = World()
    disk = problem("hdd_saturated", subject="sdc", rank=2)
    world.begin(slow_volume("db", "sdd"), disk)
    assert world.passes(minutes=20) == ["opened", "opened"]
