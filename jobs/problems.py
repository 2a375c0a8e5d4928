"""What is wrong now with hosts, their volumes and jobs: the one list that every page counts.

One query puts it together from what is stored anyway when a host reports, is sampled, or fails to
answer; a healthy host costs it next to nothing. Left out are what only informs, differences that a
job on the volume is about to end, and scarce space (`storage.health.shortage`), which is no fault.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from django.db import connection
from django.db.models import OuterRef, Subquery

from jobs.models import OVER, Halt, Job, State
from jobs.standstill import Standstill, standstills_now
from storage.formatting import counted
from storage.health.host_problems import problem_words
from storage.models import Host, Volume
from storage.models.host import silent_seconds
from storage.problems.all_kinds import AT_RISK, KINDS
from storage.volumes.snapshot import BlockingJob

OF_ALL_HOSTS: Final = 0
"""`Problem.host_id` of what concerns all hosts."""
DISKS_UNREAD: Final = timedelta(days=1)
"""For so long the disks of a host may stay unread."""
INVENTORY_UNREAD: Final = timedelta(minutes=10)
"""For so long the inventory of a host may stay unread: one round and several repetitions."""
CHANGE_UNREAD: Final = timedelta(minutes=1)
"""And for so long after its samples showed a change."""

# The details are what the words of a problem need and no inventory has.
STATE: Final = """
SELECT id AS host_id,
    CASE WHEN state = 'unverified' THEN state
        WHEN error->>'code' IN ('twins', 'machine_changed') THEN error->>'code'
        ELSE state END AS code,
    CASE state WHEN 'unverified' THEN 'warning' ELSE 'error' END AS severity,
    CASE state WHEN 'unverified' THEN created_at ELSE last_seen_at END AS since,
    '' AS subject, '' AS volume_key, NULL::bigint AS job_id,
    coalesce(error->>'message', '') AS message, coalesce(error->>'correction', '') AS correction,
    '{}'::jsonb AS details
FROM storage_host WHERE state IN ('unverified', 'quarantined')
"""
CONTACT: Final = """
SELECT id, coalesce(error->>'code', 'unreachable'), 'error', last_seen_at, '', '', NULL,
    coalesce(error->>'message', 'The last contact failed.'), coalesce(error->>'correction', ''),
    '{}'::jsonb
FROM storage_host WHERE state <> 'quarantined' AND error <> '{}'
"""
SILENT: Final = """
SELECT id, 'silent', 'error', coalesce(last_seen_at, created_at), '', '', NULL, '', '',
    jsonb_build_object('never', last_seen_at IS NULL)
FROM storage_host WHERE state = 'active' AND error = '{}'
    AND (last_seen_at IS NULL OR last_seen_at < %(silent)s)
"""
UNSAMPLED: Final = """
SELECT host.id, 'unsampled', 'warning', greatest(placed.due, activity.at), '', '', NULL, '', '',
    '{}'::jsonb
FROM storage_host host
LEFT JOIN storage_hostactivity activity ON activity.host_id = host.id
CROSS JOIN LATERAL (
    SELECT min(since) AS due FROM storage_placement
    WHERE host_id = host.id AND until IS NULL AND lv_uuid IS NOT NULL AND missing_since IS NULL
) placed
WHERE host.state = 'active' AND host.error = '{}' AND host.last_seen_at >= %(silent)s
    AND (activity.at IS NULL OR activity.at < %(silent)s) AND placed.due < %(silent)s
"""
# Samples come, but a disk may block LVM's reports. What a change was, only an inventory says.
OLD_INVENTORY: Final = """
SELECT id, CASE WHEN is_changed THEN 'change_unread' ELSE 'inventory_unread' END,
    CASE WHEN is_changed THEN 'error' ELSE 'warning' END,
    CASE WHEN is_changed THEN parts_changed_at ELSE read_at END, '', '', NULL, '', '',
    jsonb_build_object('why',
        coalesce(nullif(rtrim(refresh_error->>'message', '.'), ''), 'no answer so far'))
FROM storage_host CROSS JOIN LATERAL (SELECT coalesce(facts_at, created_at) AS read_at) inventory
CROSS JOIN LATERAL (SELECT coalesce(
    parts_changed_at > read_at AND parts_changed_at < %(old_change)s, false) AS is_changed) change
