"""Every operation that was sent leaves one intent and one outcome, and no one can change them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models.functions import Now

from jobs import audit_trail
from jobs.engine import runner
from jobs.engine.transitions import transition
from jobs.hosts import contact
from jobs.models import AuditEntry, Job, Origin, Phase, State, StepState
from jobs.queue.reaper import PREVIEW_LIFE, prune_previews
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from tests import make
from tests.conftest import url_of
from tests.jobs.agent import WISH, TaggingAgent, running
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Cut, Refuse, Sshd
from tests.scene import end, job, scene, step

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]
OP_ID = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c009"


def start(
    sshd: Make, agent: TaggingAgent, by: Requester | None = None, *, dry_run: bool = False
) -> Job:
    volume = make.volume(label="web12 disk")
    make.placement(volume, sshd(agent).host(), lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    request = ChangeRequest("tag-volume", volume, WISH, dry_run=dry_run)
    return submit(request, by or Requester(None))


def trail(of: Job) -> list[tuple[str, str]]:
    """Phase and result of each entry of the job, oldest first."""
    found = AuditEntry.objects.filter(job_key=of.key)
    return [(entry.phase, entry.result.get("state", "")) for entry in found]


def test_an_operation_leaves_who_where_and_what_before_and_the_result_after(
    sshd: Make, agent: TaggingAgent
) -> None:
    actor = make.staff_user("ada@example.org")
    there = start(sshd, agent, Requester(actor, "203.0.113.9", Origin.API, "tcl_abc"))
    run(there)
    intent, outcome = AuditEntry.objects.all()
    for entry in (intent, outcome):
        assert (entry.job_key, entry.kind) == (there.key, "tag-volume")
        assert (entry.actor, entry.token, entry.origin) == ("ada@example.org", "tcl_abc", "api")
        assert entry.address == "203.0.113.9"
        assert (entry.host, entry.host_key) == (there.host.name, there.host.key)
        assert entry.machine_id == there.host.machine_id
        assert (entry.volume_key, entry.volume_label) == (there.volume.key, "web12 disk")
        assert (entry.verb, entry.vg) == ("volume.tag", "vg0")
        assert entry.op_id == there.step_set.get().op_id
        assert entry.args == there.step_set.get().args
    assert (intent.phase, intent.commands, intent.result) == (Phase.INTENT, [], {})
    assert (outcome.phase, outcome.result) == (Phase.OUTCOME, {"state": "done"})
    assert [(each["argv"], each["rc"]) for each in outcome.commands] == [(["lvchange"], 0)]


def test_the_trail_keeps_the_name_of_an_account_that_is_gone(
    sshd: Make, agent: TaggingAgent
) -> None:
    actor = make.staff_user("leaver@example.org")
    there = run(start(sshd, agent, Requester(actor)))
    actor.delete()
    there.refresh_from_db()
    assert there.actor is None
    assert {entry.actor for entry in AuditEntry.objects.all()} == {"leaver@example.org"}


def test_the_intent_is_committed_before_the_request_is_sent(
    sshd: Make, agent: TaggingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = start(sshd, agent)
    seen: list[list[tuple[str, str]]] = []
    ask = contact.ask

    def look(host: Any, verb: str, *args: Any, **fields: Any) -> Any:
        if verb == "volume.tag":
            seen.append(trail(there))
        return ask(host, verb, *args, **fields)

    monkeypatch.setattr(contact, "ask", look)
    run(there)
    assert seen == [[("intent", "")]]


def test_a_failed_operation_has_its_outcome_with_the_agents_code(
    sshd: Make, agent: TaggingAgent
) -> None:
    error = {"code": "in_use", "message": "a guest holds it", "correction": "stop it"}
    agent.outcomes = [{"state": "failed", "lines": [], "error": error}]
    there = run(start(sshd, agent))
    assert there.state == State.FAILED
    outcome = AuditEntry.objects.get(phase=Phase.OUTCOME)
    assert outcome.result == {"state": "failed", "code": "in_use", "message": "a guest holds it"}
    assert outcome.commands, "what was run before it failed"


def test_an_operation_cut_off_on_the_host_is_said_to_be_so(sshd: Make, agent: TaggingAgent) -> None:
    agent.outcomes = [{"state": "interrupted", "lines": []}]
    there = run(start(sshd, agent))
    assert there.state == State.SUCCEEDED, "the tag is there all the same"
    assert trail(there) == [("intent", ""), ("outcome", "interrupted")]


@pytest.mark.parametrize("code", ["busy", "stuck"])
def test_each_try_at_a_busy_group_is_a_pair_of_its_own(
    sshd: Make, agent: TaggingAgent, code: str
) -> None:
    busy = [True, True, False]

    def refuse(request: dict[str, Any]) -> object:
        if busy.pop(0):
            raise Refuse(code, "vgcfgbackup holds vg0")
        return None

    agent.before["volume.tag"] = refuse
    there = start(sshd, agent)
    while not there.is_over:
        run(there)
    assert there.state == State.SUCCEEDED
    assert trail(there) == [
        ("intent", ""),
        ("outcome", "not_started"),
        ("intent", ""),
        ("outcome", "not_started"),
        ("intent", ""),
        ("outcome", "done"),
    ]
    assert AuditEntry.objects.values("op_id").distinct().count() == 3


def test_a_request_that_never_arrived_ends_as_not_started(sshd: Make, agent: TaggingAgent) -> None:
    cuts = [Cut(), Cut(), None]
    agent.before["volume.tag"] = lambda request: cuts.pop(0)
    there = run(start(sshd, agent))
    assert there.state == State.SUCCEEDED
    assert trail(there) == [
        ("intent", ""),
        ("outcome", "not_started"),
        ("intent", ""),
        ("outcome", "done"),
    ]


def test_a_long_operation_has_no_outcome_until_it_is_over(
    sshd: Make, agent: TaggingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "HOLD_SECONDS", 0.0)
    agent.outcomes = [running()]
    there = run(start(sshd, agent))
    assert trail(there) == [("intent", "")]
    run(there)
    assert trail(there) == [("intent", ""), ("outcome", "done")]


def test_a_job_ended_by_a_person_leaves_no_operation_without_an_outcome() -> None:
    there = job(scene())
    sent = step(there, state=StepState.RUNNING, op_id=OP_ID)
    Job.objects.filter(pk=there.pk).update(state=State.NEEDS_ATTENTION)
    there.refresh_from_db()
    assert transition(there, State.NEEDS_ATTENTION, State.CANCELLED)
    outcome = AuditEntry.objects.get()
    assert (str(outcome.op_id), outcome.verb) == (OP_ID, sent.verb)
    assert outcome.result["state"] == "unknown"


def test_a_preview_leaves_no_trace(sshd: Make, agent: TaggingAgent) -> None:
    there = run(start(sshd, agent, dry_run=True))
    assert there.state == State.SUCCEEDED
    assert not AuditEntry.objects.exists()


def test_forgetting_jobs_forgets_nothing_of_the_trail(sshd: Make, agent: TaggingAgent) -> None:
    done = run(start(sshd, agent))
    old = job(scene(), dry_run=True)
    end(old, ended_at=Now() - 2 * PREVIEW_LIFE)
    assert prune_previews() == 1
    assert len(trail(done)) == 2
    done.delete()
    assert len(trail(done)) == 2


# --- Append-only --------------------------------------------------------------------------------

TAMPERING = (
    "UPDATE jobs_auditentry SET actor = 'another'",
    "DELETE FROM jobs_auditentry",
    "TRUNCATE jobs_auditentry",
    "UPDATE jobs_auditentry SET actor = actor WHERE false",
)


@pytest.fixture
def owner(db: None) -> Iterator[psycopg.Connection]:
    """A connection as the tables' owner, with the trail as production has it (the tests
    themselves empty every table after those that need real transactions)."""
    with psycopg.connect(url_of("owner", connection.settings_dict["NAME"])) as owner:
        owner.execute("ALTER TABLE jobs_auditentry ENABLE ALWAYS TRIGGER audit_no_truncate")
        yield owner
        owner.rollback()


@pytest.mark.parametrize("statement", TAMPERING)
def test_the_owner_of_the_tables_cannot_tamper_with_the_trail(
    owner: psycopg.Connection, statement: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        owner.execute(statement)


@pytest.mark.parametrize("statement", TAMPERING[:2])
def test_the_app_cannot_tamper_with_the_trail(statement: str) -> None:
    with (
        pytest.raises(DatabaseError, match=r"append-only|permission denied"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_the_app_has_no_right_to_try() -> None:
    with connection.cursor() as cursor:
        for right in ("UPDATE", "DELETE"):
            cursor.execute("SELECT has_table_privilege('jobs_auditentry', %s)", [right])
            assert cursor.fetchone() == (False,), right


def test_a_second_outcome_does_not_replace_the_first() -> None:
    there = job(scene())
    sent = step(there, state=StepState.RUNNING, op_id=OP_ID)
    audit_trail.outcome(there, sent)
    audit_trail.outcome(there, sent, {"code": "timeout", "message": "late"})
    assert trail(there) == [("outcome", "done")]
