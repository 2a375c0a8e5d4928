"""A queued job that adds a cache, and the agent that it meets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobs.models import Job, Kind
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from tests.jobs.cachingagent import CACHED, CachingAgent, managed
from tests.jobs.sshd import Sshd


@pytest.fixture
def agent() -> CachingAgent:
    return CachingAgent()


@pytest.fixture
def job(sshd: Callable[..., Sshd], agent: CachingAgent) -> Job:
    """A queued job that adds a cache to a bare volume."""
    volume = managed(agent, sshd(agent).host())
    return submit(ChangeRequest(Kind.ADD_CACHE, volume, CACHED), Requester(None))
