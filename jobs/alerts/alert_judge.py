"""A round of alerts: reads the problems once, and writes the new state of each alert.

Rounds run one at a time, each in one transaction: a round that is killed leaves no trace, and the
next one begins from the stored state.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from jobs import notify_workers
from jobs.alerts.alert_rules import SeenProblem, seen_problems
from jobs.alerts.alert_state import (
    AlertEpisode,
    AlertNews,
    AlertState,
    MuteRule,
    RoundContext,
)
from jobs.alerts.alert_transition import DAY, next_round
from jobs.failpoints import durable
from jobs.models import Alert, AlertEvent, AlertRound, Job, Silence
from jobs.problems import OF_ALL_HOSTS, problems_now, problems_of_all_hosts
from storage.database_clock import database_now
from storage.models import Host, Volume

log = logging.getLogger(__name__)

LOCK: Final = "jobs.alerts"
SEND_TASK: Final = "panel.tasks.send_alerts"
KEPT_AS_THEY_ARE: Final = tuple(
    each.name for each in fields(AlertState) if each.name not in ("seen", "cause")
)
OF_PROBLEM: Final = (
    "family",
    "code",
    "severity",
    "rank",
    "subject",
    "job_error",
    "message",
    "correction",
    "since",
    "count",
)
WRITTEN: Final = (*KEPT_AS_THEY_ARE, *OF_PROBLEM, "cause")


def judge(at: datetime | None = None) -> int:
    """Run one round; returns the number of events written, 0 while another process runs one. `at`
    replaces the database's time in tests."""
    written = _round(at)
    return len(written)


@durable("judge")
def _round(at: datetime | None) -> list[AlertEvent]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext(%s))", [LOCK])
        if not cursor.fetchone()[0]:
            return []
    now = at or database_now()
    rows = {
        row.fingerprint: row
        for row in Alert.objects.unresolved()
        .select_related("volume", "job", "cause")
        .select_for_update(of=("self",))
    }
    seen = seen_problems([*problems_now(now), *problems_of_all_hosts()])
    _carry_over(rows, seen)
    before = {fingerprint: alert_state_of(row) for fingerprint, row in rows.items()}
    outcome = next_round(before, seen, _context(now, {*rows, *seen}))
    gone = [rows[each].pk for each in rows.keys() - outcome.alerts.keys()]
    Alert.objects.filter(pk__in=gone).delete()
    _write(rows, before, outcome.alerts)
    events = _record(rows, outcome.news, now)
    AlertRound.objects.update_or_create(pk=True, defaults={"at": now})
    if any(each.is_notified for each in events):
        transaction.on_commit(_send, robust=True)
    return events


def _carry_over(rows: dict[str, Alert], seen: dict[str, SeenProblem]) -> None:
    """An upgrade of the panel or of an agent may identify a thing more precisely than before: its
    alert continues under the new fingerprint. One failed job never replaces another."""
    fresh: dict[tuple[int, str, str], list[SeenProblem]] = {}
    for fingerprint, each in seen.items():
        if fingerprint not in rows and each.code and not each.job_key:
            fresh.setdefault((each.host_id, each.family, each.volume_key), []).append(each)
    heirs: dict[str, list[Alert]] = {}
    for fingerprint, row in rows.items():
        if fingerprint in seen or row.absent_since is not None or row.job is not None:
            continue
        volume_key = row.volume.key if row.volume is not None else ""
        same = [
            each.fingerprint
            for each in fresh.get((row.host_id or OF_ALL_HOSTS, row.family, volume_key), ())
            if row.subject in ("", each.subject)
        ]
        if len(same) == 1:
            heirs.setdefault(same[0], []).append(row)
    for fingerprint, claimants in heirs.items():
        if len(claimants) == 1:
            [row] = claimants
            del rows[row.fingerprint]
            row.fingerprint, rows[fingerprint] = fingerprint, row
            row.save(update_fields=["fingerprint"])


def _send() -> None:
    notify_workers.send(SEND_TASK)


