"""What breaks between panel and host, or inside the panel, while a job runs. The same accidents on
a real host are in test_lab.py."""

from __future__ import annotations

from functools import partial

import pytest

from jobs.models import State
from storage.models import Volume
from tests.integration.accidents import cut, kill_worker
from tests.integration.confirmation import confirmed
from tests.integration.machine import Machine
from tests.integration.person import Person, finished, words
from tests.integration.running import REDIS, Running

pytestmark = pytest.mark.parametrize("machine", ["fake"], indirect=True)


def test_a_connection_cut_in_the_middle_of_an_attachment_leaves_it_running_and_the_job_ends_well(
    machine: Machine, person: Person, found: Volume
) -> None:
    preview = person.add_cache(found, 256)
    with machine.hold("lvconvert") as held:
        confirmed(person, machine, preview, partial(cut, machine, held))
    assert "Mode writethrough Technology lvmcache" in words(person.volume_page(found))


def test_a_job_whose_worker_is_killed_is_finished_by_another(
    machine: Machine, panel: Running, person: Person, found: Volume
) -> None:
    preview = person.add_cache(found, 256)
    with machine.hold("lvconvert") as held:
        confirmed(person, machine, preview, partial(kill_worker, panel, held))


def test_a_job_asked_for_while_redis_is_down_is_accepted_and_done_without_it(
    panel: Running, person: Person, found: Volume
) -> None:
    preview = person.tag(found)
    panel.kill(REDIS)
    try:
        job = person.apply(preview)
        assert job.state == State.QUEUED
        assert "Waiting for a free worker" in words(person.job_page(job))
        assert (finished(job).state, job.error) == (State.SUCCEEDED, {})
        assert REDIS not in panel.running()
    finally:
        panel.start(REDIS)
