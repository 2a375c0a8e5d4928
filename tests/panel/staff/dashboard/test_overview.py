"""The first page of staff."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from jobs.engine import holds
from jobs.models import State
from jobs.problems import tallies
from jobs.queue.reservations import reserved
from panel.models import User
from panel.staff.dashboard.overview import FleetTables, Overview, fleet_tables, overview
from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts
from storage.models import Host, HostOutline, LatestSample, Placement
from storage.models.outline import HostActivity
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.scene import Scene, end, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return make.staff_user()


@pytest.fixture
def staff(client: Client, admin: User) -> Client:
    client.force_login(admin)
    return client


def page(user: User) -> Overview:
    now = timezone.now()
    return overview(user, now, tallies(now))


def tables(user: User, sort: str = "", show: str = "") -> FleetTables:
    now = timezone.now()
    return fleet_tables(user, now, tallies(now), sort, show)


def part(client: Client, **asked: str) -> str:
    """The tables of the page, as they renew themselves."""
    return client.get(reverse("overview"), {"part": "tables", **asked}).content.decode()


def attention_words(user: User) -> list[str]:
    return [item.what for item in page(user).attention]


def report(there: Scene, **facts: Any) -> None:
    """Let the host send its inventory, with these facts instead."""
    changed = dataclasses.replace(there.facts, **facts)
    apply_facts(there.host, make.inventory(changed), timezone.now())


def sampled(there: Scene, seconds_ago: float = 10, **fields: Any) -> None:
    """The volume's last sample: 600 reads in a minute, busy for half of it."""
    now = timezone.now() - timedelta(seconds=seconds_ago)
    defaults: dict[str, Any] = {
        "at": now,
        "boot_id": "boot-1",
        "boottime_ns": 1,
        "counters": {},
        "dt_ms": 60_000,
        "reads": 600,
        "writes": 60,
        "busy_ms": 30_000,
    }
    row = LatestSample.objects.create(
        volume=there.volume, host=there.host, **{**defaults, **fields}
    )
    make.activity(
        there.host,
        at=now,
        read_iops=row.reads * 1000 / row.dt_ms,
        write_iops=row.writes * 1000 / row.dt_ms,
        busy=row.busy_ms / row.dt_ms,
        busiest_id=there.volume.pk,
    )


def add_cache(there: Scene, size_bytes: int = 2 * GIB) -> dict[str, Any]:
    cache = LvmCache(name="c-aaaaaaaaaaaaaaaa", size_bytes=size_bytes)
    return Wish(there.volume.size_bytes, cache=cache).to_json()


# Needs attention


def test_a_fleet_without_problems_needs_no_attention(admin: User) -> None:
    there = scene()
    report(there)
    end(job(there))
    assert attention_words(admin) == []


def test_silent_hosts_share_a_row(admin: User) -> None:
    for _ in range(3):
        scene(host={"last_seen_at": timezone.now() - timedelta(hours=2)})
    assert attention_words(admin) == ["3 hosts are silent"]


def test_hosts_that_answer_but_are_not_sampled_share_a_row(admin: User) -> None:
    for _ in range(2):
        sampled(scene(), seconds_ago=7200)
    assert attention_words(admin) == []
    Placement.objects.update(since=timezone.now() - timedelta(hours=2))
    assert attention_words(admin) == ["2 hosts answer, but send no samples"]


def test_what_an_inventory_shows_is_listed_with_the_volumes_label(admin: User) -> None:
    there = scene(make.lv(active=False))
    report(there)
    (item,) = page(admin).attention
    assert item.subjects[0].name == f"web12 disk on {there.host.name}"
    assert item.subjects[0].url == reverse("volume", args=[there.volume.key])
    assert item.since is not None


def test_the_same_trouble_reported_by_agent_and_inventory_is_one(admin: User) -> None:
    problem = {"code": "volume_inactive", "severity": "error", "message": "off", "correction": ""}
    there = scene(make.lv(active=False), host={"problems": [problem]})
    report(there)
    assert [item.count for item in page(admin).attention] == [1]