def alert_state_of(row: Alert) -> AlertState:
    """An alert as the rules see it; the row was read with its volume, job and cause."""
    seen = SeenProblem(
        fingerprint=row.fingerprint,
        host_id=row.host_id or OF_ALL_HOSTS,
        volume_key=row.volume.key if row.volume is not None else "",
        job_key=row.job.key if row.job is not None else "",
        **{name: getattr(row, name) for name in OF_PROBLEM},
    )
    kept = {name: getattr(row, name) for name in KEPT_AS_THEY_ARE}
    return AlertState(
        seen=seen, cause=row.cause.fingerprint if row.cause is not None else "", **kept
    )


def _context(now: datetime, fingerprints: Collection[str]) -> RoundContext:
    silences = Silence.objects.filter(until__gt=now).select_related("volume")
    in_maintenance = Q(maintenance_until=None) | Q(maintenance_until__gt=now)
    maintained = Host.objects.filter(in_maintenance, maintenance_since__lte=now)
    past: dict[str, list[AlertEpisode]] = {}
    over = Alert.objects.filter(fingerprint__in=fingerprints, resolved_at__gt=now - 2 * DAY)
    for row in over:
        past.setdefault(row.fingerprint, []).append(
            AlertEpisode(
                row.first_seen_at,
                row.absent_since or row.resolved_at or now,
                row.openings,
                row.tier,
                row.longest_absence,
                row.longest_presence,
            )
        )
    message_times: dict[str, list[datetime]] = {}
    messages = AlertEvent.objects.filter(
        alert__fingerprint__in=fingerprints, is_notified=True, at__gt=now - DAY
    )
    for fingerprint, at in messages.values_list("alert__fingerprint", "at"):
        message_times.setdefault(fingerprint, []).append(at)
    return RoundContext(
        now=now,
        silences=[
            MuteRule(each.host_id, each.volume.key if each.volume else "", each.code)
            for each in silences
        ],
        maintained=frozenset(maintained.values_list("pk", flat=True)),
        past=past,
        message_times=message_times,
        host_count=Host.objects.active().count(),
        escalate_after=timedelta(seconds=settings.TIERCEL_ALERT_ESCALATE_SECONDS),
    )


def _write(
    rows: dict[str, Alert], before: dict[str, AlertState], after: dict[str, AlertState]
) -> None:
    """Adds the new alerts to `rows`."""
    fresh = [state for fingerprint, state in after.items() if fingerprint not in rows]
    volumes = Volume.objects.in_bulk({each.seen.volume_key for each in fresh}, field_name="key")
    jobs = Job.objects.in_bulk({each.seen.job_key for each in fresh}, field_name="key")
    made = [
        Alert(
            fingerprint=state.seen.fingerprint,
            host_id=state.seen.host_id or None,
            volume=volumes.get(state.seen.volume_key),
            job=jobs.get(state.seen.job_key),
            **_values(state),
        )
        for state in fresh
    ]
    rows |= {row.fingerprint: row for row in Alert.objects.bulk_create(made)}
    changed = []
    for fingerprint, state in after.items():
        if before.get(fingerprint) == state or (fingerprint not in before and not state.cause):
            continue
        row = rows[fingerprint]
        for name, value in _values(state).items():
            setattr(row, name, value)
        row.cause = rows.get(state.cause)
        changed.append(row)
    # One statement for hundreds of rows: Django's bulk_update takes minutes for thousands.
    Alert.objects.bulk_create(
        changed,
        batch_size=500,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=WRITTEN,
    )


def _values(state: AlertState) -> dict[str, Any]:
    values = {name: getattr(state, name) for name in KEPT_AS_THEY_ARE}
    return values | {name: getattr(state.seen, name) for name in OF_PROBLEM}


def _record(rows: dict[str, Alert], news: Iterable[AlertNews], now: datetime) -> list[AlertEvent]:
    events = [
        AlertEvent(
            alert=rows[each.fingerprint],
            at=now,
            kind=each.kind,
            is_notified=each.is_notified,
            tier=rows[each.fingerprint].tier,
            rank=rows[each.fingerprint].rank,
            text=each.text,
        )
        for each in news
    ]
    return AlertEvent.objects.bulk_create(events)
