"""What a job costs the database: as much on a host with many volumes as on one with few."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.engine import runner
from jobs.failpoints import durable
from jobs.models import Job, State
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from storage.models import Customer, Placement, Volume
from storage.planner.wish import Wish
from tests import make
from tests.jobs.agent import WISH, TaggingAgent
from tests.jobs.sshd import Sshd

pytestmark = pytest.mark.django_db

SUBMIT_QUERIES = 7
NOTHING_TO_DO_QUERIES = 11


class Crowd(TaggingAgent):
    """Its volume among others that no job touches."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.facts = make.facts(*(make.lv(f"other{n}") for n in range(count)))

    def inventory(self, request: dict[str, Any]) -> dict[str, Any]:
        return make.inventory(dataclasses.replace(self.facts, lvs=(self.lv, *self.facts.lvs)))


@pytest.fixture
def volume_among(sshd: Callable[..., Sshd]) -> Callable[[int], Volume]:
    """A volume that is as it is wished, on a host with so many others that was read twice."""

    def made(count: int) -> Volume:
        agent = Crowd(count)
        volume, host = make.volume(), sshd(agent).host()
        make.placement(volume, host, lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
        for _ in range(3):
            asked(volume, WISH)
        return Volume.objects.get(pk=volume.pk)

    return made


def asked(volume: Volume, wish: Wish) -> tuple[int, int]:
    """Queries for accepting a job, and for bringing it to its end."""
    with CaptureQueriesContext(connection) as accepting:
        job = submit(ChangeRequest("tag-volume", volume, wish), Requester(None))
    with CaptureQueriesContext(connection) as working:
        runner.run(job.pk)
    assert Job.objects.get(pk=job.pk).state == State.SUCCEEDED
    return len(accepting), len(working)


def test_a_job_that_finds_nothing_to_do_costs_little_however_many_volumes_are_there(
    volume_among: Callable[[int], Volume],
) -> None:
    few = asked(volume_among(1), WISH)
    # The next host has a volume group of the same uuid; two that have it now would be parted.
    Placement.objects.update(missing_since=timezone.now())
    many = asked(volume_among(30), WISH)
    assert few == many
    assert few[0] <= SUBMIT_QUERIES and few[1] <= NOTHING_TO_DO_QUERIES


def test_a_durable_function_within_another_makes_no_savepoint_and_fails_with_it() -> None:
    @durable("inner")
    def inner() -> None:
        make.customer()

    @durable("outer")
    def outer() -> None:
        inner()
        raise RuntimeError("afterwards")

    with CaptureQueriesContext(connection) as queries, pytest.raises(RuntimeError):
        outer()
    said = [query["sql"].split()[0] for query in queries]
    assert said[0] == "SAVEPOINT", "the test's own transaction is around it"
    assert said.count("SAVEPOINT") == 1
    assert not Customer.objects.exists()
