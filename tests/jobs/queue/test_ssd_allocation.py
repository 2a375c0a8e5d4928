"""The SSD of a host is divided anew by one change, in which space is freed before it is used."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import BulkChange, Job, Kind, State
from jobs.queue import bulk
from jobs.queue.ssd_allocation import allocation_of
from storage.analysis.size_forecasts import packed_forecasts
from storage.byte_sizes import GIB
from storage.models import CachePlan, Host, SizeForecast, Volume
from tests import make
from tests.allocation_scene import OVERSIZED, WAITING, Part, allocation_scene, also
from tests.jobs.bulking import begun, confirmed, text_of, work_off
from tests.scene import end, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def previewed(staff: Client, host: Host) -> Any:
    return staff.post(reverse("host-allocation-preview", args=[host.key]))


def proposals(host: Host) -> dict[str, tuple[int, int]]:
    """By label, GiB now and proposed."""
    found = allocation_of(host, timezone.now())
    return {
        each.row.volume.label: (each.now.size_bytes // GIB, each.proposed.size_bytes // GIB)
        for group in found.groups
        for each in group.shares
    }


def why(host: Host, label: str) -> str:
    found = allocation_of(host, timezone.now())
    return next(
        each.why for group in found.groups for each in group.shares
        if each.row.volume.label == label
    )  # fmt: skip


def test_a_cache_larger_than_its_volume_needs_gives_way_to_one_that_waits() -> None:
    host, _ = allocation_scene(WAITING, OVERSIZED)
    assert proposals(host) == {"archive": (16, 4), "mail": (0, 8)}


def plan_of(gib: int) -> CachePlan:
    return CachePlan.objects.create(
        name="Large", size_bytes=gib * GIB, price_minor=900, currency="EUR"
    )


def test_what_was_sold_is_never_cut() -> None:
    host, _ = allocation_scene(WAITING, also(OVERSIZED, fields={"cache_plan": plan_of(16)}))
    assert proposals(host) == {"archive": (16, 16), "mail": (0, 0)}
    assert why(host, "archive").startswith("Its plan is Large")


def test_a_volume_gets_no_more_than_its_customer_pays_for() -> None:
    sold = also(WAITING, fields={"cache_plan": plan_of(4)}, cache_gib=4, hours={4: 0, 8: 9, 16: 9})
    host, _ = allocation_scene(sold, also(WAITING, label="web"), free_gib=40)
    assert proposals(host) == {"mail": (4, 4), "web": (0, 16)}
    assert why(host, "mail") == "Its plan is Large: less is not proposed, and more is for sale."


def test_what_was_sold_and_is_not_there_is_proposed() -> None:
    host, _ = allocation_scene(also(WAITING, fields={"cache_plan": plan_of(4)}), free_gib=40)
    assert proposals(host) == {"mail": (0, 4)}


def test_more_than_was_sold_is_cut_to_that_where_it_helps_little() -> None:
    large = also(OVERSIZED, fields={"cache_plan": plan_of(4)})
    host, _ = allocation_scene(large)
    assert proposals(host) == {"archive": (16, 4)}


def test_a_volume_without_a_forecast_keeps_what_it_has_and_says_why() -> None:
    host, _ = allocation_scene(WAITING, Part(label="archive", cache_gib=16))
    assert proposals(host) == {"archive": (16, 16), "mail": (0, 0)}
    assert "a forecast needs 6 h" in why(host, "archive")


def test_where_no_heat_is_counted_the_sentence_says_what_to_do() -> None:
    host, _ = allocation_scene(Part(label="archive", cache_gib=16))
    Host.objects.filter(pk=host.pk).update(hello={**host.hello, "heat": {"state": "stopped"}})
    assert why(host, "archive") == (
        f"{host.name}: the unit tiercel-heat does not run. "
        "On the host: systemctl status tiercel-heat"
    )


def test_a_change_that_only_writes_less_says_what_it_costs() -> None:
    host, _ = allocation_scene(also(OVERSIZED, hours={0: -5, 4: -2, 16: 0}))
    made = make.physical_disk(host, name="md0", device="/dev/nvme0")
    made.entered_rated_bytes = GIB * 5 * 365
    made.save()
    found = allocation_of(host, timezone.now())
    assert [each.proposed.size_bytes for each in found.changes] == [0]
    assert found.groups[0].verdict.startswith(
        "The SSDs wear too fast. What is proposed writes less"
    )
    assert found.groups[0].verdict.endswith("costs 4.5 h to 5.5 h of waiting a day.")


def test_what_may_not_be_cut_and_what_is_to_grow_is_not_called_too_large() -> None:
    large = Part(label="archive", hours={0: -5, 20: -5, 24: 0}, cache_gib=24)
    sold = also(large, fields={"cache_plan": plan_of(24)})
    growing = also(large, hours={**large.hours, 32: 9})
    enough = []
    for each in (large, sold, growing):
        host, _ = allocation_scene(each, free_gib=20)
        (cache,) = allocation_of(host, timezone.now()).yields
        enough.append(cache.enough.size_bytes // GIB if cache.enough is not None else None)
    assert enough == [20, None, None]


def test_a_forecast_of_another_cache_says_nothing() -> None:
    host, volumes = allocation_scene(WAITING, OVERSIZED)
    SizeForecast.objects.filter(volume=volumes[1]).update(cache_bytes=2 * GIB)
    assert proposals(host)["archive"] == (16, 16)
    assert why(host, "archive").startswith("Its cache was changed since.")


def test_a_forecast_of_other_technologies_says_nothing() -> None:
    host, volumes = allocation_scene(WAITING, OVERSIZED)
    SizeForecast.objects.filter(volume=volumes[1]).update(forecasts=packed_forecasts({}))
    assert proposals(host)["archive"] == (16, 16)
    assert why(host, "archive") == "The volume read too little for a forecast."


def test_a_host_that_counts_no_heat_says_what_to_do_about_it() -> None:
    host, _ = allocation_scene(Part(label="archive", cache_gib=16))
    Host.objects.filter(pk=host.pk).update(hello={**host.hello, "heat": {"state": "stopped"}})
    host.refresh_from_db()
    assert why(host, "archive") == (
        f"{host.name}: the unit tiercel-heat does not run. "
        "On the host: systemctl status tiercel-heat"
    )


def test_a_volume_that_a_job_changes_is_left_alone() -> None:
    host, volumes = allocation_scene(WAITING, OVERSIZED)
    there = scene()
    job(there, host=host, volume=volumes[1])
    assert proposals(host)["archive"] == (16, 16)
    assert why(host, "archive") == "A job is changing the volume."


def test_writeback_is_not_proposed_where_one_ssd_alone_would_have_new_data() -> None:
    # Without a cache and a plan the mode is writethrough.
    host, _ = allocation_scene(WAITING, free_gib=20, ssd={"redundant": False})
    assert proposals(host) == {"mail": (0, 16)}
    plan = CachePlan.objects.create(
        name="Fast", size_bytes=8 * GIB, mode="writeback", price_minor=900, currency="EUR"
    )
    host, _ = allocation_scene(
        also(WAITING, fields={"cache_plan": plan}), free_gib=20, ssd={"redundant": False}
    )
    assert proposals(host) == {"mail": (0, 0)}
    host, _ = allocation_scene(also(WAITING, fields={"cache_plan": plan}), free_gib=20)
    assert proposals(host) == {"mail": (0, 8)}


def test_a_group_that_root_does_not_allow_is_shown_and_left_alone() -> None:
    host, _ = allocation_scene(WAITING, free_gib=20, vgs=(make.vg(allowed=False),))
    found = allocation_of(host, timezone.now())
    assert not found.changes
    assert found.groups[0].verdict == "Root on the host does not let Tiercel change vg0."
    assert found.groups[0].next_ssds == ()


def test_the_wear_of_ssds_whose_endurance_is_known_is_held_to_five_years() -> None:
    host, _ = allocation_scene(WAITING, also(WAITING, label="shop"), free_gib=40)
    made = make.physical_disk(host, name="md0", device="/dev/nvme0")
    found = allocation_of(host, timezone.now())
    assert len(found.changes) == 2
    made.entered_rated_bytes = 15 * GIB * 5 * 365
    made.save()
    found = allocation_of(host, timezone.now())
    assert len(found.changes) == 1
    assert found.groups[0].room.wear_bytes_per_day == 15 * GIB


def test_one_more_ssd_says_what_it_would_save_and_where() -> None:
    host, _ = allocation_scene(WAITING)
    found = allocation_of(host, timezone.now())
    (offer,) = found.groups[0].next_ssds
    assert (offer.name, offer.saved_text) == ("480 GB", "8.0 h")
    assert [row.volume.label for row in offer.rows] == ["mail"]


def test_space_is_freed_before_it_is_used(staff: Client) -> None:
    host, volumes = allocation_scene(WAITING, OVERSIZED)
    page = previewed(staff, host)
    assert page.context["good_count"] == 2
    drafts = page.context["drafts"]
    assert [each.row.volume for each in drafts] == [volumes[1], volumes[0]]
    assert drafts[0].fingerprint and not drafts[1].fingerprint
    began = begun(staff, page)
    work_off()
    (first,) = Job.objects.all()
    assert (first.kind, first.volume) == (Kind.REPLACE_CACHE, volumes[1])
    work_off()
    assert Job.objects.count() == 1
    end(first)
    work_off()
    result = text_of(staff.get(began.url))
    # The inventory is still the old one, so that there is no room: the second is refused alone.
    assert Job.objects.count() == 1
    assert "1 not done" in result and "needs" in result, BulkChange.objects.get().outcomes


def test_with_room_for_all_each_gets_its_job(staff: Client) -> None:
    host, volumes = allocation_scene(WAITING, also(WAITING, label="shop"), free_gib=40)
    begun(staff, previewed(staff, host))
    for _ in volumes:
        work_off()
        for each in Job.objects.unfinished():
            end(each)
    made = Job.objects.order_by("pk")
    assert [each.kind for each in made] == [Kind.ADD_CACHE] * 2
    assert [each.wish["cache"]["size_bytes"] for each in made] == [16 * GIB] * 2
    assert not bulk.due_changes()


def test_a_job_that_waits_for_a_person_does_not_hold_up_the_others(staff: Client) -> None:
    host, _ = allocation_scene(WAITING, also(WAITING, label="shop"), free_gib=40)
    begun(staff, previewed(staff, host))
    work_off()
    Job.objects.update(state=State.NEEDS_ATTENTION)
    work_off()
    assert Job.objects.count() == 2


def test_a_cache_that_was_changed_since_the_preview_is_left_as_it_is(staff: Client) -> None:
    host, volumes = allocation_scene(WAITING, OVERSIZED)
    page = previewed(staff, host)
    data = Host.objects.get(pk=host.pk).facts
    for lv in data["lvs"]:
        if lv["cache"]:
            lv["cache"]["pool"] = "c-another"
    Host.objects.filter(pk=host.pk).update(facts=data)
    assert "changed since the preview" in text_of(confirmed(staff, page))
    assert not Job.objects.filter(volume=volumes[1]).exists()


def test_a_volume_that_was_retired_since_the_preview_stays_retired(staff: Client) -> None:
    host, volumes = allocation_scene(WAITING, free_gib=40)
    page = previewed(staff, host)
    Volume.objects.filter(pk=volumes[0].pk).update(retired_at=timezone.now())
    assert "changed since the preview" in text_of(confirmed(staff, page))
    assert not Job.objects.exists()


def test_a_mode_that_was_chosen_since_the_preview_is_not_undone(staff: Client) -> None:
    host, _ = allocation_scene(dataclasses.replace(OVERSIZED, mode="writeback"))
    page = previewed(staff, host)
    data = Host.objects.get(pk=host.pk).facts
    for lv in data["lvs"]:
        if lv["cache"]:
            lv["cache"]["mode"] = "writethrough"
    Host.objects.filter(pk=host.pk).update(facts=data)
    assert "changed since the preview" in text_of(confirmed(staff, page))
    assert not Job.objects.exists()


def test_what_is_left_after_a_change_is_shown_as_nothing_to_do(staff: Client) -> None:
    host, _ = allocation_scene(also(WAITING, hours={0: 0, 4: 0}), free_gib=20)
    answer = previewed(staff, host)
    assert answer.url == reverse("host-allocation", args=[host.key])
    assert not BulkChange.objects.exists()
