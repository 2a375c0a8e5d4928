"""Volumes that vanish from an inventory are marked, shown, and never deleted."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.problems import problems_of, tallies
from storage.discovery.ingest import apply_facts
from storage.inventory.facts import LogicalVolume
from storage.inventory.volume_parts import VolumeUser
from storage.models import Host, Placement, Volume
from tests import make

NOW = dt.datetime(2026, 11, 21, 4, 0, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(seconds=10)
LATEST = NOW + dt.timedelta(seconds=20)

pytestmark = pytest.mark.django_db


def apply(host: Host, *lvs: LogicalVolume, at: dt.datetime = NOW, **fields: object) -> None:
    apply_facts(host, make.inventory(make.facts(*lvs, **fields)), at)


def missing(host: Host) -> dict[str, dt.datetime | None]:
    placements = Placement.objects.filter(host=host)
    return dict(placements.values_list("lv_name", "missing_since"))


def test_a_vanished_volume_is_marked_once_and_kept() -> None:
    host, web, data = make.host(), make.lv("web"), make.lv("data")
    apply(host, web, data)
    apply(host, web, at=LATER)
    apply(host, web, at=LATEST)
    assert missing(host) == {"web": None, "data": LATER}
    assert Volume.objects.count() == 2


def test_a_volume_that_is_back_is_missing_no_more() -> None:
    host, web, data = make.host(), make.lv("web"), make.lv("data")
    apply(host, web, data)
    apply(host, web, at=LATER)
    apply(host, web, data, at=LATEST, stale=True)
    assert missing(host) == {"web": None, "data": None}


@pytest.mark.parametrize("fields", [{"stale": True}, {"consistent": False}])
def test_a_doubtful_inventory_marks_nothing(fields: dict[str, bool]) -> None:
    host, web = make.host(), make.lv("web")
    apply(host, web)
    apply(host, at=LATER, **fields)
    assert missing(host) == {"web": None}


def test_a_volume_still_to_be_made_is_not_missing() -> None:
    host = make.host(last_seen_at=NOW)
    make.placement(make.volume(), host, lv_name="to-come", lv_uuid=None)
    apply(host)
    assert missing(host) == {"to-come": None}
    assert tallies(NOW).get(host.pk) is None


def test_what_is_missing_is_counted_per_host() -> None:
    host, other = make.host(last_seen_at=NOW), make.host(last_seen_at=NOW)
    lvs = [make.lv(f"v{n}") for n in range(5)]
    apply(host, *lvs)
    apply(other, make.lv("alone"))
    apply(host, *lvs[:3], at=LATER)
    found = problems_of([host.pk, other.pk], LATER)
    assert found[other.pk] == ()
    (problem,) = found[host.pk]
    assert (problem.code, problem.since) == ("volumes_missing", LATER)
    assert "2 volumes are missing" in problem.message


def test_a_shrunken_inventory_is_one_error_that_says_nothing_was_deleted() -> None:
    host, lvs = make.host(last_seen_at=NOW), [make.lv(f"v{n}") for n in range(5)]
    apply(host, *lvs)
    apply(host, *lvs[:2], at=LATER)
    (problem,) = problems_of([host.pk], LATER)[host.pk]
    assert problem.severity == "error"
    assert "3 of 5 volumes are missing since 2026-11-21 04:00 UTC" in problem.message
    assert "the inventory shrank; nothing was deleted" in problem.message


def test_an_emptied_group_is_named_even_where_most_volumes_are_left() -> None:
    host, kept = make.host(last_seen_at=NOW), [make.lv(f"v{n}") for n in range(6)]
    gone = [make.lv(f"w{n}", vg_uuid="other-vg", vg_name="vg1") for n in range(2)]
    apply(host, *kept, *gone)
    apply(host, *kept, at=LATER)
    (problem,) = problems_of([host.pk], LATER)[host.pk]
    assert problem.code == "inventory_shrank"
    assert "(all of vg1)" in problem.message


def test_one_removed_volume_is_only_a_warning() -> None:
    host, web = make.host(last_seen_at=NOW), make.lv("web")
    apply(host, web)
    apply(host, at=LATER)
    (problem,) = problems_of([host.pk], LATER)[host.pk]
    assert problem.severity == "warning"
    assert "1 volume is missing" in problem.message


def test_the_guest_of_a_volume_is_kept_and_follows_the_host() -> None:
    host = make.host()
    web = make.lv("web", uuid="fixed", users=(VolumeUser("qemu", "web12", "vdb", 7),))
    apply(host, web)
    assert Volume.objects.get().guest == "web12 · vdb"
    apply(host, make.lv("web", uuid="fixed"), at=LATER)
    assert Volume.objects.get().guest == ""
