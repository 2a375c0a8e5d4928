"""The list of events: reading on, waiting, server-sent events, and who sees what."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from jobs.hosts import panel_identity
from panel.api.events import event_endpoints
from panel.api.framework.rate_limits import ConcurrencyLimit
from panel.api.jobs import wait_for_job
from storage import event_list, row_security
from storage.database_clock import database_now
from storage.models import Customer, Event, EventKind
from tests import make
from tests.panel.api.asking import V1, Program, member, own, problem, program, staff
from tests.panel.cast import party
from tests.scene import job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> ConcurrencyLimit:
    made = ConcurrencyLimit(most=2, most_of_one=2)
    monkeypatch.setattr(wait_for_job, "PLACES", made)
    return made


def types(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [each["type"] for each in answer.json()["items"]]


def read_all(asking: Program, **query: Any) -> Iterator[dict[str, Any]]:
    after: dict[str, str] = {}
    while True:
        body = asking.get("/events/", limit=2, **query, **after).json()
        yield from body["items"]
        if not body["items"]:
            return
        after = {"after": body["next_after"]}


def test_reading_on_shows_each_event_once_in_order() -> None:
    asking = staff()
    there = scene()
    job(there)
    first = list(read_all(asking))
    assert [each["type"] for each in first] == ["host.added", "volume.added", "job.queued"]
    make.host()
    rest = asking.get("/events/", after=first[-1]["id"])
    assert types(rest) == ["host.added"]
    assert types(asking.get("/events/", after=rest.json()["next_after"])) == []


def test_an_event_names_what_it_is_about() -> None:
    there = scene(label="web12 disk")
    own(there, make.customer("Acme"))
    asked = job(there)
    event = next(each for each in read_all(staff()) if each["type"] == "job.queued")
    assert event.keys() == {"id", "type", "version", "timestamp", "subject", "data"}
    assert event["version"] == 1
    assert event["subject"] == f"volume:{there.volume.key}"
    assert event["data"] == {
        "customer": None,
        "customer_external_id": "",
        "volume": there.volume.key,
        "job": asked.key,
        "order": None,
        "host": there.host.key,
        "alert": None,
        "kind": "add-cache",
        "state": "queued",
    }


def test_every_event_has_the_fields_that_are_documented() -> None:
    acme = party("acme")
    acme.there.volume.placement_set.update(cache_technology="lvmcache", cache_mode="writeback")
    known = {*event_endpoints.EventDataShape().fields}
    for each in read_all(staff()):
        assert {*each["data"]} <= known


def test_the_latest_place_is_where_reading_on_begins() -> None:
    asking = staff()
    empty = asking.get("/events/", after="latest").json()
    assert empty["items"] == []
    make.host()
    assert types(asking.get("/events/", after=empty["next_after"])) == ["host.added"]
    place = asking.get("/events/", after="latest").json()["next_after"]
    make.host()
    assert types(asking.get("/events/", after=place)) == ["host.added"]


def test_types_families_volumes_and_hosts_narrow_the_list() -> None:
    asking = staff()
    there, other = scene(), scene()
    job(there)
    job(other)
    assert types(asking.get("/events/", type="job.queued")) == ["job.queued"] * 2
    assert types(asking.get("/events/?type=job.*&type=host.*")) == [
        "host.added",
        "host.added",
        "job.queued",
        "job.queued",
    ]
    assert types(asking.get("/events/", volume=there.volume.key)) == ["volume.added", "job.queued"]
    on_host = types(asking.get("/events/", host=there.host.key, type="host.*"))
    assert on_host == ["host.added"]
    problem(asking.get("/events/", type="job.nonsense"), 400, "invalid_parameter")


class Clock:
    """The database's, some time later."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shift = timedelta()
        monkeypatch.setattr(
            event_endpoints, "database_now", lambda: database_now() + self.shift, raising=False
        )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_what_is_no_place_at_all_is_a_mistake_and_no_gap() -> None:
    asking = staff()
    for name in ("cursor", "after"):
        for garbage in ("garbage", "[1,1]", "plc_", "latest "):
            problem(asking.get("/events/", **{name: garbage}), 400, "invalid_parameter")


def test_events_are_narrowed_to_a_customer_a_time_and_some_fields() -> None:
    acme, zebra = make.customer("Acme"), make.customer("Zebra")
    for customer in (acme, zebra):
        own(scene(make.lv(customer.name.lower())), customer)
    asking = staff()
    shown = asking.get("/events/", customer=acme.key, fields="type,data").json()["items"]
    assert [each["type"] for each in shown] == ["volume.assigned"]
    assert {each["data"]["customer"] for each in shown} == {acme.key}
    assert all(set(each) == {"type", "data"} for each in shown)
    first = asking.get("/events/").json()["items"][0]["timestamp"]
    assert types(asking.get("/events/", created_since=first))
    assert types(asking.get("/events/", created_since="2999-01-01T00:00:00Z")) == []
    problem(asking.get("/events/", fields="type,nothing"), 400, "invalid_parameter")