WHERE state = 'active' AND error = '{}' AND last_seen_at >= %(silent)s
    AND (is_changed OR read_at < %(old_inventory)s)
"""
# The inventory shrank where most is missing, or all of a group of several volumes.
MISSING: Final = """
SELECT host_id,
    CASE WHEN sum(missing) > 1 AND sum(missing) * 2 > sum(total) OR bool_or(is_empty)
        THEN 'inventory_shrank' ELSE 'volumes_missing' END,
    CASE WHEN sum(missing) > 1 AND sum(missing) * 2 > sum(total) OR bool_or(is_empty)
        THEN 'error' ELSE 'warning' END,
    min(since), '', '', NULL, '', '',
    jsonb_build_object('missing', sum(missing), 'total', sum(total),
        'empty_groups', coalesce(jsonb_agg(vg_name ORDER BY vg_name) FILTER (WHERE is_empty), '[]'))
FROM (
    SELECT host_id, max(vg_name) AS vg_name, count(*) AS total,
        count(missing_since) AS missing, min(missing_since) AS since,
        count(missing_since) = count(*) AND count(*) > 1 AS is_empty
    FROM storage_placement WHERE until IS NULL AND lv_uuid IS NOT NULL AND host_id IN (
        SELECT host_id FROM storage_placement
        WHERE until IS NULL AND lv_uuid IS NOT NULL AND missing_since IS NOT NULL
    ) GROUP BY host_id, vg_uuid
) in_groups GROUP BY host_id
"""
REPORTED: Final = """
SELECT host.id, coalesce(reported->>'code', ''),
    CASE reported->>'severity' WHEN 'error' THEN 'error' ELSE 'warning' END,
    (reported->>'since')::timestamptz, coalesce(reported->>'subject', ''), '', NULL,
    coalesce(reported->>'message', ''), coalesce(reported->>'correction', ''),
    jsonb_build_object('is_reported', true)
FROM storage_host host CROSS JOIN LATERAL jsonb_array_elements(host.problems) reported
WHERE host.problems <> '[]' AND reported->>'severity' IS DISTINCT FROM 'info' AND NOT (
    reported->>'code' = ANY(%(from_inventory)s)
    AND EXISTS (SELECT FROM storage_hostoutline WHERE host_id = host.id))
"""
FOUND: Final = """
SELECT outline.host_id, found->>'code', found->>'severity',
    nullif(found->>'since', '')::timestamptz, coalesce(found->>'subject', ''),
    coalesce(found->>'volume', ''), NULL, coalesce(found->>'message', ''),
    coalesce(found->>'correction', ''), '{}'::jsonb
FROM storage_hostoutline outline CROSS JOIN LATERAL jsonb_array_elements(outline.findings) found
WHERE outline.findings <> '[]' AND NOT (found->>'code' = ANY(%(passing)s) AND EXISTS (
    SELECT FROM jobs_job job JOIN storage_volume volume ON volume.id = job.volume_id
    WHERE volume.key = found->>'volume' AND NOT job.dry_run AND NOT job.state = ANY(%(over)s)))
"""
# Only the disks of which something is found are looked at (index disk_with_findings). All disks
# behind one RAID controller have its device: only the kind distinguishes them. A disk that is gone
# may have passed its name to another one.
OF_DISKS: Final = """
SELECT disk.host_id, found->>'code', found->>'severity', (found->>'since')::timestamptz,
    place.name, '', NULL, found->>'message', found->>'correction',
    jsonb_build_object('disk', place.name, 'identity', disk.identity,
        'model', coalesce(disk.health->>'model', ''))
FROM storage_physicaldisk disk CROSS JOIN LATERAL jsonb_array_elements(disk.findings) found
CROSS JOIN LATERAL (SELECT concat_ws(' ', coalesce(nullif(disk.name, ''),
    concat_ws(' ', disk.device, nullif(disk.kind, ''))),
    CASE WHEN disk.gone_since IS NOT NULL
        THEN coalesce(nullif(disk.health->>'serial', ''), disk.identity) END) AS name) place
WHERE disk.findings <> '[]' AND found->>'severity' <> 'info'
"""
# Of a host whose disks were read before, and of one that cannot read any. A host that does not
# answer at all has another problem.
UNREAD: Final = """
SELECT host.id, CASE WHEN disks.installed THEN 'smart_stale' ELSE 'no_smartctl' END, 'warning',
    CASE WHEN disks.installed THEN disks.complete_at END, '', '', NULL, '', '',
    jsonb_build_object('why', disks.message)
