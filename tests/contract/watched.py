"""A volume in the panel's books, whose host's answers are stored as if time had passed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from storage.health.cache_condition_records import judge_lasting, judge_recent, judge_states
from storage.metrics.samples import record_sample
from storage.models import CacheCondition, Host, Volume
from tests import make
from tests.contract.client import Agent

START = datetime.now(UTC).replace(hour=6, minute=0, second=0, microsecond=0)


class Watched:
    """Its minutes begin at `START`."""

    def __init__(self, agent: Agent, name: str, dirty_limit_percent: int = 50) -> None:
        self.agent = agent
        limit = {"dirty_limit_percent": dirty_limit_percent}
        self.host: Host = make.host(last_seen_at=START, **limit)
        self.volume: Volume = make.volume()
        make.placement(self.volume, self.host, lv_uuid=agent.lv(name)["uuid"], lv_name=name)
        self.minute = 0.0

    def sample(self, minutes: float) -> None:
        """What the host says now is stored as of so many minutes after the last time."""
        self.minute += minutes
        reply = self.agent.ask("sample")
        boottime_ns = round((3600 + 60 * self.minute) * 1e9)
        stamp = {"boot_id": reply["host"]["boot_id"], "boottime_ns": boottime_ns}
        record_sample(self.host, reply["data"], stamp, self.now)

    def hours(self, count: int, does: Callable[[], object] | None = None) -> None:
        """So many hours go by, and their first quarter brings what the guest `does`."""
        if does is not None:
            does()
        for _ in range(4 * count):
            self.sample(15)

    @property
    def now(self) -> datetime:
        return START + timedelta(minutes=self.minute)

    def findings(self) -> list[dict[str, Any]]:
        """What is wrong by all that is known now."""
        judge_states(self.now)
        judge_recent(self.now)
        judge_lasting(self.now)
        row = CacheCondition.objects.filter(volume=self.volume).first()
        return list(row.findings) if row is not None else []

    def codes(self) -> list[str]:
        return [each["code"] for each in self.findings()]

    def message(self, code: str) -> str:
        """What a person reads of it, with its figures."""
        (message,) = [each["message"] for each in self.findings() if each["code"] == code]
        return str(message)
