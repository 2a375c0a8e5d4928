"""The menu of a volume's page, and what it changes in the panel alone."""

from __future__ import annotations

import html
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from panel.staff.volumes.action_menu import ActionMenu, menu_of
from panel.staff.volumes.trends import Trend, trends_of
from storage.access import Person
from storage.metrics.samples import FiguresWindow
from storage.models import Volume
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.panel.staff.test_job_requests import page, send, staff
from tests.panel.staff.volumes.test_list_pages import latest
from tests.scene import Scene, job, scene

__all__ = ["staff"]
pytestmark = pytest.mark.django_db

RECORD = {"volume-record", "volume-customer"}


def menu(there: Scene, user: Person | None = None) -> ActionMenu:
    row = snapshots_of([there.volume])[0]
    found = menu_of(row, user or make.staff_user(), timezone.now())
    assert found is not None
    return found


def names(found: ActionMenu, *, allowed: bool = True) -> set[str]:
    items = (item for group in found.groups for item in group)
    return {item.name for item in items if (item.refusal is None) is allowed}


def test_a_volume_without_a_cache_can_get_one_and_one_with_a_cache_can_change_it() -> None:
    bare = names(menu(scene()))
    assert "cache-form" in bare and "cache-remove" not in bare
    assert {"volume-extend", "volume-move", "volume-retire", *RECORD} <= bare
    cached = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"), layout=("cache",)))
    there = menu(cached)
    assert {"cache-form", "cache-replace", "cache-remove"} <= names(there)
    assert names(there, allowed=False) == {"cache-flush"}, "a clean cache has nothing to flush"


def test_what_bars_everything_is_said_once_and_leaves_the_record_open(staff: Client) -> None:
    there = scene(vgs=(make.vg(allowed=False),))
    found = menu(there)
    assert names(found) == RECORD
    text = page(staff, "volume", there.volume.key)
    body = text[text.index('id="volume-menu"') :].split("</details>")[0]
    assert found.refusal is not None
    assert body.count(found.refusal.message) == 1
    assert 'aria-describedby="menu-barred"' in body


def test_who_may_only_look_is_offered_nothing() -> None:
    viewer = make.staff_user(staff_role="read_only")
    assert not names(menu(scene(), viewer))


def test_a_retired_volume_can_be_restored_and_only_an_admin_destroys_it() -> None:
    there = scene()
    Volume.objects.update(retired_at=timezone.now() - timedelta(days=9))
    there.volume.refresh_from_db()
    operator = make.staff_user(staff_role="operator")
    for user in (None, operator):
        offered = menu(there, user)
        assert {each.name for group in offered.groups for each in group} == {
            "volume-restore",
            "volume-destroy",
            *RECORD,
        }
    assert "volume-destroy" in names(menu(there, operator), allowed=False)


def test_a_form_of_the_menu_opens_on_the_page_and_alone(staff: Client) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"), layout=("cache",)))
    htmx = {"HX-Request": "true"}
    for name in ("volume-extend", "cache-form", "cache-replace", *RECORD):
        url = reverse(name, args=[there.volume.key])
        part = staff.get(url, headers=htmx).content.decode()
        assert part.lstrip().startswith('<div id="work">') and f'action="{url}"' in part
        assert "<html" in staff.get(url).content.decode()


def test_a_preview_of_the_menu_opens_on_the_page(staff: Client) -> None:
    there = scene()
    htmx = {"HX-Request": "true"}
    for name, data in (("volume-move", {"tier": "ssd"}), ("volume-retire", {})):
        url = reverse(name, args=[there.volume.key])
        answer = staff.post(url, {**data, "in_place": "1"}, headers=htmx)
        work = reverse("volume-current-job", args=[there.volume.key])
        assert answer.headers["Location"].startswith(work)


def test_a_volume_gets_another_name(staff: Client) -> None:
    there = scene(label="web1")
    send(staff, "volume-record", there.volume.key, label="web one")
    assert Volume.objects.get().label == "web one"
    assert "label: web1 → web one" in page(staff, "volume-details", there.volume.key).replace(
        "\n", ""
    )
    assert send(staff, "volume-record", there.volume.key, label=" ").status_code == 422
    assert Volume.objects.get().label == "web one"


def test_a_volume_gets_a_note_of_several_lines(staff: Client) -> None:
    there = scene(label="web1")
    note = "Ask Ann first.\r\n<b>Then</b> call. "
    send(staff, "volume-record", there.volume.key, label="web1", note=note)
    assert Volume.objects.get().note == "Ask Ann first.\n<b>Then</b> call."
    text = page(staff, "volume", there.volume.key)
    assert "Ask Ann first.<br>&lt;b&gt;Then&lt;/b&gt; call." in text
    history = page(staff, "volume-details", there.volume.key)
    assert "note: - → Ask Ann first." in history.replace("\n", "")
    assert "Ask Ann first." in page(staff, "volume-record", there.volume.key)
    shown = {"initial-label": "web1", "initial-note": note}
    send(staff, "volume-record", there.volume.key, label="web1", note="", **shown)
    assert (Volume.objects.get().label, Volume.objects.get().note) == ("web1", "")