FROM storage_host host JOIN storage_diskround disks ON disks.host_id = host.id
WHERE host.state = 'active' AND host.error = '{}' AND host.last_seen_at >= %(silent)s
    AND (NOT disks.installed
        OR disks.complete_at < %(unread)s AND disks.tried_at > disks.complete_at)
"""
# What the figures of caches and SSDs show (index condition_with_findings).
OF_CACHES: Final = """
SELECT condition.host_id, found->>'code', found->>'severity', (found->>'since')::timestamptz,
    found->>'subject', coalesce(volume.key, ''), NULL, found->>'message', found->>'correction',
    jsonb_strip_nulls(jsonb_build_object(
        'waits_for', found->'waits_for', 'is_culprit', found->'is_culprit',
        'until', found->'until'))
FROM storage_cachecondition condition
LEFT JOIN storage_volume volume ON volume.id = condition.volume_id
CROSS JOIN LATERAL jsonb_array_elements(condition.findings) found
WHERE condition.findings <> '[]'
"""
# An unplanned reboot may have brought another kernel: reported for a while.
KERNELS: Final = """
SELECT host.id, 'kernel_changed', 'warning', change.at, '', '', NULL, '', '',
    jsonb_build_object('before', change.before, 'after', change.after)
FROM storage_host host CROSS JOIN LATERAL (
    SELECT at, before, after FROM storage_hostchange
    WHERE host_id = host.id AND at > %(kernels)s AND kind = 'kernel' ORDER BY at DESC LIMIT 1
) change WHERE host.state = 'active'
"""
# A loss counts unless a later restart was judged to be one, or to be a gain (index
# host_change_with_effect).
SLOWER: Final = """
SELECT loss.host_id, 'kernel_slower', 'warning', loss.at, '', '', NULL, '', '',
    loss.figures || jsonb_build_object('before', loss.before, 'after', loss.after)
FROM storage_hostchange loss JOIN storage_host host ON host.id = loss.host_id
WHERE loss.effect = 'loss' AND loss.acceptance = '{}' AND host.state = 'active'
    AND NOT EXISTS (SELECT FROM storage_hostchange later WHERE later.host_id = loss.host_id
        AND later.effect <> '' AND later.at > loss.at)
"""
# What a kernel gate found counts until a later one of the host could tell (index gate_with_loss).
REGRESSED: Final = """
SELECT bench.host_id, 'kernel_regression', 'warning', bench.ended_at, '', '', NULL, '', '',
    jsonb_build_object('before', gate.kernels->>0, 'after', gate.kernels->>-1, 'lost', (
        SELECT string_agg(target->>'lost', '; ') FROM jsonb_array_elements(gate.targets) target
        WHERE (target->>'is_alarm')::boolean))
FROM storage_gate gate JOIN storage_benchmark bench ON bench.id = gate.benchmark_id
JOIN storage_host host ON host.id = bench.host_id
WHERE gate.effect = 'loss' AND gate.acceptance = '{}' AND host.state = 'active' AND NOT EXISTS (
    SELECT FROM storage_benchmark newer JOIN storage_gate later ON later.benchmark_id = newer.id
    WHERE newer.host_id = bench.host_id AND later.effect <> '' AND newer.id > bench.id)
"""
# A failure counts unless a later job of the volume did better or is at work; that of a benchmark's
# run is part of the benchmark's problem.
UNDONE: Final = """
SELECT job.host_id, CASE job.state WHEN 'failed' THEN 'job_failed' ELSE 'job_undecided' END,
    'error', coalesce(job.ended_at,
        (SELECT max(ended_at) FROM jobs_step WHERE job_id = job.id), job.started_at),
    '', coalesce(volume.key, ''), job.id, '', coalesce(job.error->>'correction', ''),
    jsonb_build_object('kind', job.kind, 'code', coalesce(job.error->>'code', 'unknown'))
