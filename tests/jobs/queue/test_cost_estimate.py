"""What a preview's page and its answer over the API say that it takes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, State, Step
from jobs.queue.cost_estimate import PastStep, learned, past_of
from storage.byte_sizes import GIB, MIB
from storage.planner import PlannedStep
from storage.planner.cost import Cost, StepCost
from tests import make
from tests.panel.api.asking import staff
from tests.scene import Scene, end, job, scene, step

pytestmark = pytest.mark.django_db

POOL = {"vg": "vg0", "name": "c-aaaa", "size_bytes": 2 * GIB, "pvs": ["md0"], "chunk_kib": 64}


def preview(there: Scene, *steps: dict[str, Any]) -> Job:
    """A preview that ended well, with these steps."""
    made = job(there, dry_run=True)
    for n, fields in enumerate(steps, 1):
        step(made, n=n, **fields)
    end(made)
    return made


def page(client: Client, of: Job) -> str:
    client.force_login(make.staff_user())
    return client.get(reverse("job", args=[of.key])).content.decode()


def test_a_preview_says_time_waiting_dirty_data_room_and_the_way_back(client: Client) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-bbbb_cpool", dirty_bytes=192 * MIB)))
    text = page(client, preview(there, {"verb": "pool.create", "args": POOL}))
    assert ">Cost</h2>" in text
    assert "192\xa0MiB" in text
    assert "2\xa0GiB of 40\xa0GiB free" in text
    assert "possible with a new job" in text
    assert "no way back" not in text
    assert "LVM locks the volume group" not in text, "no other job is there to wait"


def test_others_of_the_group_are_named(client: Client) -> None:
    there = scene(more_lvs=(make.lv("db1"), make.lv("db2", open_count=0)))
    text = page(client, preview(there, {"verb": "cache.attach"}))
    assert "2, 1 in use" in text
    assert "LVM locks the volume group vg0" in text


@pytest.mark.parametrize(
    ("makes_irrevocable", "words"),
    [((False, True), "possible until step 2"), ((True, True), "not possible after start")],
)
def test_the_point_of_no_return_is_named(
    client: Client, makes_irrevocable: tuple[bool, bool], words: str
) -> None:
    steps = [{"verb": "cache.set", "makes_irrevocable": turn} for turn in makes_irrevocable]
    text = page(client, preview(scene(), *steps))
    assert words in text
    assert text.count("rollback not possible from here") == 1


def test_a_running_job_estimates_nothing(client: Client) -> None:
    there = job(scene())
    step(there)
    assert "Estimated time" not in page(client, there)


def test_the_api_says_the_same_of_a_preview_and_nothing_of_a_job() -> None:
    there = scene(more_lvs=(make.lv("db1"),))
    asking = staff()
    cost = asking.get(f"/jobs/{preview(there, {'verb': 'cache.attach'}).key}").json()["cost"]
    assert (cost["wait_seconds"], cost["other_volumes"], cost["final_step"]) == (2, 1, None)
    assert cost["ssd_bytes"] == 0
    assert "cost" not in asking.get(f"/jobs/{job(there).key}").json()


def past(*jobs: tuple[float, ...]) -> list[PastStep]:
    """Jobs of 10 s beside their steps, which took so many seconds each."""
    return [
        PastStep(n, "cache.attach", seconds, sum(steps) + 10)
        for n, steps in enumerate(jobs)
        for seconds in steps
    ]


def test_an_estimate_learns_what_such_steps_and_the_time_between_them_took_on_the_host() -> None:
    step = PlannedStep("cache.attach", {}, {}, "Attach")
    guess = Cost((StepCost(2.0, 1.0, is_final=False),), "vg0", 0, 0, 0, 0, 0)
    assert learned(guess, [step], []) == guess
    found = learned(guess, [step], past((12.0,), (12.0,), (90.0,)))
    assert (found.seconds, found.past_jobs) == (12.0 + 10.0, 3)
    assert found.wait_seconds == 1.0


def test_past_jobs_that_took_none_of_the_steps_are_not_counted() -> None:
    step = PlannedStep("volume.create", {}, {}, "Create")
    guess = Cost((StepCost(2.0, 1.0, is_final=False),), "vg0", 0, 0, 0, 0, 0)
    assert learned(guess, [step], past((12.0,), (12.0,))).past_jobs == 0


def test_what_depends_on_the_amount_of_data_is_not_learned() -> None:
    flush = PlannedStep("cache.flush", {}, {}, "Flush")
    guess = Cost((StepCost(300.0, 1.0, is_final=False),), "vg0", 0, 0, 0, 0, 0)
    done = [PastStep(1, "cache.flush", 2.0, 2.0)]
    assert learned(guess, [flush], done).seconds == 300.0


def test_only_jobs_that_succeeded_on_the_same_host_count() -> None:
    there, now = scene(), timezone.now()
    times = {"started_at": now - timedelta(seconds=30), "ended_at": now}
    good, elsewhere = job(there), job(scene())
    end(good)
    bad = job(there)
    for each, state in ((good, State.SUCCEEDED), (bad, State.FAILED), (elsewhere, State.SUCCEEDED)):
        step(each, state="done", op_id=uuid4(), **times)
        end(each, state, **times)
    (found,) = past_of(there.host)
    assert (found.verb, found.seconds, found.job_seconds) == ("cache.attach", 30.0, 30.0)


def test_what_zeroes_is_as_fast_as_the_host_let_such_steps_be() -> None:
    """The page says both: on quiet disks, and next to busy guests."""
    zero = PlannedStep("pool.create", POOL, {}, "Zero")
    guess = Cost((StepCost(21.0, 1.0, False, 201.0, 2 * GIB),), "vg0", 0, 0, 0, 0, 0)
    assert guess.duration == "21 s to 3 min"
    done = [
        PastStep(n, zero.verb, seconds, seconds, GIB)
        for n, seconds in enumerate((50.0, 64.0, 400.0))
    ]
    found = learned(guess, [zero], [*done, PastStep(9, zero.verb, 9.0, 9.0, MIB)])
    fixed = found.seconds - 2 * 64
    assert 0 <= fixed <= 5
    assert found.slowest_seconds == pytest.approx(800 + fixed)
    assert found.duration == "2 min to 13 min"


def test_steps_that_always_took_as_long_have_no_range() -> None:
    step = PlannedStep("cache.attach", {}, {}, "Attach")
    guess = Cost((StepCost(2.0, 1.0, is_final=False),), "vg0", 0, 0, 0, 0, 0)
    assert learned(guess, [step], past((12.0,), (13.0,), (14.0,))).duration == "about 23 s"
    assert learned(guess, [step], past((12.0,), (13.0,), (60.0,))).duration == "23 s to 1 min"


def test_a_step_that_rests_for_others_is_said_to_run_slowly(client: Client) -> None:
    there = job(scene())
    others = {"p95_us": 7700, "alone_p95_us": 6600, "allowed_percent": 20, "share_percent": 1}
    progress = {"label": "Zeroed", "done_bytes": MIB, "total_bytes": GIB, "others": others}
    step(there, state="running", op_id=uuid4(), progress=progress)
    assert "running slowly to protect other volumes" in page(client, there)
    Step.objects.update(progress=progress | {"others": others | {"share_percent": 100}})
    assert "running slowly" not in page(client, there)