def test_the_cursor_of_events_has_its_former_name_too() -> None:
    asking = staff()
    make.host()
    body = asking.get("/events/", cursor="latest").json()
    assert body["next_cursor"] == body["next_after"]
    make.host()
    assert types(asking.get("/events/", cursor=body["next_cursor"])) == ["host.added"]


def test_a_place_that_is_not_kept_is_gone_and_says_what_to_do(clock: Clock) -> None:
    asking = staff()
    make.host()
    event = asking.get("/events/").json()["items"][0]["id"]
    place = asking.get("/events/").json()["next_after"]
    clock.shift = event_list.KEPT
    Event.objects.update(at=timezone.now() - event_list.KEPT - timedelta(hours=1))
    event_list.prune_events(timezone.now())
    for gone in (event, place, "evt_nonsense", "plc_nonsense"):
        body = problem(asking.get("/events/", after=gone), 410, "place_gone")
        assert "cursor=latest" in body["correction"]


def test_who_pauses_in_a_backlog_learns_it_once_events_behind_the_place_are_forgotten(
    clock: Clock,
) -> None:
    asking = staff()
    for _ in range(3):
        make.host()
    event_list.give_places()
    Event.objects.update(at=timezone.now() - event_list.KEPT + timedelta(days=1))
    place = asking.get("/events/", limit=1).json()["next_after"]
    assert len(types(asking.get("/events/", after=place))) == 2
    clock.shift = timedelta(days=2)
    event_list.prune_events(timezone.now() + clock.shift)
    problem(asking.get("/events/", after=place), 410, "place_gone")


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_events_have_no_version_and_are_answered_whole(accept: str) -> None:
    asking = staff()
    given = asking.headers(**{"If-None-Match": "*", "Accept": accept})
    answer = Client().get(f"{V1}/events/?wait=0", headers=given)
    assert (answer.status_code, "ETag" in answer) == (200, False)
    assert b"plc_" in answer.content


def test_a_place_that_a_database_put_back_by_other_tools_has_not_given_yet_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asking = staff()
    make.host()
    place = asking.get("/events/").json()["next_after"]
    monkeypatch.setattr(event_list, "given_out", lambda: 0)
    problem(asking.get("/events/", after=place), 410, "place_gone")


def test_after_a_restore_no_place_of_before_is_taken_for_one_of_the_restored_list() -> None:
    """Although the list has grown past it since."""
    asking, quiet = staff(), member(make.customer("Quiet"))
    make.host()
    places = [each.get("/events/").json()["next_after"] for each in (asking, quiet)]
    panel_identity.renew()
    make.host()
    for who, place in zip((asking, quiet), places, strict=True):
        body = problem(who.get("/events/", after=place), 410, "place_gone")
        assert "cursor=latest" in body["correction"]
        after = who.get("/events/", after="latest").json()["next_after"]
        assert types(who.get("/events/", after=after)) == []


def test_who_polls_and_meets_nothing_never_hears_that_the_place_is_gone(
    clock: Clock,
) -> None:
    """A filter that matches nothing, and a customer to whom nothing happens."""
    make.host()
    quiet = member(make.customer("Quiet"))
    for asking, query in ((staff(), {"type": "job.failed"}), (quiet, {})):
        after = asking.get("/events/", **query).json()["next_after"]
        for _ in range(3):
            clock.shift += event_list.KEPT * 0.6
            make.host()
            Event.objects.filter(position__isnull=False).delete()
            answer = asking.get("/events/", after=after, **query)
            assert types(answer) == []
            after = answer.json()["next_after"]


def test_a_place_tells_a_customer_nothing_of_what_happens_to_others() -> None:
    quiet = member(make.customer("Quiet"))
    make.host()
    event_list.give_places()
    Event.objects.update(position=987_654_321)
    places = []
    for _ in range(2):
        places += [quiet.get("/events/").json()["next_after"] for _ in range(2)]
        make.host()
    assert len({*places}) == len(places), "the same place looks different each time"
    for place in places:
        sealed = base64.urlsafe_b64decode(place.removeprefix("plc_") + "==")
        assert "987654321" not in place and b"987654321" not in sealed


def test_what_happened_to_a_customer_stays_when_the_customer_is_deleted() -> None:
    asking, there = staff(), scene()
    acme = Customer.objects.create(name="Acme", external_id="crm-42")
    own(there, acme)
    there.volume.customer = None
    there.volume.save()
    before = [each["id"] for each in read_all(asking)]
    withdrawn = asking.get("/events/", type="volume.withdrawn").json()["items"][0]
    assert asking.send("delete", f"/customers/{acme.key}").status_code == 204
    assert [each["id"] for each in read_all(asking)] == before
    again = asking.get("/events/", type="volume.withdrawn").json()["items"][0]
    assert again == withdrawn
    assert (again["data"]["customer"], again["data"]["customer_external_id"]) == (
        acme.key,
        "crm-42",
    )
    assert types(asking.get("/events/", after=withdrawn["id"])) == []
    other = member(make.customer("Zebra"))
    problem(other.get("/events/", after=withdrawn["id"]), 410, "place_gone")