FROM jobs_job job LEFT JOIN storage_volume volume ON volume.id = job.volume_id
WHERE NOT job.dry_run
AND NOT EXISTS (SELECT FROM storage_host WHERE id = job.host_id AND state = 'removed') AND (
    job.state = 'needs_attention' AND NOT job.state = ANY(%(over)s)
    OR job.state = 'failed' AND job.kind <> 'benchmark' AND job.ended_at > %(failed)s
    AND NOT EXISTS (
        SELECT FROM jobs_job later WHERE later.volume_id = job.volume_id AND later.id > job.id
        AND NOT later.dry_run AND later.state NOT IN ('failed', 'cancelled')))
"""
ROWS: Final = " UNION ALL ".join(
    (
        STATE,
        CONTACT,
        SILENT,
        UNSAMPLED,
        OLD_INVENTORY,
        MISSING,
        REPORTED,
        FOUND,
        OF_DISKS,
        UNREAD,
        OF_CACHES,
        KERNELS,
        SLOWER,
        REGRESSED,
        UNDONE,
    )
)
RANK: Final = (
    "CASE WHEN code = ANY(%(at_risk)s) THEN 0 WHEN severity = 'error' THEN 1 ELSE 2 END AS rank"
)
ORDER: Final = "rank, since NULLS LAST, host_id, volume_key, job_id, code, message"
OF_HOSTS: Final = (
    f"SELECT *, {RANK} FROM ({ROWS}) problem WHERE host_id = ANY(%(hosts)s) ORDER BY {ORDER}"  # noqa: S608 (constants)
)
ALL_NOW: Final = f"SELECT *, {RANK} FROM ({ROWS}) problem ORDER BY {ORDER}"  # noqa: S608 (constants)
TALLIES: Final = (
    "SELECT host_id, min(rank), count(*) FILTER (WHERE severity = 'error'),"  # noqa: S608 (constants)
    " count(*) FILTER (WHERE severity = 'warning')"
    f" FROM (SELECT host_id, severity, {RANK} FROM ({ROWS}) problem) ranked"
    " GROUP BY host_id ORDER BY min(rank), count(*) DESC, host_id"
)
# Problems of an unknown code are distinguished by their words without numbers; those of jobs by
# kind and error.
GROUPS: Final = f"""
WITH problem AS ({ROWS}), named AS (
    SELECT problem.*, {RANK}, host.name AS host_name, CASE
        WHEN job_id IS NOT NULL THEN concat(details->>'kind', ', ', details->>'code')
        WHEN code = ANY(%(known)s) THEN '' ELSE regexp_replace(message, '[0-9]+', '#', 'g')
    END AS words, concat_ws('/', host_id, volume_key, job_id, subject) AS thing
    FROM problem JOIN storage_host host ON host.id = host_id
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY rank, code, severity, words
            ORDER BY since NULLS LAST, host_name, thing) AS n,
        dense_rank() OVER (PARTITION BY rank, code, severity, words ORDER BY thing) AS things
    FROM named
), counted AS (
    SELECT *, dense_rank() OVER (ORDER BY rank, oldest NULLS LAST, code, severity, words) AS place
    FROM (
        SELECT *, count(*) OVER grouped AS count, min(since) OVER grouped AS oldest,
            max(things) OVER grouped AS thing_count,
            count(details->>'until') OVER grouped AS over_count,
            max((details->>'until')::timestamptz) OVER grouped AS until,
            min(host_id) OVER grouped = max(host_id) OVER grouped AS is_one_host,
            min(correction) OVER grouped = max(correction) OVER grouped AS is_one_correction
        FROM placed WINDOW grouped AS (PARTITION BY rank, code, severity, words)
    ) sized
)
SELECT host_id, code, severity, since, subject, volume_key, job_id, message, correction, details,
    rank, place, count, thing_count, is_one_host, is_one_correction, over_count, until,
    (SELECT max(place) FROM counted) AS places
