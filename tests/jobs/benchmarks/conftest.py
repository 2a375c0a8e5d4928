"""Benchmarks against the fake host, whose agent is the real one."""

from __future__ import annotations

import json

import pytest

from jobs.engine import runner
from jobs.hosts.refresh import refresh
from storage.byte_sizes import GIB
from storage.models import Host
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import enrolled

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]


def allow(fake_host: FakeHost, quota_bytes: int) -> None:
    """Root's word on the host."""
    policy = json.loads(fake_host.read("/etc/tiercel/agent.json") or b"{}")
    text = json.dumps({**policy, "benchmark_bytes": quota_bytes})
    fake_host.save("/etc/tiercel/agent.json", text.encode())


@pytest.fixture(autouse=True)
def short_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker lets go of a run that stands still."""
    monkeypatch.setattr(runner, "HOLD_SECONDS", 0.2)


@pytest.fixture
def bench_host(enrolled: Host, fake_host: FakeHost) -> Host:
    """A host where root allows benchmarks."""
    allow(fake_host, 4 * GIB)
    assert refresh(enrolled), enrolled.error
    enrolled.refresh_from_db()
    return enrolled
