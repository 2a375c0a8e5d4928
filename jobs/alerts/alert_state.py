"""State of an alert, context of a round, and the events that it produced. Data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Self

from jobs.alerts.alert_rules import WARNING_RANK, SeenProblem
from jobs.models.alert import UNKNOWN_RANK
from jobs.models.alert import AlertEventKind as Kind

LEAST_STABLE: Final = timedelta(minutes=30)
STABLE_FACTOR: Final = 1.5
"""A state is stable once it lasts this many times longer than the longest one before it."""


@dataclass(frozen=True, slots=True)
class AlertState:
    """An alert: pending (`opened_at` None), open, or resolved (`resolved_at`). `seen` is how the
    problem was last seen; `present_since` when it (last) appeared, `absent_since` when it
    disappeared. `notified_at` is the first notification, None before it; `cause` the fingerprint of
    the alert that this one follows from. `worst_rank` is the gravest rank notified; the `gravest_`
    fields describe the gravest state seen, notified or not. `longest_absence` and
    `longest_presence` are counted since it began to flap."""

    seen: SeenProblem
    first_seen_at: datetime
    present_since: datetime
    absent_since: datetime | None = None
    opened_at: datetime | None = None
    notified_at: datetime | None = None
    last_notified_at: datetime | None = None
    resolved_at: datetime | None = None
    cause: str = ""
    muted_by: str = ""
    acknowledged_at: datetime | None = None
    acknowledged_until: datetime | None = None
    acknowledged_count: int = 0
    tier: int = 1
    tier_at: datetime | None = None
    worst_rank: int = WARNING_RANK
    gravest_rank: int = UNKNOWN_RANK
    gravest_code: str = ""
    gravest_message: str = ""
    openings: int = 1
    is_flapping: bool = False
    longest_absence: timedelta = timedelta(0)
    longest_presence: timedelta = timedelta(0)

    def seeing(self, problem: SeenProblem) -> Self:
        """With the current problem. A problem that became less grave, such as an array being
        rebuilt, keeps the time at which it began. Of the gravest one the last text is kept: it is
        what a message of its end quotes."""
        if problem.code != self.gravest_code and problem.since and self.seen.since:
            problem = replace(problem, since=min(problem.since, self.seen.since))
        is_as_grave = problem.rank == self.gravest_rank and problem.code == self.gravest_code
        if problem.rank >= self.gravest_rank and not is_as_grave:
            return replace(self, seen=problem)
        return replace(
            self,
            seen=problem,
            gravest_rank=problem.rank,
            gravest_code=problem.code,
            gravest_message=problem.message,
        )

    @property
    def is_present(self) -> bool:
        return self.absent_since is None

    @property
    def stable_absence(self) -> timedelta:
        """How long a flapping problem must be absent to be resolved."""
        return max(LEAST_STABLE, self.longest_absence * STABLE_FACTOR)

    @property
    def stable_presence(self) -> timedelta:
        """How long a flapping problem must be present to count as permanent."""
        return max(LEAST_STABLE, self.longest_presence * STABLE_FACTOR)


@dataclass(frozen=True, slots=True)
class AlertEpisode:
    """A resolved alert: when the problem began and ended, how often it opened, and the tier that it
    reached."""

    began: datetime
    ended: datetime
    openings: int = 1
    tier: int = 1
    longest_absence: timedelta = timedelta(0)
    longest_presence: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class AlertNews:
    """What happened to one alert; `is_notified`: recipients are notified."""

    fingerprint: str
    kind: Kind
    is_notified: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class MuteRule:
    """Mutes the problems that match all given terms."""

    host_id: int | None = None
    volume_key: str = ""
    code: str = ""

    def mutes(self, seen: SeenProblem) -> bool:
        return (
            self.host_id in (None, seen.host_id)
            and self.volume_key in ("", seen.volume_key)
            and self.code in ("", seen.code)
        )


@dataclass(frozen=True, slots=True)
class RoundContext:
    """What a round knows besides alerts and problems. `past` has the episodes of the last two days
    and `message_times` the messages of the last day, by fingerprint; `host_count` counts the hosts
    in use."""

    now: datetime
    silences: Sequence[MuteRule] = ()
    maintained: frozenset[int] = frozenset()
    past: Mapping[str, Sequence[AlertEpisode]] = field(default_factory=dict)
    message_times: Mapping[str, Sequence[datetime]] = field(default_factory=dict)
    host_count: int = 1
    escalate_after: timedelta = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """The alerts after a round, without pending ones whose problem disappeared, and the events."""

    alerts: dict[str, AlertState]
    news: tuple[AlertNews, ...]
