"""`tiercel jobs` and `tiercel audit` at a live panel."""

from __future__ import annotations

import uuid

import pytest

from jobs.models import State
from panel.cli.exit_codes import ExitCode
from storage.byte_sizes import GIB
from tests.panel.cli.conftest import Meanwhile, Tiercel, said
from tests.scene import Scene, end, job, step, stuck_job

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_is_followed_to_its_end(tiercel: Tiercel, there: Scene, meanwhile: Meanwhile) -> None:
    at_work = job(there)
    running = step(at_work, state="running", op_id=uuid.uuid4())
    said(at_work, "one")
    half = {"label": "copied", "done_bytes": GIB, "total_bytes": 2 * GIB}
    meanwhile(
        lambda: type(running).objects.filter(pk=running.pk).update(progress=half),
        lambda: (said(at_work, "two", "\x1b[31mred"), end(at_work)),
    )
    followed = tiercel("jobs", "follow", at_work.key)
    assert followed.code == 0, followed.error
    assert followed.out == f"one\ntwo\n\\x1b[31mred\nJob {at_work.key}: succeeded\n"
    assert "[1/1] Attach the cache" in followed.error


@pytest.mark.parametrize(
    ("state", "ends_with"),
    [
        (State.FAILED, ExitCode.FAILED),
        (State.CANCELLED, ExitCode.FAILED),
        (State.NEEDS_ATTENTION, ExitCode.NEEDS_ATTENTION),
    ],
)
def test_the_end_of_a_job_is_the_exit_code(
    tiercel: Tiercel, there: Scene, state: State, ends_with: ExitCode
) -> None:
    error = {"code": "stalled", "message": "It stalled.", "correction": "Look at the host."}
    over = stuck_job(there.volume, error=error)
    if state != State.NEEDS_ATTENTION:
        end(over, state)
    for command in (("jobs", "follow", over.key), ("jobs", "follow", over.key, "--json")):
        followed = tiercel(*command)
        assert followed.code == ends_with
        assert "It stalled." in followed.error and "Look at the host." in followed.error


def test_waiting_ends_after_its_time_and_the_job_goes_on(tiercel: Tiercel, there: Scene) -> None:
    at_work = job(there)
    followed = tiercel("jobs", "follow", at_work.key, "--timeout", "0.1")
    assert followed.code == ExitCode.WAITED_TOO_LONG
    assert f"tiercel jobs follow {at_work.key}" in followed.error
    at_work.refresh_from_db()
    assert at_work.state == State.QUEUED


def test_a_job_is_cancelled(tiercel: Tiercel, there: Scene) -> None:
    queued = job(there)
    assert tiercel("jobs", "cancel", queued.key).code == ExitCode.USAGE
    cancelled = tiercel("jobs", "cancel", queued.key, "--yes")
    assert cancelled.code == 0, cancelled.error
    queued.refresh_from_db()
    assert queued.state == State.CANCELLED


def test_a_job_gets_a_window_and_begins_without_it(tiercel: Tiercel, there: Scene) -> None:
    made = job(there, kind="flush-cache")
    berlin = ("--zone", "Europe/Berlin")
    given = tiercel("jobs", "window", made.key, "02:00-05:00", *berlin, "--json")
    window = {"start": "02:00", "end": "05:00", "zone": "Europe/Berlin"}
    assert (given.code, given.data["window"]) == (0, window)
    assert "02:00-05:00 Europe/Berlin" in tiercel("jobs", "show", made.key).out
    assert tiercel("jobs", "window", made.key, "none", "--json").data["window"] is None
    wrong = tiercel("jobs", "window", made.key, "at night")
    assert (wrong.code, "02:00-05:00" in wrong.error) == (ExitCode.USAGE, True)


def test_the_audit_trail_is_read(tiercel: Tiercel, there: Scene) -> None:
    assert tiercel("audit", "--volume", there.volume.key).out == "No entries.\n"
    assert tiercel("audit", "--since", "yesterday").code == ExitCode.REFUSED
