"""The condition of all caches in the database: figures are read for many at once, judged
by `storage.health.cache_condition`, and what is wrong is kept on a row for each volume and host.

A host that is silent says nothing new: what was found there stays as it is. All SQL here is made of
constants.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db import connection, transaction
from django.db.models import Q

from storage.health.cache_condition import (
    DAY,
    HALF_HOUR,
    HOUR,
    METADATA_SHARE,
    SAME_HOURS,
    SHORT,
    WEEKS_COMPARED,
    CacheHours,
    CacheWindow,
    LastCacheState,
    LastingFigures,
    ReadCounts,
    RecentFigures,
    lasting_findings,
    lasting_unknown,
    recent_findings,
    state_findings,
)
from storage.health.host_problems import HealthFinding
from storage.host_data import BadHostData
from storage.metrics.counters import decode_volume
from storage.metrics.rates import CachedBy, CacheInside, Sums, inside
from storage.metrics.samples.aggregate import (
    FIGURES,
    Aggregate,
    added_up,
    first_of,
    has_accesses,
    intervals,
    is_uncached,
)
from storage.metrics.samples.interval_table import IntervalTable
from storage.metrics.samples.window import kept
from storage.models import CacheCondition, HostActivity, LatestSample, Placement, Resolution
from storage.models.host import silent_seconds
from storage.planner.wish import WRITEBACK_PERCENT
from storage.problems.all_kinds import judged_by

WEEK: Final = timedelta(days=7)
HOUR_SECONDS: Final = 3600
MARK_EVERY: Final = timedelta(minutes=9)
READS_OVER: Final = timedelta(minutes=75)

# Which volume lies where now, by its last sample; of a host that still answers.
PLACED: Final = """
SELECT latest.volume_id, latest.host_id, placed.vg_name || '/' || placed.lv_name, latest.at,
    latest.boot_id, latest.suspended, latest.cache_size_bytes, latest.cache_mode, latest.counters,
    volume.wish #>> '{cache,writeback_percent}', host.dirty_limit_percent
FROM storage_latestsample latest
JOIN storage_placement placed ON placed.volume_id = latest.volume_id AND placed.until IS NULL
    AND placed.host_id = latest.host_id AND placed.missing_since IS NULL