def test_what_was_not_changed_in_the_form_is_not_written(staff: Client) -> None:
    there = scene(label="web1")
    assert 'name="initial-note"' in page(staff, "volume-record", there.volume.key)
    # Meanwhile another person writes a note.
    Volume.objects.update(note="Ask Ann first.\nThen call.")
    shown = {"initial-label": "web1", "initial-note": ""}
    send(staff, "volume-record", there.volume.key, label="web one", note="", **shown)
    volume = Volume.objects.get()
    assert (volume.label, volume.note) == ("web one", "Ask Ann first.\nThen call.")
    shown = {"initial-label": "web one", "initial-note": "Ask Ann first.\r\nThen call."}
    send(staff, "volume-record", there.volume.key, label="web one", note="", **shown)
    assert Volume.objects.get().note == ""


def test_what_another_person_wrote_meanwhile_is_shown_before_it_is_replaced(staff: Client) -> None:
    there = scene(label="web1")
    Volume.objects.update(note="Ask Ann first.\nThen call.")
    shown = {"initial-label": "web1", "initial-note": ""}
    mine = {"label": "web one", "note": "Ask Ben.", **shown}
    refused = send(staff, "volume-record", there.volume.key, **mine)
    volume = Volume.objects.get()
    assert (volume.label, volume.note) == ("web1", "Ask Ann first.\nThen call.")
    text = html.unescape(refused.content.decode())
    assert refused.status_code == 422
    assert "It now reads “Ask Ann first.\nThen call.”. Save again to replace it." in text
    assert 'value="Ask Ann first.\nThen call."' in text
    again = {"initial-label": "web1", "initial-note": "Ask Ann first.\r\nThen call."}
    send(staff, "volume-record", there.volume.key, **mine | again)
    volume = Volume.objects.get()
    assert (volume.label, volume.note) == ("web one", "Ask Ben.")


def test_a_line_break_of_a_browser_counts_as_one_character(staff: Client) -> None:
    there = scene()
    send(staff, "volume-record", there.volume.key, label="web1", note=999 * "a\r\n" + "bb")
    assert len(Volume.objects.get().note) == 2000
    for note in ("a" * 2001, "\x1b[31mred"):
        refused = send(staff, "volume-record", there.volume.key, label="web1", note=note)
        assert refused.status_code == 422
    assert len(Volume.objects.get().note) == 2000


def test_a_volume_gets_another_customer_who_is_linked_on_its_page(staff: Client) -> None:
    there = scene()
    acme, other = make.customer("Acme"), make.customer("Other")
    for customer in (acme, other):
        send(staff, "volume-customer", there.volume.key, customer=customer.key)
        assert Volume.objects.get().customer == customer
    assert reverse("customer", args=[other.key]) in page(staff, "volume", there.volume.key)
    send(staff, "volume-customer", there.volume.key, customer="")
    assert Volume.objects.get().customer is None


def test_a_volume_that_a_job_changes_keeps_its_customer(staff: Client) -> None:
    there = scene()
    there.volume.customer = make.customer("Acme")
    there.volume.save()
    job(there)
    answer = send(staff, "volume-customer", there.volume.key, customer="")
    assert answer.status_code == 422
    assert Volume.objects.get().customer is not None


def usual(seconds: float = 3600.0) -> FiguresWindow:
    now, figures = timezone.now(), latest()
    known = {name: getattr(figures, name) for name in figures.__dataclass_fields__}
    fields = {name: known[name] for name in FiguresWindow.__dataclass_fields__ if name in known}
    return FiguresWindow(**{**fields, "seconds": seconds, "start": now, "end": now, "intervals": 9})


def test_an_arrow_shows_what_differs_from_the_last_hour_and_whether_that_is_bad() -> None:
    now = latest()
    assert now.read_iops is not None and now.write_iops is not None
    assert not any(trends_of(now, usual()).values()), "as usual"
    assert not trends_of(replace(now, read_ms=99.0), usual(seconds=60.0)), "too short to tell"
    busier = replace(now, read_iops=3 * now.read_iops, write_iops=3 * now.write_iops)
    assert trends_of(busier, usual())["iops"] == Trend("3.0x", has_risen=True, is_worse=False)
    usual_ms = usual().read_ms
    assert usual_ms is not None
    slower = replace(now, read_ms=1.5 * usual_ms)
    assert trends_of(slower, usual())["read_ms"] == Trend("50 %", has_risen=True, is_worse=True)
