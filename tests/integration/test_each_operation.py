"""Every operation an operator has, once by its page and once by the API: what its preview showed is
what the audit trail says was run, and the volume's guest finds its data as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby

import pytest

from jobs.models import AuditEntry, Job, Kind, Origin, Phase, State
from jobs.queue.cost_estimate import estimate_of
from panel.accounts import api_tokens
from panel.models import Scope, User
from storage.models import Host
from storage.naming import retired_name, volume_name
from tests.integration.confirmation import trail_of
from tests.integration.conftest import EMAIL, LAB
from tests.integration.deeds import LIVES, READ_MIB, Deed, Stage
from tests.integration.doors import ByApi, ByPage
from tests.integration.machine import Machine
from tests.integration.person import MIB, Person, argvs
from tests.integration.program import Program
from tests.integration.running import Running

ON_THE_LAB = (*LAB, pytest.mark.thorough, pytest.mark.timeout(1200))
PLAYED_ELSEWHERE = {
    # They put right what went wrong: tests of accidents, and of arrays, play them.
    Kind.DROP_CACHE,
    Kind.REPAIR_VOLUME,
    Kind.REPLACE_MEMBER,
    # tests/jobs/benchmarks
    Kind.BENCHMARK,
}


@pytest.fixture(params=["page", "api"])
def door(request: pytest.FixtureRequest, person: Person, panel: Running) -> ByPage | ByApi:
    if request.param == "page":
        return ByPage(person)
    user = User.objects.get(email=EMAIL)
    scopes = [Scope.READ, Scope.VOLUMES, Scope.DESTROY]
    _, text = api_tokens.issue(user, name="operations", scopes=scopes, days=1)
    return ByApi(Program(panel.url, text))


@pytest.fixture
def stage(machine: Machine, host: Host, person: Person) -> Iterator[Stage]:
    """A host whose retired volumes may be destroyed at once."""
    machine.world.allow(["vg0"], undo_hours=0)
    person.refresh(host)
    yield Stage(machine, host, person)
    machine.world.allow(["vg0"])
    person.refresh(host)


@dataclass(frozen=True, slots=True)
class Timed:
    """A job on the lab: the seconds that its preview said, and those that it took."""

    deed: str
    quickest: float
    slowest: float
    took: float

    @property
    def is_as_said(self) -> bool:
        """Within a factor of two."""
        return self.quickest / 2 <= self.took <= 2 * self.slowest


@pytest.fixture(scope="module")
def timed() -> Iterator[list[Timed]]:
    """Each job on the lab; of ten, nine take the time that was said before."""
    jobs: list[Timed] = []
    yield jobs
    others = [each for each in jobs if not each.is_as_said]
    print(f"{len(jobs) - len(others)} of {len(jobs)} jobs took the time that was said", flush=True)
    assert len(others) <= len(jobs) / 10, others


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("machine", ["fake", pytest.param("lab", marks=ON_THE_LAB)], indirect=True)
def test_what_was_previewed_is_done_and_the_data_is_as_it_was(
    stage: Stage, door: ByPage | ByApi, life: str, timed: list[Timed]
) -> None:
    for is_online, deeds in groupby(LIVES[life], key=lambda deed: deed.is_online):
        with ExitStack() as held:
            if is_online:
                held.enter_context(stage.machine.world.guest("web12", stage.lv))
                stage.person.refresh(stage.host)
            for deed in deeds:
                play(deed, stage, door, timed)
        stage.person.refresh(stage.host)


def play(deed: Deed, stage: Stage, door: ByPage | ByApi, timed: list[Timed]) -> None:
    """From its preview to its end."""
    with deed.scene(stage):
        preview = deed.ask(door, stage)
        assert (preview.state, preview.error) == (State.SUCCEEDED, {}), deed.name
        said = estimate_of(preview, list(preview.step_set.order_by("n")))
        job = door.confirm(preview)
        assert (job.state, job.error, job.kind) == (State.SUCCEEDED, {}, deed.kind), deed.name
        assert tuple(step.verb for step in job.step_set.all()) == deed.verbs, deed.name
        assert argvs(preview) == argvs(job) == trail_of(job), deed.name
        assert_signed(job, door)
        look(deed, stage, job)
        # An operation of a fake host takes as long as the test says.
        if stage.machine.name == "lab":
            assert said is not None and job.started_at is not None and job.ended_at is not None
            took = (job.ended_at - job.started_at).total_seconds()
            timed.append(Timed(deed.name, said.seconds, said.slowest_seconds, took))


def assert_signed(job: Job, door: ByPage | ByApi) -> None:
    """Each operation of the job ended well, and the trail says who asked for it, by which door."""
    came_by, has_token = (Origin.PAGE, False) if isinstance(door, ByPage) else (Origin.API, True)
    for entry in AuditEntry.objects.filter(job_key=job.key):
        assert (entry.actor, entry.origin, bool(entry.token)) == (EMAIL, came_by, has_token)
        if entry.phase == Phase.OUTCOME:
            assert entry.result == {"state": "done"}


def look(deed: Deed, stage: Stage, job: Job) -> None:
    """What became of the volume's data; a new one gets some."""
    if deed.data == "kept":
        assert stage.read() == stage.digest, deed.name
    elif deed.data == "new":
        stage.volume = job.volume
        stage.machine.write(stage.lv, READ_MIB * MIB)
        stage.digest = stage.read()
    else:
        there = {volume_name(stage.held.key), retired_name(stage.held.key)} & stage.machine.lvs()
        assert there == ({retired_name(stage.held.key)} if deed.data == "off" else set())


def test_the_table_has_every_operation() -> None:
    played = {deed.kind for deeds in LIVES.values() for deed in deeds}
    assert played == set(Kind) - PLAYED_ELSEWHERE
