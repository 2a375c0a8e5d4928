"""Removing a host: what is forgotten, what stays, and what speaks against it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.hosts import enrolment
from jobs.models import Job, State
from jobs.queue.removal import removal_of, remove
from jobs.queue.submit import submit_for_host
from jobs.requester import Requester
from storage.discovery.ingest import apply_facts
from storage.health.missing_volumes import settle_missing_volumes
from storage.models import CacheCondition, CachePlan, Host, HostOutline, Placement, Volume
from storage.models.host import HostState
from storage.planner import Refused
from storage.planner.ssd_wish import Preparation
from tests import make
from tests.scene import Scene, end, scene
from tests.scene import job as job_of

pytestmark = pytest.mark.django_db


def silent(**fields: object) -> Scene:
    """A host that stopped answering, with one volume of a customer on it."""
    there = scene(host={"last_seen_at": timezone.now() - timedelta(days=3), "sealed_key": b"x"})
    Volume.objects.filter(pk=there.volume.pk).update(customer=make.customer(), **fields)
    return there


def plan() -> CachePlan:
    return CachePlan.objects.create(name="S", size_bytes=2**30, price_minor=490, currency="EUR")


def removed(there: Scene) -> Host:
    remove(there.host, removal_of(there.host, timezone.now()).digest, timezone.now())
    return Host.objects.get(pk=there.host.pk)


def test_a_removed_host_is_forgotten_but_for_its_name_its_jobs_and_its_volumes() -> None:
    there = silent()
    done = job_of(there)
    end(done)
    HostOutline.objects.create(host=there.host)
    CacheCondition.objects.create(host=there.host, volume=there.volume)
    host = removed(there)
    assert (host.state, host.name) == (HostState.REMOVED, there.host.name)
    assert host.removed_at is not None
    assert (bytes(host.sealed_key), host.facts, host.hello, host.error) == (b"", {}, {}, {})
    assert (host.enrol_digest, host.problems) == ("", [])
    assert not HostOutline.objects.filter(host=host).exists()
    assert not CacheCondition.objects.filter(host=host).exists()
    staff = make.staff_user()
    assert not Host.objects.visible_to(staff).filter(pk=host.pk).exists()
    assert Host.objects.removed_for(staff).get() == host
    assert not Host.objects.active().exists()
    assert Job.objects.get(pk=done.pk).host == host
    there.volume.refresh_from_db()
    assert there.volume.placed is None
    assert Placement.objects.filter(volume=there.volume, host=host).exists()


def test_no_one_pays_for_the_cache_of_a_volume_whose_host_is_gone() -> None:
    there = silent(cache_plan=plan())
    assert removal_of(there.host, timezone.now()).paid_count == 1
    removed(there)
    there.volume.refresh_from_db()
    assert there.volume.cache_plan is None
    assert there.volume.customer is not None


def test_a_host_with_a_job_is_kept() -> None:
    there = silent()
    job_of(there)
    with pytest.raises(Refused, match="1 job has not ended"):
        removed(there)
    assert Host.objects.get(pk=there.host.pk).state == HostState.ACTIVE


@pytest.mark.parametrize("state", [State.WAITING, State.NEEDS_ATTENTION])
def test_a_job_that_waits_for_a_person_holds_its_host_too(state: State) -> None:
    there = silent()
    Job.objects.filter(pk=job_of(there).pk).update(state=state)
    with pytest.raises(Refused, match="has not ended"):
        removed(there)


def test_a_host_that_answers_is_not_taken_from_its_customers() -> None:
    there = silent()
    Host.objects.filter(pk=there.host.pk).update(last_seen_at=timezone.now())
    there.host.refresh_from_db()
    with pytest.raises(Refused, match="1 volume of a customer"):
        removed(there)


@pytest.mark.parametrize("gone", ["missing", "retired"])
def test_what_is_out_of_service_does_not_keep_a_host_that_answers(gone: str) -> None:
    there = silent(retired_at=timezone.now() if gone == "retired" else None)
    Host.objects.filter(pk=there.host.pk).update(last_seen_at=timezone.now())
    if gone == "missing":
        Placement.objects.update(missing_since=timezone.now())
    there.host.refresh_from_db()
    assert removed(there).state == HostState.REMOVED


def test_what_has_changed_since_the_preview_is_shown_again() -> None:
    there = silent()
    shown = removal_of(there.host, timezone.now())
    make.placement(make.volume(), there.host, lv_uuid=make.lvm_uuid())
    with pytest.raises(Refused, match="changed since"):
        remove(there.host, shown.digest, timezone.now())
    assert there.volume.placed is not None


def test_a_host_is_removed_once() -> None:
    there = silent()
    removed(there)
    with pytest.raises(Refused, match="removed already"):
        remove(there.host, None, timezone.now())


def test_no_job_is_accepted_for_a_host_that_was_removed_a_moment_ago() -> None:
    there = silent()
    read_before = Host.objects.get(pk=there.host.pk)
    removed(there)
    with pytest.raises(Refused, match="was removed"):
        submit_for_host(
            read_before, Preparation("sde", "x", "u", "vg0"), Requester(None, None), dry_run=False
        )
    assert not Job.objects.exists()


def test_no_one_pays_for_the_cache_of_a_missing_volume_that_is_gone_for_good() -> None:
    there = silent(cache_plan=plan())
    Placement.objects.update(missing_since=timezone.now())
    assert settle_missing_volumes(there.host, timezone.now(), ()) == 1
    there.volume.refresh_from_db()
    assert (there.volume.placed, there.volume.cache_plan) == (None, None)


def test_an_inventory_that_arrives_late_brings_nothing_back() -> None:
    there = silent()
    removed(there)
    apply_facts(there.host, make.inventory(there.facts), timezone.now())
    assert not Placement.objects.filter(host=there.host, until=None).exists()
    assert Host.objects.get(pk=there.host.pk).facts == {}


def test_the_name_and_the_machine_may_come_back_and_its_volumes_with_them() -> None:
    there = silent()
    Host.objects.filter(pk=there.host.pk).update(machine_id="a" * 32)
    there.host.refresh_from_db()
    old = removed(there)
    again, _ = enrolment.begin_enrolment(old.name, "192.0.2.7")
    assert again.pk != old.pk
    again.machine_id = "a" * 32
    again.save()
    apply_facts(again, make.inventory(there.facts), timezone.now())
    assert Volume.objects.get() == there.volume
    assert there.volume.placed is not None
    assert there.volume.placed.host == again


def test_another_machine_does_not_take_over_the_volumes_of_a_removed_one() -> None:
    there = silent()
    Host.objects.filter(pk=there.host.pk).update(machine_id="a" * 32)
    there.host.refresh_from_db()
    removed(there)
    other = make.host(machine_id="b" * 32)
    apply_facts(other, make.inventory(there.facts), timezone.now())
    there.volume.refresh_from_db()
    assert there.volume.placed is None
    assert Volume.objects.count() == 2


def test_a_pending_enrolment_is_discarded_and_its_line_is_void() -> None:
    host, token = enrolment.begin_enrolment("node7", "192.0.2.7")
    remove(host, removal_of(host, timezone.now()).digest, timezone.now())
    assert enrolment.enrolling_host(token) is None
    assert not Host.objects.visible_to(make.staff_user()).exists()


def test_a_plan_that_was_sold_on_this_host_alone_is_not_sold_everywhere_afterwards() -> None:
    there = silent()
    sold = plan()
    sold.hosts.add(there.host)
    assert removal_of(there.host, timezone.now()).plans == ("S",)
    removed(there)
    assert list(sold.hosts.all()) == [Host.objects.get(pk=there.host.pk)]
