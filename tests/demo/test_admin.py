"""The admin of the demo has patience with a host that is busy, and with nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs.models import Job, State
from tests.demo import admin

BUSY = {"code": "timeout", "message": "lvm fullreport did not answer within 10 seconds."}
SILENT = {"code": "no_answer", "message": "storage01 did not answer within 30 s."}
FULL = {"code": "no_space", "message": "The SSD is full.", "correction": "Choose another one."}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "AGAIN_SECONDS", 0)


def failed(error: dict[str, str]) -> Job:
    return Job(dry_run=True, state=State.FAILED, error=error)


def answers(*jobs: Job) -> Iterator[Job]:
    yield from jobs


def test_a_preview_that_a_busy_host_did_not_answer_is_asked_for_again() -> None:
    done = Job(dry_run=True, state=State.SUCCEEDED)
    asked = answers(failed(BUSY), failed(BUSY), done)
    assert admin.patiently(lambda: next(asked)) is done


def test_what_the_host_refuses_is_not() -> None:
    asked = answers(failed(FULL))
    with pytest.raises(RuntimeError) as raised:
        admin.patiently(lambda: next(asked))
    assert str(raised.value) == "Preview failed: The SSD is full. Choose another one."


def test_a_job_that_a_busy_host_stopped_is_done_again_or_resumed() -> None:
    done, stopped = Job(state=State.SUCCEEDED), Job(state=State.NEEDS_ATTENTION, error=SILENT)
    asked, resumed = answers(failed(SILENT), stopped), answers(stopped, done)
    assert admin.patiently(lambda: next(asked), lambda _: next(resumed)) is done


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "PATIENCE_SECONDS", 0)
    asked = answers(failed(BUSY))
    with pytest.raises(RuntimeError, match="did not answer"):
        admin.patiently(lambda: next(asked))
