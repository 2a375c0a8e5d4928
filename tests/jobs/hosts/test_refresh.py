"""What the panel adds to the problems that a host tells."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.hosts.refresh import _observed_problems
from jobs.transport.replies import Reply
from storage.agent import VERSION
from storage.database_clock import database_now

pytestmark = pytest.mark.django_db


def codes(*problems: str) -> list[str]:
    """Of a host that allows no volume group and tells these problems."""
    now = database_now()
    data: dict[str, Any] = {"agent": VERSION, "policy": {"vgs": []}}
    data["problems"] = [
        {"code": code, "severity": "error", "message": "", "correction": ""} for code in problems
    ]
    reply = Reply(data, {"wall_ns": int(now.timestamp() * 1e9)})
    return [problem["code"] for problem in _observed_problems(reply, now, now)]


def test_a_broken_policy_is_not_called_observe_only() -> None:
    assert codes() == codes("bcache_scanned") == ["observe_only"]
    assert codes("policy_broken") == []