FROM counted WHERE place <= %(places)s AND n <= %(members)s ORDER BY place, n
"""  # noqa: S608 (constants)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `message` is a sentence, `correction` what to do about it, `since`
    when it began, None where that is unknown. `volume_key` and `job_key` name what has the trouble,
    "" where it is the host itself or its `subject` (a disk, an array, a group, a volume as LVM
    calls it); `subject_label` is what people call it. `rank` is 0 for data at risk, 1 for other
    errors, 2 for warnings. `blocking` is the job that changes the volume now. `identity` is what
    stays the same where the subject may change its name (a disk), else "". `waits_for` is the disk
    that a slow volume waits for, `is_culprit` whether it uses that disk most itself. `until` is
    when it was over, None while it lasts."""

    code: str
    severity: Literal["error", "warning"]
    rank: int
    message: str
    correction: str
    since: datetime | None
    host_id: int
    host_key: str
    host_name: str
    subject: str
    subject_label: str
    volume_key: str
    job_key: str
    job_kind: str
    job_error: str
    blocking: BlockingJob | None = None
    identity: str = ""
    waits_for: str = ""
    is_culprit: bool = False
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProblemGroup:
    """Equal problems: the oldest of them, `count` in all, of `thing_count` things. `over_count` of
    them are over, the last `until` then."""

    problems: tuple[Problem, ...]
    count: int
    thing_count: int
    is_one_host: bool
    is_one_correction: bool
    over_count: int = 0
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProblemTally:
    """How many problems there are, and the rank of the worst (`Problem.rank`; 3 without any)."""

    errors: int = 0
    warnings: int = 0
    rank: int = 3

    @property
    def total(self) -> int:
        return self.errors + self.warnings

    @property
    def words(self) -> str:
        return counted(self.total, "problem")

    @property
    def tone(self) -> str:
        """As chips have it."""
        return "warning" if self.rank == 2 else "error" if self.total else "ok"


class NamedVolume(NamedTuple):
    """A volume's label, and the job that changes it now."""

    label: str
    blocking: BlockingJob | None


class _Row(NamedTuple):
    """A row of the query."""

    host_id: int
    code: str
    severity: Literal["error", "warning"]
    since: datetime | None
    subject: str
    volume_key: str
    job_id: int | None
    message: str
    correction: str
    details: str
    rank: int


def problems_of(hosts: Collection[int], at: datetime) -> dict[int, tuple[Problem, ...]]:
    """The problems of hosts, by their primary keys, the worst first; () for a host without. Five
    queries at most."""
    rows = [_Row(*row) for row in _fetch(OF_HOSTS, at, hosts=list(hosts))]
    by_host: dict[int, list[Problem]] = {host_id: [] for host_id in hosts}
    for problem in _worded(rows, at):
        by_host[problem.host_id].append(problem)
    return {host_id: tuple(problems) for host_id, problems in by_host.items()}


def problems_now(at: datetime) -> list[Problem]:
    """The problems of all hosts, the worst first. Four queries at most."""
    return _worded([_Row(*row) for row in _fetch(ALL_NOW, at)], at)


def problems_of_all_hosts() -> list[Problem]:
    """What is wrong with none of them, and concerns all: the global stop, and what stands still in
    the panel itself. Three queries."""
    halt = Halt.objects.active()
    found = [of_panel(each) for each in standstills_now()]
    if halt is not None:
        message = f"All jobs are paused{halt.cause}{'' if halt.reason else '.'}"
        correction = "Resume jobs once the reason is gone."
        found.append(of_panel(Standstill("halt", "warning", message, correction, halt.since)))
    return found


def of_panel(standstill: Standstill) -> Problem:
    """A standstill as a problem of all hosts."""
    return Problem(
        code=standstill.code,
        severity=standstill.severity,
        rank=1 if standstill.severity == "error" else 2,
        message=standstill.message,
        correction=standstill.correction,
        since=standstill.since,
        host_id=OF_ALL_HOSTS,
        host_key="",
        host_name="",
        subject="",
        subject_label="",
        volume_key="",
        job_key="",
        job_kind="",
        job_error="",
    )


def tallies(at: datetime) -> dict[int, ProblemTally]:
    """How many problems each host has, by its primary key, the worst host first; hosts without a
    problem are missing. One query."""
    return {
        host_id: ProblemTally(errors, warnings, rank)
        for host_id, rank, errors, warnings in _fetch(TALLIES, at)
    }


def total(each: Iterable[ProblemTally]) -> ProblemTally:
    """All of them together."""
    kept = tuple(each)
    return ProblemTally(
        sum(tally.errors for tally in kept),
        sum(tally.warnings for tally in kept),
        min((tally.rank for tally in kept), default=3),
    )


