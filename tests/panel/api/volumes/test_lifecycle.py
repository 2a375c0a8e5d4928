"""PUT wish with a life: retire, restore, destroy; and what lists say of such volumes."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Job
from storage.models import Volume
from storage.naming import new_key, retired_name
from storage.planner.wish import Wish
from tests import make
from tests.panel.api.asking import Program, member, own, problem, staff
from tests.scene import Scene, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def put(asking: Program, there: Scene, **body: Any) -> Any:
    path = f"/volumes/{there.volume.key}/wish"
    return asking.send("put", path, body, **{"Idempotency-Key": uuid.uuid4().hex})


def off(hours: int = 48) -> Scene:
    """A volume that was retired so many hours ago."""
    key, at = new_key(), timezone.now() - dt.timedelta(hours=hours)
    marks = ("tiercel.name=web12", f"tiercel.retired={int(at.timestamp())}")
    tags = (*make.tags(key), *marks)
    lv = make.lv(retired_name(key), tags=tags, active=False, open_count=0)
    there = scene(lv, managed=False)
    Volume.objects.filter(pk=there.volume.pk).update(key=key, managed=True, retired_at=at)
    there.volume.refresh_from_db()
    return there


def test_a_volume_is_retired_and_restored(asking: Program) -> None:
    assert put(asking, scene(), life="retired").status_code == 202
    assert put(asking, off(), life="live").status_code == 202
    restored, retired = Job.objects.all()
    assert (retired.kind, Wish.from_json(retired.wish).life) == ("retire-volume", "retired")
    assert (restored.kind, Wish.from_json(restored.wish).life) == ("restore-volume", "live")


@pytest.mark.parametrize("life", ["retired", "live"])
def test_what_is_so_already_is_no_job(asking: Program, life: str) -> None:
    there = off() if life == "retired" else scene()
    response = put(asking, there, life=life)
    assert (response.status_code, response.json()["life"]) == (200, life)
    assert not Job.objects.exists()


def test_destroying_demands_the_label_of_the_volume(asking: Program) -> None:
    there = off()
    body = problem(put(asking, there, life="gone"), 422, "invalid")
    assert body["errors"][0]["pointer"] == "/confirm_label"
    body = problem(put(asking, there, life="gone", confirm_label="x"), 422, "invalid")
    assert body["errors"][0]["code"] == "wrong_label"
    assert not Job.objects.exists()
    label = there.volume.label
    assert put(asking, there, life="gone", confirm_label=label).status_code == 202
    assert Job.objects.get().kind == "destroy-volume"


def test_only_a_retired_volume_whose_window_is_over_is_destroyed(asking: Program) -> None:
    for there, code in ((scene(), "not_retired"), (off(hours=1), "too_early")):
        label = there.volume.label
        problem(put(asking, there, life="gone", confirm_label=label), 422, code)
    assert not Job.objects.exists()


def test_an_operator_retires_but_does_not_destroy() -> None:
    asking, there = staff("operator"), off()
    response = put(asking, there, life="gone", confirm_label=there.volume.label)
    assert response.status_code == 403
    assert put(asking, scene(), life="retired").status_code == 202


@pytest.mark.parametrize("more", [{"cache": None}, {"flushed": True}])
def test_the_life_of_a_volume_is_asked_for_alone(asking: Program, more: dict[str, Any]) -> None:
    body = problem(put(asking, scene(), life="retired", **more), 422, "invalid")
    assert body["errors"][0]["pointer"] == "/life"


def test_a_wish_for_nothing_is_an_error(asking: Program) -> None:
    problem(put(asking, scene()), 422, "invalid")


def test_while_a_job_retires_it_another_wish_is_busy(asking: Program) -> None:
    there = scene()
    wish = Wish(there.volume.size_bytes, life="retired").to_json()
    running = job(there, kind="retire-volume", wish=wish)
    assert put(asking, there, life="retired").json()["key"] == running.key
    assert put(asking, there, cache=None).status_code == 409
    assert put(asking, there, life="live").status_code == 409


def test_lists_leave_out_what_was_destroyed(asking: Program) -> None:
    gone, retired = scene(), off()
    Volume.objects.filter(pk=gone.volume.pk).update(destroyed_at=timezone.now())
    (listed,) = asking.get("/volumes/").json()["items"]
    assert (listed["key"], listed["state"]) == (retired.volume.key, "retired")
    (listed,) = asking.get("/volumes/", state="destroyed").json()["items"]
    assert (listed["key"], listed["state"]) == (gone.volume.key, "destroyed")
    assert len(asking.get("/volumes/", state="retired").json()["items"]) == 1


def test_customers_have_no_volume_that_is_switched_off() -> None:
    there, customer = off(), make.customer()
    own(there, customer)
    program = member(customer)
    assert program.get("/volumes/").json()["items"] == []
    assert program.get(f"/volumes/{there.volume.key}").status_code == 404


def test_a_volume_that_is_kept_says_until_when_in_a_form_for_programs(asking: Program) -> None:
    there = off(hours=1)
    answer = put(asking, there, life="gone", confirm_label=there.volume.label)
    body = problem(answer, 422, "too_early")
    shown = asking.get(f"/volumes/{there.volume.key}").json()
    assert body["not_before"] == shown["undo_until"]
    assert shown["retired_at"] is not None
    until = dt.datetime.fromisoformat(shown["undo_until"])
    left = (until - timezone.now()).total_seconds()
    assert abs(int(answer["Retry-After"]) - left) < 5
    live = asking.get(f"/volumes/{scene().volume.key}").json()
    assert (live["retired_at"], live["undo_until"]) == (None, None)


def test_a_volume_is_destroyed_as_soon_as_its_host_no_longer_keeps_it(asking: Program) -> None:
    there = off(hours=1)
    body = {"life": "gone", "confirm_label": there.volume.label, "when": "as_soon_as_allowed"}
    answer = put(asking, there, **body)
    assert answer.status_code == 202, answer.content
    waiting = Job.objects.get()
    until = dt.datetime.fromisoformat(
        asking.get(f"/volumes/{there.volume.key}").json()["undo_until"]
    )
    assert waiting.kind == "destroy-volume"
    assert waiting.not_before == until + dt.timedelta(minutes=1)


def test_a_volume_that_is_kept_no_longer_is_destroyed_at_once(asking: Program) -> None:
    there = off()
    body = {"life": "gone", "confirm_label": there.volume.label, "when": "as_soon_as_allowed"}
    assert put(asking, there, **body).status_code == 202
    assert Job.objects.get().not_before is None


def test_a_live_volume_is_not_destroyed_however_late(asking: Program) -> None:
    there = scene()
    body = {"life": "gone", "confirm_label": there.volume.label, "when": "as_soon_as_allowed"}
    problem(put(asking, there, **body), 422, "not_retired")


def test_only_a_destruction_waits(asking: Program) -> None:
    answer = put(asking, scene(), life="retired", when="as_soon_as_allowed")
    assert problem(answer, 422, "invalid")["errors"][0]["pointer"] == "/when"
