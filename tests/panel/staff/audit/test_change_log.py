"""Changes of a record: who changed what, and that the host's reports are none."""

from __future__ import annotations

from typing import Any

import pghistory
import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from panel.staff.change_log import Edit, edits
from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts
from storage.models import Host, Volume
from storage.planner.wish import Wish
from tests import make
from tests.panel.portal.shop import plan
from tests.scene import scene

pytestmark = pytest.mark.django_db
OF_STORAGE = ("storage_hostevent", "storage_volumeevent", "storage_customerevent")


def field_changes(edit: Edit) -> list[tuple[str, str, str]]:
    return [(change.field, change.before, change.after) for change in edit.changes]


def test_a_new_record_says_that_it_was_created() -> None:
    for record in (make.host(), make.volume()):
        (edit,) = edits(record)
        assert (edit.is_creation, edit.changes, edit.who) == (True, (), "Tiercel")


def test_an_edit_says_field_before_and_after_newest_first() -> None:
    volume = make.volume(label="first")
    for label in ("second", "third"):
        volume.label = label
        volume.save()
    newest, older, created = edits(volume)
    assert field_changes(newest) == [("label", "second", "third")]
    assert field_changes(older) == [("label", "first", "second")]
    assert created.is_creation


def test_an_update_without_the_model_is_seen_too() -> None:
    host = make.host(port=22)
    Host.objects.filter(pk=host.pk).update(port=2222, address="198.51.100.7")
    host.refresh_from_db()
    address, port = field_changes(edits(host)[0])
    assert address == ("address", "127.0.0.1", "198.51.100.7")
    assert port == ("port", "22", "2222")


def test_who_did_it_and_by_what_is_kept_in_the_event() -> None:
    volume = make.volume()
    with pghistory.context(actor="ada@example.org", token="tcl_abc"):
        volume.label = "renamed"
        volume.save()
    with pghistory.context(actor="", job="jjjj"):
        Volume.objects.filter(pk=volume.pk).update(managed=True)
    volume.refresh_from_db()
    by_job, by_person, _ = edits(volume)
    assert (by_person.who, by_person.how) == ("ada@example.org", "API token tcl_abc")
    assert (by_job.who, by_job.how) == ("Tiercel", "job jjjj")


def test_what_the_host_reports_again_and_again_is_no_edit() -> None:
    there = scene()
    before = len(edits(there.host)), len(edits(there.volume))
    apply_facts(there.host, make.inventory(there.facts), timezone.now())
    Host.objects.filter(pk=there.host.pk).update(
        last_seen_at=timezone.now(), error={"code": "unreachable"}, facts_at=timezone.now()
    )
    Volume.objects.filter(pk=there.volume.pk).update(guest="web12 · vdb")
    assert (len(edits(there.host)), len(edits(there.volume))) == before


@pytest.mark.parametrize("name", ["sealed_key", "enrol_digest", "facts", "hello"])
def test_no_event_holds_keys_or_inventories(name: str) -> None:
    event: Any = make.host().events.first()  # type: ignore[attr-defined]
    assert not hasattr(event, name)


def test_events_cannot_be_changed_or_deleted() -> None:
    event: Any = make.volume().events.get()  # type: ignore[attr-defined]
    for tamper in (event.delete, event.save):
        with pytest.raises(DatabaseError), transaction.atomic():
            tamper()


@pytest.mark.parametrize("table", [*OF_STORAGE, "panel_mandateevent"])
def test_the_app_has_no_right_to_rewrite_history(table: str) -> None:
    with connection.cursor() as cursor:
        for right in ("UPDATE", "DELETE"):
            cursor.execute("SELECT has_table_privilege(%s, %s)", [table, right])
            assert cursor.fetchone() == (False,), right


def test_the_history_of_a_deleted_volume_stays() -> None:
    volume = make.volume(label="gone")
    events = type(volume.events.get())  # type: ignore[attr-defined]
    key = volume.key
    volume.delete()
    labels = [event.pgh_label for event in events.objects.filter(key=key).order_by("pgh_id")]
    assert labels == ["insert", "delete"]


def test_a_recorded_state_is_shown_by_what_changed_of_it() -> None:
    volume = make.volume()
    volume.wish = Wish(8 * GIB).to_json()
    volume.save()
    volume.wish = Wish(12 * GIB, "ssd").to_json()
    volume.save()
    newest, first, _ = edits(volume)
    assert field_changes(newest) == [("size", "8 GiB", "12 GiB"), ("tier", "HDD", "SSD")]
    assert ("size", "-", "8 GiB") in field_changes(first)


@pytest.mark.parametrize("wish", [{"padding": "x" * 1000}, {"size_bytes": "many"}, [1]])
def test_a_recorded_state_of_another_version_is_not_spelled_out(wish: Any) -> None:
    volume = make.volume()
    volume.wish = wish
    volume.save()
    assert field_changes(edits(volume)[0]) == [("recorded state", "-", "changed")]


def test_another_record_is_shown_by_its_name_and_an_amount_with_its_unit() -> None:
    acme, boost = make.customer("Acme"), plan(name="Boost", price_minor=1000)
    volume = make.volume(customer=acme, cache_plan=boost, size_bytes=8 * GIB)
    Volume.objects.filter(pk=volume.pk).update(customer=None, cache_plan=None, size_bytes=9 * GIB)
    volume.refresh_from_db()
    assert set(field_changes(edits(volume)[0])) == {
        ("customer", "Acme", "-"),
        ("cache plan", "Boost", "-"),
        ("size", "8 GiB", "9 GiB"),
    }
    boost.price_minor = 2000
    boost.save()
    assert field_changes(edits(boost)[0]) == [("price", "10.00 EUR", "20.00 EUR")]
    acme.delete()
    assert ("customer", "a deleted customer", "-") in field_changes(edits(volume)[0])
