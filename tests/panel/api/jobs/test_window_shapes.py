"""Windows of jobs and hosts, for programs."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.utils import timezone

from jobs.models import Job, Kind, State
from jobs.queue.job_windows import window_fields
from storage.byte_sizes import GIB
from storage.models import Host
from storage.naming import new_key
from tests import make
from tests.jobs.cachingagent import POOL
from tests.jobs.windows import FLUSHED, closed_window
from tests.panel.api.asking import Program, problem, staff
from tests.scene import Scene, end, job, scene

pytestmark = pytest.mark.django_db
NIGHT = {"start": "02:00", "end": "05:00", "zone": "Europe/Berlin"}


@pytest.fixture
def asking() -> Program:
    return staff("admin")


@pytest.fixture
def there() -> Scene:
    cache = make.dm_cache(POOL, mode="writeback", dirty_bytes=GIB)
    return scene(make.lv("web12", cache=cache))


def send(asking: Program, method: str, path: str, body: object = None) -> HttpResponse:
    """A request that changes something, under a key of its own."""
    return asking.send(method, path, body, **{"Idempotency-Key": new_key()})


def test_a_wish_names_its_window_or_follows_the_hosts(asking: Program, there: Scene) -> None:
    path = f"/volumes/{there.volume.key}/wish"
    host = f"/hosts/{there.host.key}"
    assert send(asking, "patch", host, {"cache_window": NIGHT}).json()["cache_window"] == NIGHT
    assert send(asking, "put", path, {"cache": None}).json()["window"] == NIGHT
    Job.objects.all().delete()
    at_once = send(asking, "put", path, {"cache": None, "window": None}).json()
    assert (at_once["window"], at_once["not_before"]) == (None, None)
    Job.objects.all().delete()
    other = {"start": "22:00", "end": "23:30", "zone": "UTC"}
    assert send(asking, "put", path, {"cache": None, "window": other}).json()["window"] == other
    assert send(asking, "patch", host, {"cache_window": None}).json()["cache_window"] is None


@pytest.mark.parametrize(
    ("window", "pointer"),
    [
        ({**NIGHT, "end": "02:00"}, "/window/end"),
        ({**NIGHT, "zone": "Europe/Nowhere"}, "/window/zone"),
    ],
)
def test_what_is_no_window_is_refused_by_its_field(
    asking: Program, there: Scene, window: dict[str, str], pointer: str
) -> None:
    body = {"cache": None, "window": window}
    refused = send(asking, "put", f"/volumes/{there.volume.key}/wish", body)
    assert problem(refused, 422, "invalid")["errors"][0]["pointer"] == pointer


def test_a_job_that_waits_gets_another_window_or_begins(asking: Program, there: Scene) -> None:
    window = closed_window()
    made = job(
        there,
        kind=Kind.FLUSH_CACHE,
        wish=FLUSHED.to_json(),
        not_before=window.next_opening(timezone.now()),
        **window_fields(window),
    )
    shown = asking.get(f"/jobs/{made.key}").json()
    estimate = shown["window_estimate"]
    assert estimate["opens_at"] == shown["not_before"]
    assert estimate["done_from"] > estimate["opens_at"]
    moved = send(asking, "put", f"/jobs/{made.key}/window", NIGHT)
    assert (moved.status_code, moved.json()["window"]) == (202, NIGHT)
    begun = send(asking, "delete", f"/jobs/{made.key}/window")
    assert begun.status_code == 202
    assert (begun.json()["window"], begun.json()["not_before"]) == (None, None)
    end(made, State.CANCELLED)
    problem(send(asking, "put", f"/jobs/{made.key}/window", NIGHT), 409, "not_now")


def test_a_window_that_never_meets_the_change_window_is_refused(
    asking: Program, there: Scene
) -> None:
    path = f"/hosts/{there.host.key}"
    send(asking, "patch", path, {"window": {"start": "10:00", "end": "12:00"}})
    refused = send(asking, "patch", path, {"cache_window": NIGHT})
    assert refused.status_code == 422 and refused.json()["code"] == "never_open"
    assert Host.objects.get().cache_window is None