def test_a_customer_reads_their_own_events_without_hosts() -> None:
    acme, zebra = party("acme"), party("zebra")
    asking = program(acme.owner)
    with row_security.scope(row_security.NO_ROWS):
        events = list(read_all(asking))
    assert events
    text = json.dumps(events)
    assert not [trace for trace in zebra.traces if trace in text]
    assert acme.there.host.key not in text
    assert acme.there.host.name not in text
    assert not {"host", "alert", "technology", "managed"} & {
        name for each in events for name in each["data"]
    }
    foreign = Event.objects.filter(volume_key=zebra.there.volume.key).first()
    assert foreign is not None
    problem(asking.get("/events/", after=foreign.key), 410, "place_gone")
    assert types(asking.get("/events/", host=acme.there.host.key)) == []


def test_waiting_ends_with_the_next_event(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = staff()
    place = asking.get("/events/", after="latest").json()["next_after"]
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            make.host()

    monkeypatch.setattr(event_endpoints.time, "sleep", sleep)
    assert types(asking.get("/events/", wait=30, after=place)) == ["host.added"]
    assert len(looks) == 3


def test_waiting_ends_when_its_time_is_over() -> None:
    began = time.monotonic()
    assert types(staff().get("/events/", wait=1)) == []
    assert 0.9 < time.monotonic() - began < 10
    problem(staff().get("/events/", wait=31), 400, "invalid_parameter")


def test_without_a_place_to_wait_the_answer_comes_at_once(places: ConcurrencyLimit) -> None:
    with ExitStack() as taken:
        for n in range(places.most):
            assert taken.enter_context(places.one(f"other {n}"))
        began = time.monotonic()
        answer = staff().get("/events/", wait=30)
    assert time.monotonic() - began < 10
    assert answer.json()["items"] == []
    assert answer["Retry-After"] == "5"


def streamed(asking: Program, query: str = "", **headers: str) -> Any:
    given = asking.headers(Accept="text/event-stream", **headers)
    return Client().get(f"/api/v1/events/{query}", headers=given)


def test_a_stream_is_an_answer_that_ends_and_goes_on_from_where_it_was() -> None:
    asking = staff()
    make.host()
    answer = streamed(asking)
    assert answer["Content-Type"].startswith("text/event-stream")
    head, first, rest = answer.content.decode().partition("\n\n")
    assert head == "retry: 2000"
    event, place = rest.strip().split("\n\n")
    assert place.startswith("id: ")
    lines = dict(line.split(": ", 1) for line in event.splitlines())
    assert first
    assert lines["event"] == "host.added"
    assert json.loads(lines["data"])["id"] == lines["id"]
    make.host()
    again = streamed(asking, "?wait=0", **{"Last-Event-ID": lines["id"]}).content.decode()
    assert again.count("event: host.added") == 1
    assert lines["id"] not in again


class EventSource:
    """Reads server-sent events as a browser does: the same address again and again, with the last
    id that was sent."""

    def __init__(self, url: str, asking: Program) -> None:
        self.url, self.asking, self.last_id = url, asking, ""

    def ask(self) -> list[str]:
        """The types of the events of one connection."""
        headers = self.asking.headers(Accept="text/event-stream")
        if self.last_id:
            headers["Last-Event-ID"] = self.last_id
        with urlopen(Request(self.url, headers=headers), timeout=60) as answer:
            blocks = answer.read().decode().split("\n\n")
        got: list[str] = []
        for block in blocks:
            fields = dict(line.split(": ", 1) for line in block.splitlines())
            self.last_id = fields.get("id", self.last_id)
            if "data" in fields:
                got.append(fields["event"])
        return got


@pytest.mark.django_db(transaction=True)
def test_an_event_source_that_begins_at_the_latest_place_gets_what_happens_then(
    live_server: LiveServer,
) -> None:
    make.host()
    url = f"{live_server.url}/api/v1/events/?after=latest&type=host.added&wait=1"
    reader = EventSource(url, staff())
    assert reader.ask() == []
    assert reader.last_id
    make.host()
    assert reader.ask() == ["host.added"]
    assert reader.ask() == []
    make.host()
    make.host()
    assert reader.ask() == ["host.added"] * 2


def test_a_stream_that_begins_at_the_latest_place_waits_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make.host()
    monkeypatch.setattr(event_endpoints.time, "sleep", lambda _seconds: make.host())
    answer = streamed(staff(), "?after=latest").content.decode()
    assert answer.count("event: host.added") == 1


def test_a_problem_of_a_stream_is_a_problem() -> None:
    problem(streamed(staff(), "?after=evt_gone"), 410, "place_gone")


def test_a_session_of_the_pages_may_read() -> None:
    client = Client()
    customer = make.customer()
    reader = member(customer, "viewer")
    client.force_login(reader.user)
    assert client.get("/api/v1/events/").status_code == 200
    assert Client().get("/api/v1/events/").status_code == 401


def test_the_document_has_a_row_for_each_kind() -> None:
    text = Path("docs/api.md").read_text()
    assert [kind for kind in EventKind.values if f"`{kind}`" not in text] == []