def grouped(
    at: datetime, known: Collection[str], groups: int, members: int
) -> tuple[tuple[ProblemGroup, ...], int]:
    """The first `groups` groups of equal problems with up to `members` of each, the worst and
    oldest first, and how many groups there are. Problems of the `known` codes are equal whatever
    their words. Five queries at most."""
    rows = _fetch(GROUPS, at, known=list(known), places=groups, members=members)
    width = len(_Row._fields)
    problems = _worded([_Row(*row[:width]) for row in rows], at)
    by_place: dict[int, list[Problem]] = {}
    about: dict[int, tuple[int, int, bool, bool, int, datetime | None]] = {}
    for row, problem in zip(rows, problems, strict=True):
        place, *rest, _ = row[width:]
        by_place.setdefault(place, []).append(problem)
        about[place] = (rest[0], rest[1], rest[2], rest[3], rest[4], rest[5])
    return (
        tuple(ProblemGroup(tuple(by_place[place]), *about[place]) for place in by_place),
        rows[0][-1] if rows else 0,
    )


def _fetch(query: str, at: datetime, **more: list[Any] | int) -> list[tuple[Any, ...]]:
    parameters: dict[str, Any] = {
        "silent": at - timedelta(seconds=silent_seconds()),
        "failed": _listed_since("job_failed", at),
        "kernels": _listed_since("kernel_changed", at),
        "unread": at - DISKS_UNREAD,
        "old_inventory": at - INVENTORY_UNREAD,
        "old_change": at - CHANGE_UNREAD,
        "from_inventory": [each.code for each in KINDS.values() if each.is_also_reported],
        "passing": [each.code for each in KINDS.values() if each.is_expected_during_jobs],
        "at_risk": sorted(AT_RISK),
        "over": list(OVER),
        **more,
    }
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())


def _listed_since(code: str, at: datetime) -> datetime:
    """What began before is listed no longer."""
    listed_for = KINDS[code].listed_for
    if listed_for is None:
        raise ValueError(f"{code} is listed for as long as it lasts")
    return at - listed_for


def _worded(rows: Sequence[_Row], at: datetime) -> list[Problem]:
    """The rows with their words and names, which only those that are shown need."""
    hosts = Host.objects.only("key", "name").in_bulk({row.host_id for row in rows})
    keys = {row.volume_key for row in rows if row.volume_key}
    volumes = named_volumes(keys)
    job_ids = {row.job_id for row in rows if row.job_id is not None}
    jobs = {job.pk: job for job in Job.objects.filter(pk__in=job_ids).for_rows()} if job_ids else {}
    return [_problem(row, hosts[row.host_id], volumes, jobs, at) for row in rows]


def named_volumes(keys: Collection[str]) -> dict[str, NamedVolume]:
    """Volumes by their keys, with the job that changes each. One query, without keys none."""
    if not keys:
        return {}
    job = Job.objects.unfinished().filter(dry_run=False, volume=OuterRef("pk"))
    rows = Volume.objects.filter(key__in=keys).values_list(
        "key", "label", Subquery(job.values("key")), Subquery(job.values("state"))
    )
    return {
        key: NamedVolume(
            label, BlockingJob(job_key, state == State.NEEDS_ATTENTION) if job_key else None
        )
        for key, label, job_key, state in rows
    }


def _problem(
    row: _Row, host: Host, volumes: Mapping[str, NamedVolume], jobs: Mapping[int, Job], at: datetime
) -> Problem:
    details = json.loads(row.details)
    volume = volumes.get(row.volume_key)
    job = jobs[row.job_id] if row.job_id is not None else None
    if job is not None:
        message, correction = job.sentence, row.correction
    else:
        message, correction = problem_words(
            row.code, row.message, row.correction, row.since, details, at
        )
    return Problem(
        code=row.code,
        severity=row.severity,
        rank=row.rank,
        message=message,
        correction=correction,
        since=row.since,
        host_id=host.pk,
        host_key=host.key,
        host_name=host.name,
        subject=row.subject,
        subject_label=job.label if job is not None else volume.label if volume else row.subject,
        volume_key=row.volume_key if volume is not None else "",
        job_key=job.key if job is not None else "",
        job_kind=job.get_kind_display() if job is not None else "",
        job_error=details["code"] if job is not None else "",
        blocking=volume.blocking if volume is not None else None,
        identity=details.get("identity", ""),
        waits_for=details.get("waits_for", ""),
        is_culprit=details.get("is_culprit", False),
        until=datetime.fromisoformat(details["until"]) if "until" in details else None,
    )
