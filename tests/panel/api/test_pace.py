"""A flush that a program lets go faster."""

from __future__ import annotations

import uuid

import pytest

from jobs.models import Job, Kind, Origin, State, StepState
from storage.byte_sizes import GIB
from storage.planner.wish import MIGRATION_THRESHOLD_SECTORS, LvmCache, Wish
from tests import make
from tests.panel.api.asking import Program, problem, staff
from tests.scene import Scene, job, scene, step

pytestmark = pytest.mark.django_db
POOL = "c-aaaaaaaaaaaaaaaa"
FLUSHED = Wish(8 * GIB, cache=LvmCache(POOL, 2 * GIB, mode="writeback"), flushed=True)


@pytest.fixture
def asking() -> Program:
    return staff("operator")


@pytest.fixture
def there() -> Scene:
    cache = make.dm_cache(POOL, mode="writeback", dirty_bytes=GIB)
    return scene(make.lv("web12", cache=cache))


@pytest.fixture
def made(there: Scene) -> Job:
    """A job whose flush runs; no worker looks at it now."""
    flushing = job(there, kind=Kind.FLUSH_CACHE, state=State.WAITING, wish=FLUSHED.to_json())
    step(flushing, verb="cache.flush", state=StepState.RUNNING, op_id=uuid.uuid4())
    return flushing


def pace_of(of: Job) -> int | None:
    return Wish.from_json(Job.objects.get(pk=of.pk).wish).pace_sectors


def test_a_program_raises_the_pace_once(asking: Program, made: Job) -> None:
    path = f"/jobs/{made.key}/pace"
    problem(asking.send("post", path), 400, "idempotency_key_required")
    response = asking.send("post", path, **{"Idempotency-Key": "once"})
    assert (response.status_code, response.json()["key"]) == (202, made.key)
    assert response["Location"].endswith(f"/jobs/{made.key}")
    again = asking.send("post", path, **{"Idempotency-Key": "once"})
    assert (again.status_code, again["Idempotency-Replayed"]) == (202, "true")
    assert pace_of(made) == 4 * MIGRATION_THRESHOLD_SECTORS
    made.refresh_from_db()
    assert (made.last_actor, made.last_origin) == (asking.user, Origin.API)
    assert [line.text for line in made.lines_after(0)] == [f"Speed raised by {asking.user}."]


def test_at_its_top_it_is_refused(asking: Program, made: Job) -> None:
    path = f"/jobs/{made.key}/pace"
    for n in range(3):
        assert asking.send("post", path, **{"Idempotency-Key": str(n)}).status_code == 202
    refusal = problem(asking.send("post", path, **{"Idempotency-Key": "more"}), 409, "top_pace")
    assert refusal["correction"]
    assert pace_of(made) == 64 * MIGRATION_THRESHOLD_SECTORS


@pytest.mark.parametrize(
    ("of_job", "of_step"),
    [
        ({}, {"state": StepState.DONE}),
        ({}, {"verb": "cache.attach"}),
        ({"cancel_requested": True}, {}),
        ({"is_rolling_back": True}, {}),
        ({"state": State.NEEDS_ATTENTION}, {}),
    ],
)
def test_where_no_flush_runs_it_is_refused(
    asking: Program, made: Job, of_job: dict[str, object], of_step: dict[str, object]
) -> None:
    Job.objects.filter(pk=made.pk).update(**of_job)
    made.step_set.update(**of_step)
    response = asking.send("post", f"/jobs/{made.key}/pace", **{"Idempotency-Key": "up"})
    assert problem(response, 409, "no_flush")["correction"]
    made.refresh_from_db()
    assert (pace_of(made), made.last_origin) == (None, "")


def test_it_is_for_operators(made: Job) -> None:
    response = staff("read_only").send(
        "post", f"/jobs/{made.key}/pace", **{"Idempotency-Key": "up"}
    )
    assert response.status_code == 403
    assert pace_of(made) is None
