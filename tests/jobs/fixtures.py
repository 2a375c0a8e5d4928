"""Servers for the tests of jobs, and the plain agent with a job for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jobs.engine import operation
from jobs.models import Job
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from tests import make
from tests.jobs.agent import WISH, TaggingAgent
from tests.jobs.sshd import Answer, Sshd


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations are asked about without a pause."""
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.02))


@pytest.fixture
def sshd() -> Iterator[Callable[..., Sshd]]:
    """A maker of SSH servers that end with the test."""
    made: list[Sshd] = []

    def start(answer: Answer = lambda request: {}, **options: Any) -> Sshd:
        made.append(Sshd(answer, **options))
        return made[-1]

    yield start
    for server in made:
        server.close()


@pytest.fixture
def agent() -> TaggingAgent:
    return TaggingAgent()


@pytest.fixture
def job(sshd: Callable[..., Sshd], agent: TaggingAgent) -> Job:
    """A queued job for the agent's volume."""
    volume = make.volume()
    make.placement(volume, sshd(agent).host(), lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    return submit(ChangeRequest("tag-volume", volume, WISH), Requester(None))
