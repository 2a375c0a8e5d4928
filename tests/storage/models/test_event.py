"""What becomes an event: whatever changes the rows, in the same transaction."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from jobs.alerts import alert_actions
from jobs.engine.transitions import TRANSITIONS, claim, need_attention_after_restore, transition
from jobs.models import Alert, AlertEventKind, State
from panel.models import OrderState, Proof, ProofState
from storage import row_security
from storage.byte_sizes import GIB
from storage.models import Event, EventKind, HostChange, Placement, Volume
from storage.models.host import HostState
from tests import make
from tests.panel.cast import party
from tests.panel.deliveries.alerts.alert_messages import alert, event
from tests.scene import Scene, job, scene

pytestmark = pytest.mark.django_db


def kinds(**fields: Any) -> list[str]:
    return list(Event.objects.filter(**fields).order_by("pk").values_list("kind", flat=True))


def forget() -> None:
    Event.objects.all().delete()


@pytest.fixture
def there() -> Scene:
    made = scene()
    forget()
    return made


def test_each_state_of_the_machines_has_its_kind() -> None:
    assert {f"host.{each}" for each in HostState.values} <= {*EventKind.values}
    assert {f"alert.{each}" for each in AlertEventKind.values} <= {*EventKind.values}
    begun = {"scheduled"}
    assert {f"order.{each}" for each in OrderState.values if each not in begun} <= {
        *EventKind.values
    }
    ends = {each for to in TRANSITIONS.values() for each in to} - {
        State.RUNNING,
        State.WAITING,
        State.QUEUED,
    }
    assert {f"job.{each}" for each in ends} <= {*EventKind.values}


def test_a_job_has_events_from_its_acceptance_to_its_end(there: Scene) -> None:
    asked = job(there)
    for _ in range(2):
        running = claim(asked.pk, "worker")
        assert running is not None
        assert transition(running, State.RUNNING, State.WAITING)
    running = claim(asked.pk, "worker")
    assert running is not None
    error = {"code": "no_space", "message": "There is no space on storage7."}
    assert transition(running, State.RUNNING, State.FAILED, error=error)
    assert kinds() == ["job.queued", "job.started", "job.failed"]
    last = Event.objects.last()
    assert last is not None
    assert last.data == {"kind": "add-cache", "state": "failed", "error_code": "no_space"}
    assert last.subject == f"volume:{there.volume.key}"
    assert (last.volume_key, last.host_key) == (there.volume.key, there.host.key)
    assert last.job_key == asked.key
    assert last.customer is None


def test_a_change_of_many_jobs_at_once_is_an_event_of_each(there: Scene) -> None:
    jobs = [job(there), job(scene())]
    forget()
    need_attention_after_restore({"code": "restored", "message": "Restored."})
    assert kinds() == ["job.needs_attention"] * 2
    assert set(Event.objects.values_list("job_key", flat=True)) == {each.key for each in jobs}


def test_a_preview_is_no_event(there: Scene) -> None:
    preview = job(there, dry_run=True)
    claim(preview.pk, "worker")
    assert kinds() == []


def test_what_is_rolled_back_was_no_event(there: Scene) -> None:
    with transaction.atomic():
        job(there)
        transaction.set_rollback(True)
    assert kinds() == []


def test_events_of_a_volume_are_what_changed(there: Scene) -> None:
    volume = there.volume
    volume.size_bytes = 9 * GIB
    volume.label, volume.external_id = "shop", "vps-7"
    volume.save()
    assert kinds() == ["volume.renamed", "volume.resized"]
    assert Event.objects.first().data == {  # type: ignore[union-attr]
        "size_bytes": 9 * GIB,
        "external_id": "vps-7",
        "label": "shop",
    }
    forget()
    volume.guest = "web12 · vda"
    volume.save()
    assert kinds() == []
    volume.retired_at = timezone.now()
    volume.save()
    volume.retired_at = None
    volume.save()
    volume.destroyed_at = timezone.now()
    volume.save()
    assert kinds() == ["volume.retired", "volume.restored", "volume.destroyed"]


def test_a_volume_that_is_only_previewed_is_no_event() -> None:
    volume = make.volume(previewed_at=timezone.now())
    assert kinds() == []
    Volume.objects.filter(pk=volume.pk).update(previewed_at=None)
    assert kinds() == ["volume.added"]


def test_the_former_and_the_new_customer_of_a_volume_both_get_an_event(there: Scene) -> None:
    before, after = make.customer("Acme"), make.customer("Zebra")
    Volume.objects.filter(pk=there.volume.pk).update(customer=before)
    Volume.objects.filter(pk=there.volume.pk).update(customer=after)
    listed = list(Event.objects.order_by("pk").values_list("kind", "customer__name"))
    assert listed == [
        ("volume.assigned", "Acme"),
        ("volume.withdrawn", "Acme"),
        ("volume.assigned", "Zebra"),
    ]


def test_a_cache_is_reported_when_an_inventory_shows_it(there: Scene) -> None:
    place = Placement.objects.filter(volume=there.volume)
    place.update(cache_technology="lvmcache", cache_mode="writethrough", cache_bytes=GIB)
    place.update(cache_mode="writeback")
    place.update(cache_trouble="Its SSD is gone.")
    place.update(cache_trouble="")
    place.update(cache_technology="", cache_mode="", cache_bytes=None)
    assert kinds() == [
        "cache.added",
        "cache.changed",
        "cache.troubled",
        "cache.recovered",
        "cache.removed",
    ]
    added = Event.objects.first()
    assert added is not None
    assert added.data == {"size_bytes": GIB, "mode": "writethrough"}
    assert added.internal == {"technology": "lvmcache", "trouble": ""}


def test_the_staff_see_that_a_volume_is_missing_returns_or_moves(there: Scene) -> None:
    place = Placement.objects.filter(volume=there.volume)
    place.update(missing_since=timezone.now())
    place.update(missing_since=timezone.now() + timedelta(seconds=1))
    place.update(missing_since=None)
    place.update(until=timezone.now())
    make.placement(there.volume, make.host(name="elsewhere"))
    assert kinds(volume_key=there.volume.key) == [
        "volume.missing",
        "volume.returned",
        "volume.moved",
    ]


def test_events_of_a_host_are_its_state_its_contact_and_its_maintenance() -> None:
    host = make.host(name="stor-1", state="unverified", host_key="")
    host.state, host.host_key = HostState.ACTIVE, make.HOST_KEY
    host.save()
    for error in ({"code": "no_contact"}, {"code": "timeout"}, {}):
        host.error = error
        host.save()
    host.maintenance_since = timezone.now()
    host.save()
    host.maintenance_until = timezone.now() + timedelta(hours=1)
    host.save()
    host.maintenance_since = host.maintenance_until = None
    host.facts = {"changed": True}
    host.save()
    HostChange.objects.create(
        host=host, at=timezone.now(), kind="kernel", before="6.1", after="6.6"
    )
    assert kinds(host_key=host.key) == [
        "host.added",
        "host.active",
        "host.unreachable",
        "host.reachable",
        "host.maintenance_began",
        "host.maintenance_began",
        "host.maintenance_ended",
        "host.changed",
    ]
    changed = Event.objects.get(kind="host.changed")
    assert changed.data == {}
    assert changed.internal["after"] == "6.6"
    assert changed.customer is None


def test_a_customer_sees_the_events_of_an_order_and_of_its_job() -> None:
    acme = party("acme")
    assert kinds(order_key=acme.order.key) == ["order.placed"]
    placed = Event.objects.get(order_key=acme.order.key)
    assert placed.customer == acme.customer
    assert placed.data["external_id"] == "acme-v1"
    assert set(Event.objects.filter(job_key=acme.job.key).values_list("customer", flat=True)) == {
        acme.customer.pk
    }


def test_that_an_effect_was_measured_or_cannot_be_is_an_event() -> None:
    party("acme")
    Proof.objects.update(state=ProofState.WAITING, ended_at=None)
    forget()
    Proof.objects.update(state=ProofState.IMPOSSIBLE, ended_at=timezone.now())
    assert kinds() == ["order.proof"]
    assert Event.objects.get().data["proof"] == "impossible"


def test_an_alert_has_each_of_its_events() -> None:
    there = alert(make.host())
    event(there)
    alert_actions.acknowledge(Alert.objects.get(), make.staff_user(), "Known.", None)
    assert kinds(alert_key=there.key) == ["alert.opened", "alert.acknowledged"]
    opened = Event.objects.get(kind="alert.opened")
    assert opened.internal["data_at_risk"] is True
    assert opened.internal["code"] == "array_degraded"


def test_a_customer_sees_their_own_events_alone() -> None:
    acme, zebra = party("acme"), party("zebra")
    with row_security.scope(str(acme.owner.pk)):
        seen = list(Event.objects.all())
        assert seen == list(Event.objects.visible_to(acme.owner))
    assert {each.customer_id for each in seen} == {acme.customer.pk}
    assert zebra.there.volume.key not in {each.volume_key for each in seen}
    assert not {each.kind.partition(".")[0] for each in seen} & {"host", "alert"}
