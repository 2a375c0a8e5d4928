"""A flush that runs goes on faster when a person asks for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.engine import flush_rate, operation, rollback, runner
from jobs.models import AuditEntry, Job, Kind, State, StepState
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from storage.byte_sizes import GIB
from storage.models import Volume
from storage.planner import Refused
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.jobs.agent import running
from tests.jobs.cachingagent import CachingAgent, managed
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Sshd
from tests.one_line import on_one_line

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]

NO_PERSON = Requester(None, None)
POOL = "c-aaaaaaaaaaaaaaaa"
THRESHOLD = 16384
FLUSHED = Wish(8 * GIB, cache=LvmCache(POOL, 2 * GIB, mode="writeback"), flushed=True)
ABORTED = {"code": "aborted", "message": "It was stopped on request.", "correction": ""}


class FlushingAgent(CachingAgent):
    """Its volume has a dirty cache. The first flush goes on until it is aborted, the next one
    ends; `paces` are the thresholds of the flushes, None where it was not said."""

    def __init__(self) -> None:
        super().__init__()
        cache = make.dm_cache(POOL, mode="writeback", dirty_bytes=GIB)
        self.lv = make.lv("web12", cache=cache)
        self.paces: list[int | None] = []
        self.pace_args: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> object:
        verb, args = request.get("verb"), request.get("args", {})
        if verb == "op.pace":
            self.pace_args.append(args)
            return {"op": args["op"], "state": "running"}
        if verb == "cache.flush":
            self.ops[request["id"]] = request
            self.paces.append(args.get("migration_threshold"))
            if len(self.paces) > 1:
                self._set(policy="cleaner", dirty_bytes=0, threshold=self.paces[-1])
            return {"op": request["id"]}
        if verb == "cache.set":
            self.ops[request["id"]] = request
            self._set(policy=args["policy"], threshold=args.get("migration_threshold"))
            return {"op": request["id"]}
        if verb == "op.get" and len(self.paces) == 1:
            if self.aborted:
                return self.op_get(request) | {"state": "interrupted", "error": ABORTED}
            self.outcomes = [running()]
        return super().__call__(request)

    def _set(self, *, threshold: int | None, **fields: Any) -> None:
        assert self.lv.cache is not None
        if threshold is not None:
            fields["migration_threshold_sectors"] = threshold
        self.lv = dataclasses.replace(self.lv, cache=dataclasses.replace(self.lv.cache, **fields))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.02))
    monkeypatch.setattr(runner, "HOLD_SECONDS", 0.0)


@pytest.fixture
def agent() -> FlushingAgent:
    return FlushingAgent()


@pytest.fixture
def job(sshd: Make, agent: FlushingAgent) -> Job:
    """A job whose flush runs."""
    volume: Volume = managed(agent, sshd(agent).host())
    return run(submit(ChangeRequest(Kind.FLUSH_CACHE, volume, FLUSHED), Requester(None)))


def test_a_faster_flush_takes_over_and_the_threshold_is_put_back(
    job: Job, agent: FlushingAgent
) -> None:
    assert (job.state, agent.paces) == (State.WAITING, [None])
    requester = Requester(make.staff_user("bob@example.org"), "198.51.100.2")
    flush_rate.raise_rate(job, requester)
    run(job)
    assert agent.aborted == [str(job.step_set.get(n=1).op_id)]
    for _ in range(6):
        run(job)
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert agent.paces == [None, 4 * THRESHOLD]
    assert len(agent.aborted) == 1
    cache = agent.lv.cache
    assert cache is not None
    assert (cache.policy, cache.migration_threshold_sectors) == ("smq", THRESHOLD)
    assert job.line_set.filter(text="Speed raised by bob@example.org.").count() == 1
    flushes = AuditEntry.objects.filter(job_key=job.key, verb="cache.flush")
    assert [(each.phase, each.actor, each.address) for each in flushes] == [
        ("intent", "", None),
        ("outcome", "", None),
        ("intent", "bob@example.org", "198.51.100.2"),
        ("outcome", "bob@example.org", "198.51.100.2"),
    ]
    recorded = Volume.objects.get(pk=job.volume_id).wish
    assert (recorded["flushed"], recorded["pace_sectors"]) == (False, None)


def test_the_pace_has_a_top(job: Job) -> None:
    seen = []
    with pytest.raises(Refused) as caught:
        while len(seen) < 9:
            flush_rate.raise_rate(job, NO_PERSON)
            job.refresh_from_db()
            seen.append(Wish.from_json(job.wish).pace_sectors)
    assert caught.value.code == "top_pace"
    assert seen == [4 * THRESHOLD, 16 * THRESHOLD, 64 * THRESHOLD]


def test_without_a_flush_there_is_no_pace(job: Job) -> None:
    job.step_set.update(verb="cache.attach")
    with pytest.raises(Refused) as caught:
        flush_rate.raise_rate(job, NO_PERSON)
    assert caught.value.code == "no_flush"
    assert Wish.from_json(Job.objects.get(pk=job.pk).wish).pace_sectors is None


def test_an_operator_raises_the_pace_on_the_jobs_page(job: Job, client: Client) -> None:
    progress = {"label": "flushed", "done_bytes": 1, "total_bytes": GIB, "rate_bytes_s": 0}
    job.step_set.update(progress=progress)
    page, url = reverse("job", args=[job.key]), reverse("job-pace", args=[job.key])
    client.force_login(make.staff_user(staff_role="read_only"))
    assert url in client.get(page).content.decode()
    assert client.post(url).status_code == 403
    client.force_login(make.staff_user(staff_role="operator"))
    assert client.post(url).status_code == 302
    job.refresh_from_db()
    assert Wish.from_json(job.wish).pace_sectors == 4 * THRESHOLD
    job.step_set.update(state=StepState.DONE)
    said = client.post(url, follow=True).content.decode()
    assert "No running step of this job can be made faster." in said


def test_a_flush_that_has_ended_counts_however_dirty_the_cache_is_again(job: Job) -> None:
    assert rollback.current_wish(job).flushed
    job.step_set.update(state=StepState.DONE)
    assert rollback.current_wish(job) == FLUSHED.lasting


def others(allowed_percent: int, **changes: int) -> dict[str, Any]:
    felt = {"p95_us": 18_200, "alone_p95_us": 16_000, "share_percent": 35} | changes
    moved = {"label": "moved", "done_bytes": GIB, "total_bytes": 4 * GIB}
    return {**moved, "others": {**felt, "allowed_percent": allowed_percent}}


def test_who_waits_for_a_move_lets_the_others_feel_more_of_it(
    job: Job, agent: FlushingAgent, client: Client
) -> None:
    job.step_set.update(verb="volume.move", progress=others(20))
    client.force_login(make.staff_user(staff_role="operator"))
    page = on_one_line(client.get(reverse("job", args=[job.key])).content.decode())
    slowed = "p95 of other volumes on these disks is 18.2\xa0ms (+14\xa0%, limit +20\xa0%)"
    assert f"Throttled to 35\xa0% of the time: {slowed}." in page
    assert "may then rise by 50\xa0%" in page
    flush_rate.raise_rate(job, NO_PERSON)
    step = job.step_set.get()
    for _ in range(2):
        flush_rate.apply_rate(job, step)
    assert agent.pace_args == [{"op": str(step.op_id), "rise_percent": 50}] * 2
    step.progress = others(50)
    flush_rate.apply_rate(job, step)
    assert len(agent.pace_args) == 2, "its host keeps the new budget"
    assert agent.aborted == []


def test_the_others_patience_has_an_end(job: Job) -> None:
    job.step_set.update(verb="volume.destroy", progress=others(500))
    with pytest.raises(Refused) as caught:
        flush_rate.raise_rate(job, NO_PERSON)
    assert caught.value.code == "top_pace"


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (
            others(20, p95_us=0, alone_p95_us=0, share_percent=100),
            "Not throttled: no other volume on these disks has I/O now.",
        ),
        (others(20, p95_us=0, alone_p95_us=0, share_percent=25), "is not measured yet"),
    ],
)
def test_a_page_says_where_nothing_can_be_said_of_the_others(
    job: Job, client: Client, progress: dict[str, Any], said: str
) -> None:
    job.step_set.update(verb="volume.move", progress=progress)
    client.force_login(make.staff_user(staff_role="operator"))
    assert said in client.get(reverse("job", args=[job.key])).content.decode()
