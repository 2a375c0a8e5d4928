"""A little world of problems that come and go, judged round by round with a clock of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.alerts.alert_rules import SeenProblem
from jobs.alerts.alert_state import (
    AlertEpisode,
    AlertNews,
    AlertState,
    MuteRule,
    RoundContext,
)
from jobs.alerts.alert_transition import next_round
from storage.problems.all_kinds import family_of

START = datetime(2026, 11, 23, tzinfo=UTC)
ROUND = timedelta(seconds=20)
RANKS = {"array_degraded": 0, "ssd_lost": 0, "writeback_degraded": 0, "pv_missing": 0, "drift": 2}


def problem(code: str, host: int = 1, **fields: Any) -> SeenProblem:
    rank = fields.pop("rank", RANKS.get(code, 1))
    family = family_of(code)
    thing = fields.get("volume_key") or fields.get("subject", "")
    severity = "warning" if rank == 2 else "error"
    return SeenProblem(f"{host}/{family}/{thing}", family, code, severity, rank, host, **fields)


ARRAY = problem("array_degraded", subject="md0")
SILENT = problem("silent")


@dataclass
class World:
    """What is wrong now, and what people were notified of."""

    now: datetime = START
    wrong: dict[str, SeenProblem] = field(default_factory=dict)
    alerts: dict[str, AlertState] = field(default_factory=dict)
    over: dict[str, list[AlertEpisode]] = field(default_factory=dict)
    silences: list[MuteRule] = field(default_factory=list)
    maintained: set[int] = field(default_factory=set)
    hosts: int = 10
    news: list[AlertNews] = field(default_factory=list)
    messages: dict[str, list[datetime]] = field(default_factory=dict)

    def begin(self, *problems: SeenProblem) -> None:
        self.wrong |= {each.fingerprint: each for each in problems}

    def end(self, *problems: SeenProblem) -> None:
        for each in problems:
            del self.wrong[each.fingerprint]

    def judge(self) -> list[AlertNews]:
        context = RoundContext(
            now=self.now,
            silences=self.silences,
            maintained=frozenset(self.maintained),
            past=self.over,
            message_times=self.messages,
            host_count=self.hosts,
        )
        outcome = next_round(self.alerts, self.wrong, context)
        self.alerts = {}
        for fingerprint, state in outcome.alerts.items():
            if state.resolved_at is None:
                self.alerts[fingerprint] = state
                continue
            ended = state.absent_since or self.now
            episode = AlertEpisode(
                state.first_seen_at,
                ended,
                state.openings,
                state.tier,
                state.longest_absence,
                state.longest_presence,
            )
            self.over.setdefault(fingerprint, []).append(episode)
        self.news += outcome.news
        for each in outcome.news:
            if each.is_notified:
                self.messages.setdefault(each.fingerprint, []).append(self.now)
        return list(outcome.news)

    def passes(self, **span: float) -> list[str]:
        """What people are notified of while so much time passes."""
        end, kinds = self.now + timedelta(**span), []
        while self.now < end:
            kinds += [each.kind for each in self.judge() if each.is_notified]
            self.now += ROUND
        return [str(each) for each in kinds]

    def acknowledge(self, one: SeenProblem, **until: float) -> None:
        state = self.alerts[one.fingerprint]
        end = self.now + timedelta(**until) if until else None
        self.alerts[one.fingerprint] = replace(
            state, acknowledged_at=self.now, acknowledged_until=end, acknowledged_count=0
        )

    @property
    def notified(self) -> list[tuple[str, str]]:
        return [(each.fingerprint, str(each.kind)) for each in self.news if each.is_notified]