def test_what_the_agent_reported_counts_as_long_as_there_is_no_inventory(admin: User) -> None:
    problem = {"code": "volume_inactive", "severity": "error", "message": "off", "correction": ""}
    scene(host={"problems": [problem]})
    assert attention_words(admin) == ["off"]


def test_a_difference_that_a_job_is_about_to_end_is_not_listed(admin: User) -> None:
    there = scene(make.lv(active=False))
    report(there)
    at_work = job(there)
    assert attention_words(admin) == []
    end(at_work)
    assert len(attention_words(admin)) == 1


def test_a_host_without_room_is_distinguished_from_what_is_wrong(admin: User) -> None:
    there = scene()
    report(there, pvs=(make.pv(), make.fast_pv(size_bytes=100 * GIB, free_bytes=2 * GIB)))
    assert attention_words(admin) == []
    assert page(admin).problem_count == 0
    (shortage,) = page(admin).shortages
    assert (shortage.tier, shortage.count) == ("ssd", 1)
    assert shortage.message == "2 GiB of 100 GiB SSD are free."


def test_the_overview_the_list_and_the_host_count_the_same_problems(
    staff: Client, admin: User
) -> None:
    there = scene(
        make.lv(active=False),
        host={
            "problems": [
                {"code": code, "severity": severity, "message": code, "correction": ""}
                for code, severity in (("stuck", "error"), ("no_boot_unit", "warning"))
            ]
        },
    )
    report(there)
    end(job(there), State.FAILED, error={"code": "no_space", "message": "no room."})
    assert page(admin).problem_count == 4
    assert [row.line.tally.total for row in tables(admin).rows] == [4]
    assert sum(row.count for row in page(admin).attention) == 4
    assert "4 problems" in staff.get(reverse("hosts")).content.decode()
    listed = staff.get(reverse("host", args=[there.host.key])).context["problems"]
    assert len(listed) == 4
    (shown,) = staff.get(reverse("api-hosts")).json()["items"]
    assert len(shown["problems"]) == 4


def test_an_undecided_job_is_listed_until_it_is_over(admin: User) -> None:
    undecided = job(scene(), state=State.NEEDS_ATTENTION, error={"message": "SSD away."})
    assert attention_words(admin) == ["Add cache needs a decision: SSD away."]
    end(undecided, State.CANCELLED)
    assert attention_words(admin) == []


def test_a_failed_job_is_listed_until_a_later_one_did_better(admin: User) -> None:
    there = scene()
    end(job(there), State.FAILED, error={"code": "no_space", "message": "no room."})
    assert attention_words(admin) == ["Add cache failed: no room."]
    end(job(there), State.FAILED, error={"code": "no_space", "message": "still no room."})
    assert attention_words(admin) == ["2 jobs failed: Add cache, no_space"]
    end(job(there))
    assert attention_words(admin) == []


def test_a_job_that_failed_days_ago_is_not_listed(admin: User) -> None:
    long_ago = timezone.now() - timedelta(days=3)
    end(job(scene()), State.FAILED, error={"message": "x"}, ended_at=long_ago)
    assert attention_words(admin) == []


def test_a_preview_that_failed_is_not_listed(admin: User) -> None:
    end(job(scene(), dry_run=True), State.FAILED, error={"message": "x"})
    assert attention_words(admin) == []


def test_the_global_stop_is_listed_with_its_reason(admin: User) -> None:
    scene()
    holds.stop_all(admin.pk, "new kernel")
    assert attention_words(admin) == [f"All jobs are paused by {admin}: new kernel"]


# The strip


def test_hosts_count_as_up_once_they_are_accepted_and_answer(admin: User) -> None:
    scene()
    scene(host={"last_seen_at": timezone.now() - timedelta(hours=2)})
    make.host(state="pending", host_key="")
    found = page(admin)
    assert (found.fleet.up_count, found.fleet.down_count, found.fleet.new_count) == (1, 1, 1)