JOIN storage_volume volume ON volume.id = latest.volume_id
JOIN storage_host host ON host.id = latest.host_id
WHERE latest.at >= %(fresh)s
"""
CACHED: Final = f"{PLACED} AND latest.technology <> {CachedBy.NONE:d}"
# Only what may be wrong now, so that a round every minute is cheap.
SUSPECT: Final = f"""{PLACED} AND (latest.suspended OR latest.cache_state = 'read-only'
    OR (latest.counters #>> '{{cache,metadata_used}}')::float8
        > {METADATA_SHARE} * (latest.counters #>> '{{cache,metadata_total}}')::float8)
"""
AT_ONCE: Final = 200
"""Volumes whose samples are held in memory at once."""
SETTLED: Final = timedelta(minutes=10)
"""How long after an hour its last rounds may still arrive."""
LEG_NAMES: Final = ("dt_ms", "read_sectors", "read_hits", "read_misses", "promotions")


class _Placed(NamedTuple):
    """A row of `PLACED`."""

    volume_id: int
    host_id: int
    name: str
    at: datetime
    boot_id: str
    suspended: bool
    size_bytes: int | None
    cache_mode: str
    counters: Any
    writeback_percent: str | None
    dirty_limit_percent: int


@dataclass(slots=True)
class ConditionJudgement:
    """What one judgement found of a volume or host, each with its subject, and what it notes for
    the next one. `unknown` are codes of which it can say nothing: what was found of them stays."""

    host_id: int
    findings: list[tuple[str, HealthFinding]] = field(default_factory=list)
    noted: dict[str, Any] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not self.findings and not any(self.noted.values())


def judge_states(now: datetime) -> None:
    """Judge the caches by their last samples. Broken caches are found in the inventory, which is
    read as soon as a sample shows one (`jobs.collector`)."""
    judgements: dict[int, ConditionJudgement] = {}
    suspects = _placed(SUSPECT, now)
    of_suspects = Q(volume__in=[each.volume_id for each in suspects])
    rows = CacheCondition.objects.filter(of_suspects | Q(noted__has_key="suspended_at"))
    known = {row.volume_id: row for row in rows if row.volume_id is not None}
    fine = set(known) - {each.volume_id for each in suspects}
    for volume_id in fine - _silent(fine, now):
        judgements[volume_id] = ConditionJudgement(
            known[volume_id].host_id, [], {"suspended_at": None}
        )
    for each in suspects:
        noted = known[each.volume_id].noted if each.volume_id in known else {}
        suspended_at = noted.get("suspended_at") or each.at.isoformat()
        within = _inside(each)
        lasted = (each.at - datetime.fromisoformat(suspended_at)).total_seconds()
        judged = LastCacheState(
            name=each.name,
            frozen_seconds=lasted if each.suspended else None,
            is_read_only=within.is_read_only,
            metadata_share=within.metadata_share,
        )
        noted_now = {"suspended_at": suspended_at if each.suspended else None}
        judgements[each.volume_id] = _judgement(each, state_findings(judged), noted_now)
    keep(judgements, judged_by("sample"), now)


def judge_recent(now: datetime) -> int:
    """What the last hour shows, of every cache; how many there are. Five queries, and what is
    written."""
    cached = _placed(CACHED, now)
    windows = _windows([each.volume_id for each in cached], now)
    rows = CacheCondition.objects.filter(volume__in=[each.volume_id for each in cached])
    noted = dict(rows.values_list("volume_id", "noted"))
    judgements = {}
    for each in cached:
        within, of_volume = _inside(each), windows.get(each.volume_id, {})
        marks, read_counts = _read_counts(each, within, noted.get(each.volume_id, {}))
        recent = RecentFigures(
            name=each.name,
            size_bytes=each.size_bytes,
            is_cleaning=within.is_cleaning,
            kept_dirty_share=_kept_dirty_share(each, within),
            dirty_limit_percent=each.dirty_limit_percent,
            chunk_bytes=within.chunk_bytes,
            short=of_volume.get(1, CacheWindow()),
            half_hour=of_volume.get(2, CacheWindow()),
            hour=of_volume.get(3, CacheWindow()),
            read_counts=read_counts,
        )
        judgements[each.volume_id] = _judgement(each, recent_findings(recent), {"reads": marks})
    keep(judgements, judged_by("hour"), now)
    return len(cached)


def judge_lasting(now: datetime) -> None:
    """What the last days show, of every cache."""
    cached = _placed(CACHED, now)
    over = now - SETTLED
    end = datetime.fromtimestamp(int(over.timestamp()) // 3600 * 3600, UTC)
    hours: dict[int, dict[int, CacheHours]] = {}
    for volumes in batched([each.volume_id for each in cached]):
        for n, of_span in enumerate(_hours(volumes, end), 1):
            for volume_id, figures in of_span.items():
                hours.setdefault(volume_id, {})[n] = figures
    judgements = {}
    for each in cached:
        of_volume = hours.get(each.volume_id, {})
        spans_of = [of_volume.get(n, CacheHours()) for n in range(1, 6 + WEEKS_COMPARED)]
        lasting = LastingFigures(
            name=each.name,
            size_bytes=each.size_bytes,
            is_writeback=each.cache_mode == "writeback",
            day=spans_of[0],
            late=spans_of[1],
            week_ago=spans_of[2],
            before_cache=spans_of[3],
            whole_day=spans_of[4],
            weeks_before=tuple(spans_of[5:]),
        )
        judgement = _judgement(each, lasting_findings(lasting), {})
        judgement.unknown = lasting_unknown(lasting)
        judgements[each.volume_id] = judgement
    keep(judgements, judged_by("days"), now)


def _judgement(
    each: _Placed, findings: Iterable[HealthFinding], noted: dict[str, Any]
) -> ConditionJudgement:
    return ConditionJudgement(each.host_id, [(each.name, finding) for finding in findings], noted)


def fresh_since(now: datetime) -> datetime:
    """What is older is of a host that is silent."""
    return now - timedelta(seconds=silent_seconds())


def _placed(query: str, now: datetime) -> list[_Placed]:
    with connection.cursor() as cursor:
        cursor.execute(query, {"fresh": fresh_since(now)})
        return [_Placed(*row) for row in cursor.fetchall()]


def _inside(each: _Placed) -> CacheInside:
    """Nothing, where another version of the panel kept the counters."""
    try:
        return inside(decode_volume(_plain(each.counters)))
    except BadHostData:
        return CacheInside()


def _plain(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _kept_dirty_share(each: _Placed, within: CacheInside) -> float:
    """A technology that counts no chunks leaves so many percent dirty on purpose."""
    if within.chunk_bytes is not None:
        return 0.0
    return int(each.writeback_percent or WRITEBACK_PERCENT) / 100


def _windows(volumes: Sequence[int], now: datetime) -> dict[int, dict[int, CacheWindow]]:
    """By volume and number of the period: ten minutes, half an hour, an hour."""
    windows: dict[int, dict[int, CacheWindow]] = {}
    for batch in batched(volumes):
        first = now - HOUR
        table = intervals(
            batch, first, now, kind=FIGURES, begun_since=first, resolution=Resolution.RAW
        )
        for n, length in enumerate((SHORT, HALF_HOUR, HOUR), 1):
            within = table.begun_since(now - length)
            dirty = first_of(within, "dirty_bytes")
            for each in added_up(within, first, None):
                windows.setdefault(each.subject_id, {})[n] = _window(each, dirty)
    return windows


def _window(each: Aggregate, dirty_first: Mapping[int, int | None]) -> CacheWindow:
    counts = each.counts
    legs: dict[str, Any] = {name: counts[f"leg_{name}"] for name in LEG_NAMES}
    has_legs = counts["leg_dt_ms"] > 0
    return CacheWindow(
        dirty_first=dirty_first[each.subject_id],
        dirty_last=each.last["dirty_bytes"],
        dirty_least=_whole(each.least["dirty_bytes"]),
        used_least=_whole(each.least["used_bytes"]),
        sums=each.sums,
        leg_sums=Sums(**legs),
        slow_read_sectors=counts["leg_slow_read_sectors"] if has_legs else None,
        fast_write_sectors=counts["fast_write_sectors"] if each.ms["fast_write_sectors"] else None,
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _hours(volumes: Sequence[int], end: datetime) -> list[dict[int, CacheHours]]:
    """The last day, its last hours, the same hours a week ago, the time before the cache, the last
    whole day, and the same weekday of each week before: of each volume that has figures of them."""
    day = intervals(volumes, end - DAY, end, kind=FIGURES, step=HOUR_SECONDS)
    before = end - WEEK
    week_ago = intervals(volumes, before - SAME_HOURS, before, kind=FIGURES, step=HOUR_SECONDS)
    kept_since = (end - kept()).replace(hour=0)
    midnight = end.replace(hour=0)
    nights = [midnight - n * WEEK for n in range(WEEKS_COMPARED + 1)]
    all_days = intervals(volumes, min(kept_since, nights[-1] - DAY), end, kind=FIGURES)
    cached = all_days.where(has_accesses(all_days))
    uncached = all_days.where(is_uncached(all_days)).ended_after(kept_since)
    return [
        _cache_hours(day.where(has_accesses(day))),
        _cache_hours(day.where(has_accesses(day)).ended_after(end - SAME_HOURS)),
        _cache_hours(week_ago.where(has_accesses(week_ago))),
        _cache_hours(uncached),
        *(_cache_hours(cached.ended_after(night - DAY).ended_by(night)) for night in nights),
    ]


def _cache_hours(table: IntervalTable) -> dict[int, CacheHours]:
    return {
        each.subject_id: CacheHours(
            sums=each.sums,
            cache_seconds=each.counts["cache_ms"] / 1000,
            used_least=_whole(each.least["used_bytes"]),
            size_bytes=each.last["cache_size_bytes"],
        )
        for each in added_up(table, datetime.now(UTC), None)
    }


def batched(volumes: Sequence[int]) -> Iterator[Sequence[int]]:
    for n in range(0, len(volumes), AT_ONCE):
        yield volumes[n : n + AT_ONCE]


def _read_counts(
    each: _Placed, within: CacheInside, noted: Mapping[str, Any]
) -> tuple[list[Any], ReadCounts | None]:
    """The marks to compare with next time, and what was counted since the oldest of them. Totals
    that went back, or of another boot, are no marks."""
    totals = within.read_counts
    if totals is None:
        return [], None
    marks = [
        [at, boot_id, then]
        for at, boot_id, then in noted.get("reads", ())
        if boot_id == each.boot_id
        and each.at - datetime.fromisoformat(at) <= READS_OVER
        and all(now >= before for now, before in zip(totals, then, strict=True))
    ]
    counts = None
    if marks:
        at, _, then = marks[0]
        since = (now - before for now, before in zip(totals, then, strict=True))
        hits, misses, bypass_hits, bypass_misses, guest_reads = since
        counts = ReadCounts(
            hits=hits,
            misses=misses,
            bypass_hits=bypass_hits,
            bypass_misses=bypass_misses,
            guest_reads=guest_reads,
            seconds=(each.at - datetime.fromisoformat(at)).total_seconds(),
        )
    if not marks or each.at - datetime.fromisoformat(marks[-1][0]) >= MARK_EVERY:
        marks.append([each.at.isoformat(), each.boot_id, list(totals)])
    return marks, counts


@transaction.atomic
def keep(
    judgements: Mapping[int, ConditionJudgement],
    codes: frozenset[str],
    now: datetime,
    *,
    of_hosts: bool = False,
) -> None:
    """Keep what was found, in place of all that those rules found before; a finding keeps the
    moment of its beginning for as long as it lasts. `judgements` are by volume, or by host for its
    SSDs. What is not written anew has not changed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('storage.cache_condition'))")
    key = "host_id" if of_hosts else "volume_id"
    rows = CacheCondition.objects.filter(volume__isnull=of_hosts)
    looked_at = rows.filter(Q(**{f"{key}__in": list(judgements)}) | ~Q(findings=[]))
    known = {getattr(row, key): row for row in looked_at}
    rest = set(known) - set(judgements)
    silent = _silent_hosts(rest, now) if of_hosts else _silent(rest, now)
    changed, made = [], []
    for each in {*known, *judgements} - silent:
        row, judgement = known.get(each), judgements.get(each)
        if row is None and judgement is not None and judgement.is_empty:
            continue
        before = row.findings if row is not None else []
        judged = codes - judgement.unknown if judgement is not None else codes
        others = [finding for finding in before if finding["code"] not in judged]
        findings = [*others, *(_dated(judgement, before, now) if judgement is not None else ())]
        noted = (row.noted if row is not None else {}) | (judgement.noted if judgement else {})
        noted = {name: value for name, value in noted.items() if value}
        if row is None and judgement is not None:
            ids = {"host_id": judgement.host_id, key: each}
            made.append(CacheCondition(**ids, findings=findings, noted=noted))
        elif row is not None and (row.findings, row.noted) != (findings, noted):
            row.findings, row.noted = findings, noted
            row.host_id = judgement.host_id if judgement is not None else row.host_id
            changed.append(row)
    CacheCondition.objects.bulk_create(made)
    CacheCondition.objects.bulk_update(changed, ["host", "findings", "noted"], batch_size=500)


def _dated(
    judgement: ConditionJudgement, before: Sequence[Mapping[str, str]], now: datetime
) -> list[dict[str, str]]:
    since = {(each["code"], each["subject"]): each["since"] for each in before}
    return [
        finding.to_json(since.get((finding.code, subject), now.isoformat())) | {"subject": subject}
        for subject, finding in judgement.findings
    ]


def _silent(volumes: set[int], now: datetime) -> set[int]:
    """Those that lie on a host that says nothing new: they may be as they were."""
    if not volumes:
        return set()
    heard = LatestSample.objects.filter(volume__in=volumes, at__gte=fresh_since(now))
    placed = Placement.objects.filter(volume__in=volumes, until=None, missing_since=None)
    return set(
        placed.exclude(volume__in=heard.values("volume")).values_list("volume_id", flat=True)
    )


def _silent_hosts(hosts: set[int], now: datetime) -> set[int]:
    heard = HostActivity.objects.filter(host__in=hosts, at__gte=fresh_since(now))
    return hosts - set(heard.values_list("host_id", flat=True))
