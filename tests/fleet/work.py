"""The jobs of a fleet: one in each state, and those that made the caches of the last day."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from jobs.models import AuditEntry, Job, Kind, Line, Origin, Phase, State, Step
from jobs.models.step import StepState
from panel.models import User
from storage.byte_sizes import GIB
from storage.models import Host, Volume
from storage.naming import pool_name
from storage.planner.wish import LvmCache, Wish, smallest_chunk_kib
from tests.fleet.machine import VG, Invented, Machine

LONG_LOG_LINES = 1200


# What the page of a preview reckons its cost by.
ARGS = {"pool.create": {"size_bytes": 4 * GIB, "chunk_kib": 64}}


@dataclass(frozen=True, slots=True)
class Placed:
    """An invented volume with its rows."""

    of: Invented
    volume: Volume
    host: Host
    machine: Machine
    cached_at: datetime | None = None


def wish_of(there: Placed, *, cached: bool = True) -> Wish:
    """The volume with a cache pool, or without."""
    size_bytes = there.of.cache_bytes or 4 * GIB
    name, chunk_kib = pool_name(there.of.key), smallest_chunk_kib(size_bytes)
    cache = LvmCache(name, size_bytes, chunk_kib=chunk_kib)
    return Wish(there.of.size_bytes, "hdd", "plain", cache if cached else None)


def work(placed: Sequence[Placed], admin: User, owner: User, now: datetime) -> None:
    """Jobs of every state, on volumes that suit them."""
    maker = _Maker(admin, owner, Random(placed[0].of.key))
    by_role: dict[str, list[Placed]] = {}
    for each in placed:
        if not each.of.is_retired:
            by_role.setdefault(each.machine.role, []).append(each)
        if each.cached_at is not None:
            maker.attached(each, each.cached_at)
    free = {
        role: [each for each in found if each.cached_at is None] for role, found in by_role.items()
    }
    maker.flushing(_take(free, "lvmcache", "lvmcache"), now)
    maker.later(_take(free, "lvmcache", ""), now)
    maker.preview(_take(free, "lvmcache", ""), now)
    maker.failed(_take(free, "bcache", ""), now)
    maker.undecided(_take(free, "degraded", "lvmcache"), now)
    maker.cancelled(_take(free, "degraded", ""), now)
    maker.held(_take(free, "maintenance", ""), now)
    maker.ordered(_take(free, "degraded", ""), now)
    maker.long(_take(free, "maintenance", "lvmcache"), now)


def _take(free: dict[str, list[Placed]], role: str, technology: str) -> Placed | None:
    """A volume of such a host with such a cache that no job holds yet; None in a small fleet."""
    found = free.get(role, [])
    chosen = next((each for each in found if each.of.technology == technology), None)
    if chosen is not None:
        found.remove(chosen)
    return chosen


@dataclass(frozen=True, slots=True)
class _Maker:
    admin: User
    owner: User
    random: Random

    def attached(self, there: Placed, at: datetime) -> None:
        fields: dict[str, Any] = {"kind": Kind.ADD_CACHE, "state": State.SUCCEEDED}
        job = self._job(there, at - timedelta(seconds=20), **fields)
        pool = f"{VG}/{pool_name(there.of.key)}"
        size = there.of.cache_bytes // GIB
        self._step(job, there, 1, "pool.create", f"Make a cache of {size} GiB on the SSDs", [
            f"lvcreate -y --type cache-pool -L {size}g -n {pool} /dev/md0",
        ], at - timedelta(seconds=18), 6)  # fmt: skip
        self._step(job, there, 2, "cache.attach", "Put it before the volume", [
            f"lvconvert -y --type cache --cachepool {pool} {VG}/{there.of.lv_name}",
        ], at - timedelta(seconds=8), 3)  # fmt: skip
        self._lines(
            job, ["  Logical volume is now cached.", "  Rounded up to 4.00 MiB extents."], at
        )
        self._end(job, at)

    def flushing(self, there: Placed | None, now: datetime) -> None:
        if there is None:
            return
        began = now - timedelta(minutes=4)
        job = self._job(
            there, began, kind=Kind.REMOVE_CACHE, state=State.RUNNING, started_at=began,
            cached=False, lease_owner="worker-1", lease_until=now + timedelta(hours=4),
            explanation="Writing dirty data back to the HDD",
        )  # fmt: skip
        total = 3 * GIB
        progress = {"label": "dirty data left", "done_bytes": total * 5 // 8, "total_bytes": total}
        step = self._step(job, there, 1, "cache.flush", "Write dirty data back to the HDD", [
            f"lvchange --cachepolicy cleaner {VG}/{there.of.lv_name}",
        ], began, None)  # fmt: skip
        Step.objects.filter(pk=step.pk).update(progress=progress)
        self._lines(
            job, [f"  {VG}/{there.of.lv_name}: {n} chunks dirty" for n in (49152, 31200)], now
        )

    def later(self, there: Placed | None, now: datetime) -> None:
        if there is not None:
            at = (now + timedelta(days=1)).replace(hour=2, minute=0, second=0, microsecond=0)
            self._job(there, now - timedelta(hours=1), not_before=at)

    def preview(self, there: Placed | None, now: datetime) -> None:
        if there is None:
            return
        job = self._job(there, now, dry_run=True, state=State.SUCCEEDED, fingerprint="f" * 64)
        pool = f"{VG}/{pool_name(there.of.key)}"
        self._step(job, there, 1, "pool.create", "Make a cache of 4 GiB on the SSDs", [
            f"lvcreate -y --type cache-pool -L 4g -n {pool} /dev/md0",
        ], None, None)  # fmt: skip
        self._step(job, there, 2, "cache.attach", "Put it before the volume", [
            f"lvconvert -y --type cache --cachepool {pool} {VG}/{there.of.lv_name}",
        ], None, None)  # fmt: skip
        self._end(job, now)

    def failed(self, there: Placed | None, now: datetime) -> None:
        if there is None:
            return
        at = now - timedelta(hours=3)
        error = {
            "code": "no_space",
            "message": "The SSD has 6 GiB free, the cache needs 20 GiB.",
            "correction": "Choose a smaller size or free SSD space first.",
        }
        job = self._job(there, at, state=State.FAILED, error=error)
        self._end(job, at + timedelta(seconds=4))

    def undecided(self, there: Placed | None, now: datetime) -> None:
        if there is None:
            return
        began = now - timedelta(minutes=95)
        error = {
            "code": "command_failed",
            "message": "lvconvert ended with code 5: the cache's SSD does not answer.",
            "correction": "Replace the failed SSD of md0, then resume this job.",
        }
        job = self._job(
            there, began, kind=Kind.REPLACE_CACHE, state=State.NEEDS_ATTENTION, error=error,
            started_at=began, is_irrevocable=True,
        )  # fmt: skip
        self._step(job, there, 1, "cache.flush", "Write dirty data back to the HDD", [
            f"lvchange --cachepolicy cleaner {VG}/{there.of.lv_name}",
        ], began, 130)  # fmt: skip
        step = self._step(job, there, 2, "cache.detach", "Take the old cache away", [
            f"lvconvert -y --splitcache {VG}/{there.of.lv_name}",
        ], began + timedelta(seconds=131), 9, exit_status=5)  # fmt: skip
        Step.objects.filter(pk=step.pk).update(state=StepState.FAILED, error=error)
        self._lines(
            job,
            ["  Flushing 0 blocks for cache.", "  stderr: device /dev/md0: I/O error"],
            began + timedelta(seconds=140),
        )

    def cancelled(self, there: Placed | None, now: datetime) -> None:
        if there is not None:
            at = now - timedelta(hours=7)
            job = self._job(
                there, at, kind=Kind.EXTEND_VOLUME, state=State.CANCELLED,
                explanation=f"cancelled by {self.admin}",
            )  # fmt: skip
            self._end(job, at + timedelta(minutes=2))

    def held(self, there: Placed | None, now: datetime) -> None:
        if there is not None:
            self._job(
                there, now - timedelta(minutes=35), state=State.WAITING,
                explanation="stor-hel-06 is in maintenance: Fan replaced by the data centre",
            )  # fmt: skip

    def ordered(self, there: Placed | None, now: datetime) -> None:
        """A change of plan that a customer asked for."""
        if there is None or there.volume.customer_id is None:
            return
        at = now - timedelta(hours=5)
        job = self._job(
            there, at, state=State.SUCCEEDED, origin=Origin.PORTAL, actor=self.owner,
            price_minor=490, currency="EUR",
        )  # fmt: skip
        self._end(job, at + timedelta(seconds=12))

    def long(self, there: Placed | None, now: datetime) -> None:
        """A job with much output."""
        if there is None:
            return
        at = now - timedelta(hours=10)
        job = self._job(there, at, kind=Kind.FLUSH_CACHE, state=State.SUCCEEDED)
        self._step(job, there, 1, "cache.flush", "Write dirty data back to the HDD", [
            f"lvchange --cachepolicy cleaner {VG}/{there.of.lv_name}",
        ], at, 1190)  # fmt: skip
        self._lines(job, [
            f"  {VG}/{there.of.lv_name}: {LONG_LOG_LINES - n} chunks dirty"
            for n in range(LONG_LOG_LINES)
        ], at + timedelta(seconds=1190))  # fmt: skip
        self._end(job, at + timedelta(minutes=20))

    def _job(self, there: Placed, at: datetime, *, cached: bool = True, **fields: Any) -> Job:
        over = fields.get("state") in (State.SUCCEEDED, State.FAILED, State.CANCELLED)
        defaults = {
            "kind": Kind.ADD_CACHE,
            "key": f"{self.random.getrandbits(75):025d}"[-16:].translate(
                str.maketrans("0123456789", "abcdefghij")
            ),
            "host": there.host,
            "volume": there.volume,
            "wish": wish_of(there, cached=cached).to_json(),
            "actor": self.admin,
            "address": "192.0.2.17",
            "ended_at": at if over else None,
        }
        job = Job.objects.create(**{**defaults, **fields})
        Job.objects.filter(pk=job.pk).update(created_at=at)
        return job

    def _end(self, job: Job, at: datetime) -> None:
        job.refresh_from_db()
        Job.objects.filter(pk=job.pk).update(started_at=job.created_at, ended_at=at)

    def _step(
        self,
        job: Job,
        there: Placed,
        n: int,
        verb: str,
        title: str,
        shells: list[str],
        at: datetime | None,
        seconds: float | None,
        exit_status: int = 0,
    ) -> Step:
        """A planned step without `at`; one that runs without `seconds`."""
        over = at is not None and seconds is not None
        ended_at = at + timedelta(seconds=seconds) if at and seconds is not None else None
        commands: list[dict[str, Any]] = [
            {"argv": shell.split(), "shell": shell, **({"rc": exit_status} if over else {})}
            for shell in shells
        ]
        op_id = uuid.UUID(int=self.random.getrandbits(128)) if at is not None else None
        step = Step.objects.create(
            job=job, n=n, verb=verb, args=ARGS.get(verb, {}), expect={}, title=title,
            commands=commands,
            op_id=op_id, vg_uuid=there.machine.vg_uuid, started_at=at, ended_at=ended_at,
            state=StepState.DONE if over else StepState.RUNNING if at else StepState.PLANNED,
            makes_irrevocable=verb == "cache.detach",
        )  # fmt: skip
        if at is None:
            return step
        common: dict[str, Any] = {
            "op_id": op_id, "job_key": job.key, "kind": job.kind, "actor": self.admin.email,
            "address": job.address, "origin": job.origin, "host": there.host.name,
            "host_key": there.host.key, "machine_id": there.host.machine_id,
            "volume_key": there.volume.key, "volume_label": there.volume.label, "vg": VG,
            "verb": verb, "args": {},
        }  # fmt: skip
        AuditEntry.objects.create(phase=Phase.INTENT, at=at, **common)
        if ended_at is not None:
            AuditEntry.objects.create(
                phase=Phase.OUTCOME, at=ended_at, commands=commands, result={"state": "done"},
                **common,
            )  # fmt: skip
        return step

    def _lines(self, job: Job, texts: list[str], at: datetime) -> None:
        lines = (Line(job=job, n=n, text=text, at=at) for n, text in enumerate(texts, start=1))
        Line.objects.bulk_create(lines)