def test_space_is_sold_used_reserved_or_free(admin: User) -> None:
    there = scene()
    report(there, pvs=(make.pv(), make.fast_pv(size_bytes=100 * GIB, free_bytes=40 * GIB)))
    make.activity(there.host, sold_bytes=2 * GIB)
    other = scene()
    job(other, wish=add_cache(other, 8 * GIB))
    space = page(admin).fleet.space
    assert (space.fast_total_bytes, space.sold_bytes) == (100 * GIB, 2 * GIB)
    assert (space.other_bytes, space.reserved_bytes) == (58 * GIB, 8 * GIB)
    assert space.fast_free_bytes == 40 * GIB
    assert (space.slow_total_bytes, space.slow_free_bytes) == (100 * GIB, 40 * GIB)


def test_a_reservation_ends_once_its_cache_is_there(admin: User) -> None:
    there = scene()
    job(there, wish=add_cache(there))
    assert page(admin).fleet.space.reserved_bytes == 2 * GIB
    report(there, lvs=(there.lv, make.pool("c-aaaaaaaaaaaaaaaa")))
    assert page(admin).fleet.space.reserved_bytes == 0


@pytest.mark.parametrize("asked", ["extend", "make", "move", "cache"])
def test_what_is_reserved_is_what_the_planner_keeps(admin: User, asked: str) -> None:
    size, more = 8 * GIB, 12 * GIB
    lv = make.lv(size_bytes=size, pvs=("md0",) if asked == "extend" else ("sdc",))
    there = scene(lv)
    report(there)
    wish = {
        "extend": Wish(more, tier="ssd"),
        "make": Wish(more, tier="ssd"),
        "move": Wish(size, tier="ssd"),
        "cache": Wish(size, cache=LvmCache("c-aaaaaaaaaaaaaaaa", more)),
    }[asked]
    if asked == "make":
        Placement.objects.update(lv_uuid=None, lv_name="to-come")
    job(there, wish=wish.to_json())
    kept = sum(reserved(there.host, there.facts).values())
    found = page(admin).fleet.space.reserved_bytes
    assert found == {"extend": more - size, "make": more, "move": size, "cache": more}[asked]
    # LVM's metadata of a cache is all that differs.
    assert kept - found < (GIB if asked == "cache" else 1)
    assert kept >= found


def test_the_space_of_hosts_out_of_reach_is_said_to_be_what_they_last_said(
    staff: Client, admin: User
) -> None:
    for hours in (0, 2):
        there = scene()
        report(there)
        long_ago = timezone.now() - timedelta(hours=hours)
        Host.objects.filter(pk=there.host.pk).update(last_seen_at=long_ago)
    space = page(admin).fleet.space
    assert (space.old_count, space.fast_total_bytes) == (1, 200 * GIB)
    text = staff.get(reverse("overview")).content.decode()
    assert text.count("1 host unreachable; showing its last report") == 2
    Host.objects.update(last_seen_at=timezone.now())
    assert "showing its last report" not in staff.get(reverse("overview")).content.decode()


def test_jobs_at_work_and_those_that_wait_are_counted_apart(admin: User) -> None:
    lease = timezone.now() + timedelta(minutes=1)
    job(scene(), state=State.RUNNING, lease_owner="w", lease_until=lease)
    job(scene(), state=State.WAITING)
    job(scene())
    job(scene(), dry_run=True)
    found = page(admin)
    assert found.jobs_note == "1 job running, 1 queued, 1 waiting"


def test_io_adds_up_over_hosts_that_report_and_leaves_out_the_silent(admin: User) -> None:
    sampled(scene())
    sampled(scene())
    sampled(scene(), seconds_ago=7200)
    found = page(admin)
    assert (found.fleet.read_iops, found.fleet.write_iops) == (20.0, 2.0)


def test_a_fleet_that_fell_silent_shows_its_last_figures_with_their_age(
    admin: User, staff: Client
) -> None:
    sampled(scene(), seconds_ago=7200)
    assert page(admin).fleet.read_iops == 10.0
    assert "last sample" in staff.get(reverse("overview")).content.decode()
    assert page(admin).fleet.last_at is not None


def test_a_volume_that_is_slow_now_is_named(admin: User) -> None:
    there = scene()
    assert page(admin).slowest is None
    sampled(there)
    HostActivity.objects.update(top_read_ms=[[there.volume.pk, 24.6]])
    found = page(admin)
    assert found.slowest is not None and found.slowest.label == there.volume.label
    assert not found.is_slow
    make.slow(there.volume, there.host)
    assert page(admin).is_slow


def test_without_any_sample_io_is_unknown_and_not_zero(admin: User) -> None:
    scene()
    assert page(admin).fleet.read_iops is None


# Hosts and activity


def test_hosts_with_the_worst_trouble_come_first_then_the_busiest(admin: User) -> None:
    calm, busy = scene(host={"name": "calm"}), scene(host={"name": "busy"})
    sampled(calm, busy_ms=1000)
    sampled(busy, busy_ms=50_000)
    scene(host={"name": "quiet", "last_seen_at": timezone.now() - timedelta(hours=2)})
    assert [row.line.host.name for row in tables(admin).rows] == ["quiet", "busy", "calm"]


@pytest.mark.parametrize(
    ("sort", "names"),
    [("name", ["a", "b", "c"]), ("busy", ["b", "c", "a"]), ("io", ["c", "b", "a"])],
)
def test_hosts_are_ordered_as_asked_and_unknown_figures_come_last(
    admin: User, sort: str, names: list[str]
) -> None:
    scene(host={"name": "a"})
    sampled(scene(host={"name": "b"}), busy_ms=50_000)
    sampled(scene(host={"name": "c"}), reads=6000)
    assert [row.line.host.name for row in tables(admin, sort).rows] == names


@pytest.mark.parametrize("sort", ["busy", "io", "trouble"])
def test_old_figures_put_no_host_first(admin: User, sort: str) -> None:
    sampled(scene(host={"name": "dead"}), seconds_ago=7200, busy_ms=60_000, reads=90_000)
    sampled(scene(host={"name": "well"}), busy_ms=1000, reads=10)
    assert [row.line.host.name for row in tables(admin, sort).rows] == ["well", "dead"]


def test_the_busiest_volume_of_a_host_is_named(staff: Client) -> None:
    there = scene()
    sampled(there)
    text = part(staff)
    assert "50\xa0%" in text
    assert reverse("volume", args=[there.volume.key]) in text


def test_old_figures_are_marked_and_keep_their_age(staff: Client) -> None:
    sampled(scene(), seconds_ago=7200)
    text = part(staff)
    assert 'class="is-stale"' in text
    assert "2\xa0h ago" in text


def test_activity_shows_finished_work_by_when_it_ended(admin: User) -> None:
    first, second = job(scene()), job(scene())
    end(second)
    end(first)
    assert [each.pk for each in tables(admin, show="jobs").recent] == [first.pk, second.pk]


# The page


def test_the_page_renews_its_parts_in_the_same_order(staff: Client) -> None:
    scene()
    text = staff.get(reverse("home"), {"sort": "name", "range": "7d"}).content.decode()
    assert f'hx-get="{reverse("overview")}"' in text
    assert f'hx-get="{reverse("overview")}?part=tables&sort=name&amp;range=7d"' in text
    assert f'href="{reverse("home")}?sort=io&amp;range=7d"' in text
    assert staff.get(reverse("overview")).content.decode().lstrip().startswith("<div id=")
    shown = part(staff, sort="name")
    assert shown.lstrip().startswith('<div id="fleet-tables"')
    assert "<html" not in shown


def test_the_page_shows_the_fleet_over_time(staff: Client) -> None:
    scene()
    text = staff.get(reverse("home"), {"range": "7d"}).content.decode()
    assert f'data-series-url="{reverse("fleet-series")}"' in text
    assert 'data-range="7d"' in text


def test_figures_of_different_times_say_of_which(staff: Client) -> None:
    sampled(scene())
    text = staff.get(reverse("home")).content.decode()
    assert "last 15\xa0min" in text
    assert "last hour" in text


def test_one_list_is_shown_at_a_time_and_the_address_says_which(staff: Client) -> None:
    there = scene(label="shop")
    sampled(there, reads=6000)
    top = [[there.volume.pk, 100.0]]
    HostActivity.objects.update(top_iops=top, top_read_ms=top)
    end(job(there))
    hosts = staff.get(reverse("home"), {"range": "7d"}).content.decode()
    assert 'class="top-bar"' not in hosts and 'class="job-row' not in hosts
    for show, part_of_it in (("io", "IOPS"), ("reads", "ms"), ("jobs", "job-row")):
        address = f"{reverse('home')}?show={show}&amp;range=7d"
        assert f'href="{address}"' in hosts
        text = staff.get(reverse("home"), {"show": show}).content.decode()
        assert "fleet-table" not in text.replace("fleet-tables", "")
        assert part_of_it in text[text.index('id="fleet-tables"') :] and "shop" in text
        assert f"part=tables&show={show}" in text
    assert "fleet-table" in part(staff, show="<script>")


def test_an_unknown_order_is_the_usual_one(staff: Client) -> None:
    scene()
    text = part(staff, sort="<script>")
    assert "?sort=trouble" in text
    assert "<script>" not in text


def test_hosts_with_the_least_free_ssd_come_first_when_asked(admin: User) -> None:
    for name, free in (("half", 50), ("full", 1), ("empty", 100)):
        there = scene(host={"name": name})
        HostOutline.objects.create(
            host=there.host, fast_total_bytes=100 * GIB, fast_free_bytes=free * GIB
        )
    scene(host={"name": "none"})
    names = [row.line.host.name for row in tables(admin, "ssd").rows]
    assert names == ["full", "half", "empty", "none"]


def test_a_host_out_of_reach_can_be_tried_again_in_its_row(staff: Client) -> None:
    there = scene(host={"last_seen_at": timezone.now() - timedelta(hours=2)})
    again = f'action="{reverse("host-refresh", args=[there.host.key])}"'
    assert again in staff.get(reverse("home")).content.decode()
    staff.force_login(make.staff_user(staff_role="read_only"))
    text = staff.get(reverse("home")).content.decode()
    assert again not in text
    assert reverse("host", args=[there.host.key]) in text


def test_writeback_at_risk_is_set_to_writethrough_from_its_row(staff: Client) -> None:
    there = scene()
    finding = {
        "code": "writeback_degraded", "severity": "error", "subject": "vg0/web",
        "message": "m", "correction": "c", "volume": there.volume.key, "since": "",
    }  # fmt: skip
    HostOutline.objects.create(host=there.host, findings=[finding])
    text = staff.get(reverse("home")).content.decode()
    form = text.split(f'action="{reverse("volumes-bulk")}"')[1].split("</form>")[0]
    assert f'name="volume" value="{there.volume.key}"' in form
    assert 'value="writethrough"' in form


def test_scarce_space_leads_to_the_hosts_that_are_short(staff: Client) -> None:
    for _ in range(2):
        HostOutline.objects.create(
            host=scene().host, fast_total_bytes=100 * GIB, fast_free_bytes=2 * GIB
        )
    HostOutline.objects.create(
        host=scene(host={"name": "roomy"}).host, fast_total_bytes=GIB, fast_free_bytes=GIB
    )
    text = staff.get(reverse("home")).content.decode()
    assert "2 hosts have less than 10 % of their SSD free" in text
    assert f"{reverse('hosts')}?state=ssd-short" in text
    listed = staff.get(reverse("hosts"), {"state": "ssd-short"}).content.decode()
    assert ">roomy</a>" not in listed


def test_no_page_over_all_hosts_reads_an_inventory(admin: User) -> None:
    there = scene()
    Host.objects.filter(pk=there.host.pk).update(facts={"broken": True})
    assert page(admin).fleet.host_count == 1
    assert len(tables(admin).rows) == 1


def test_neither_the_number_of_queries_nor_what_they_bring_grows(
    admin: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for n in range(2):
        with django_assert_max_num_queries(18):
            page(admin)
        with django_assert_max_num_queries(12):
            tables(admin)
        for _ in range(1 + 14 * n):
            there = scene(make.lv(active=False))
            report(there)
            sampled(there)
            end(job(there), State.FAILED, error={"message": "x"})
            job(there, wish=add_cache(there))
    with django_assert_max_num_queries(18):
        shown = page(admin)
    with django_assert_max_num_queries(12):
        assert len(tables(admin).rows) == 12
    assert HostOutline.objects.count() == 16
    assert all(len(row.subjects) <= 4 for row in shown.attention)
