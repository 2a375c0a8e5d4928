"""From a completed order to its proof: the time before, the wait for a warm cache, the time
after, the comparison. `sweep_proofs` does what the rows and samples say is due; any number of
processes may run it."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Final, cast

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext_noop as marked

from jobs.models import Job, JobQuerySet, Kind
from panel.models import Intent, Order, OrderState, Proof, ProofState
from panel.orders import events
from panel.proofs.result import ProofComparison, result
from storage.analysis.before_after import (
    Block,
    before_window,
    block_seconds,
    combine,
    judge_writes,
    pairs,
    period_seconds,
    verdict_of,
    warm_from,
)
from storage.analysis.before_after.block import DAY, HOUR, WEEK
from storage.analysis.before_after.change import LEAST
from storage.analysis.sample_blocks import blocks
from storage.database_clock import database_now
from storage.models import Volume
from storage.volumes.ownership import owned_since


class Reason(StrEnum):
    """The codes of `Proof.reason_code`."""

    NO_BEFORE = "no_before"
    CHANGED = "changed"
    TOO_LITTLE_LOAD = "too_little_load"
    GAPS = "gaps"

    @property
    def sentence(self) -> str:
        return SENTENCES[self]


SENTENCES: Final = {
    Reason.NO_BEFORE: marked(
        "The volume was measured for too short a time before the change, or its cache was still "
        "warming up."
    ),
    Reason.CHANGED: marked("The volume was changed again before this one could be measured."),
    Reason.TOO_LITTLE_LOAD: marked(
        "The volume was used too little before or after the change to compare."
    ),
    Reason.GAPS: marked("Too many data points are missing before or after the change."),
}


LEAST_COVERAGE: Final = 0.5
"""Where less of a window has figures, the report names missing figures, not a lack of use."""
LATE_SAMPLES: Final = 2
"""Sample intervals after the end of a window until all its figures exist."""


def begin_proof(order: Order, *, window_seconds: int | None = None) -> Proof | None:
    """The proof of a completed order with the time before it; None where it has none: nothing was
    done on a host, or it only took another order back. Asked again, it is the same one."""
    job = order.job
    if not has_proof(order) or job is None or job.started_at is None or job.ended_at is None:
        return None
    window, patience = _lengths(order, job.ended_at)
    window = window_seconds or window
    step = block_seconds(window, settings.TIERCEL_SAMPLE_SECONDS)
    limit = _nothing_before(order, job.started_at, step)
    start, end = before_window(limit, job.started_at, window, step)
    since = max(limit, start - timedelta(seconds=step))
    before_blocks = blocks(order.volume, start, end, step, since=since) if start < end else []
    proof, _made = Proof.objects.get_or_create(
        order=order,
        defaults={
            "before_start": start,
            "before_end": end,
            "before": [block.to_json() for block in before_blocks],
            "block_seconds": step,
            "warm_by": job.ended_at + timedelta(seconds=patience),
        },
    )
    return proof


def has_proof(order: Order) -> bool:
    """Whether a proof of the completed order comes."""
    return order.job_id is not None and order.intent != Intent.REVERT


def advance(proof: Proof, now: datetime) -> bool:
    """Bring the proof as far as it can come by `now`; True where it came further."""
    moved = False
    if proof.state == ProofState.WAITING:
        moved = _await_warmth(proof, now)
    if proof.state == ProofState.MEASURING:
        moved = _compare(proof, now) or moved
    return moved


def _await_warmth(proof: Proof, now: datetime) -> bool:
    """Start the measurement once the hit rate is flat, or after the longest wait."""
    order, step = proof.order, proof.block_seconds
    done = _done_at(order)
    length = proof.before_end - proof.before_start
    if length < LEAST * timedelta(seconds=step):
        return _give_up(proof, Reason.NO_BEFORE)
    if not _is_used_enough(_before(proof), with_writes=caches_writes(order)):
        return _give_up(proof, _lack(_before(proof), length))
    changed = _changed_at(order, done)
    end = min(each for each in (now, proof.warm_by, changed) if each is not None)
    warm = _warm_at(order, done, end, step)
    was_warm = warm is not None
    if warm is None and changed is not None and changed <= min(now, proof.warm_by):
        return _give_up(proof, Reason.CHANGED)
    if warm is None and now >= proof.warm_by:
        warm = proof.warm_by
    if warm is None:
        return False
    start = _next_hour(warm) if length >= timedelta(seconds=DAY) else warm
    times = {"after_start": start, "after_end": start + length}
    return proof.transition(ProofState.WAITING, ProofState.MEASURING, was_warm=was_warm, **times)


def _compare(proof: Proof, now: datetime) -> bool:
    """Compare the time after with the time before, once it has ended."""
    order = proof.order
    if proof.after_start is None or proof.after_end is None:
        return False
    changed = _changed_at(order, _done_at(order))
    if changed is not None and changed < proof.after_end:
        return _give_up(proof, Reason.CHANGED)
    if now < proof.after_end + timedelta(seconds=LATE_SAMPLES * settings.TIERCEL_SAMPLE_SECONDS):
        return False
    before = _before(proof)
    after = _after(proof, proof.after_start, proof.after_end)
    length = proof.before_end - proof.before_start
    comparison = compare(before, after, length, with_writes=caches_writes(order))
    if comparison is None:
        return _give_up(proof, _lack(min(before, after, key=_covered), length))
    result_json = result(
        comparison,
        cache_bytes=_cache_bytes(order),
        volume_bytes=order.volume.size_bytes,
        blocks=round(length.total_seconds() / proof.block_seconds),
    )
    with transaction.atomic():
        verdict = {"result": result_json, "verdict": comparison.verdict.value}
        if not proof.transition(ProofState.MEASURING, ProofState.READY, **verdict):
            return False
        events.proof_ready.send(sender=Order, order=order)
    return True


def compare(
    before: list[Block], after: list[Block], length: timedelta, *, with_writes: bool
) -> ProofComparison | None:
    """Two windows of that length; None where they cannot be compared. The verdict is on reads, and
    `with_writes` on writes too."""
    period, is_short = period_seconds(length.total_seconds()), length < timedelta(seconds=WEEK)
    reads = pairs(before, after, period)
    writes = pairs(before, after, period, of_writes=True)
    of_reads = verdict_of(reads, is_short=is_short)
    of_writes = judge_writes(writes, is_short=is_short)
    waited = sum(each.read_ms for each, _ in reads), sum(each.write_ms for each, _ in writes)
    combined = combine(of_reads, of_writes if with_writes else None, waited)
    if combined is None:
        return None
    return ProofComparison(reads, writes, of_reads, of_writes, combined, with_writes)


def caches_writes(order: Order) -> bool:
    """Whether the cache takes writes too, or did before the order: what reads gain or lose is not
    all then."""
    plans = (order.from_plan, order.to_plan)
    return any(plan is not None and plan.mode == "writeback" for plan in plans)


def _is_used_enough(measured: list[Block], *, with_writes: bool) -> bool:
    written = sum(block.is_written for block in measured) if with_writes else 0
    return max(written, sum(block.is_used for block in measured)) >= LEAST


def _give_up(proof: Proof, reason: Reason) -> bool:
    fields = {"reason_code": reason.value, "reason": reason.sentence}
    return proof.transition(ProofState(proof.state), ProofState.IMPOSSIBLE, **fields)


def _lengths(order: Order, done: datetime) -> tuple[int, int]:
    """How long a window is at most, and the wait for a warm cache, in seconds. Of a trial half and
    a quarter, so that its report is there before its customer must choose."""
    window, patience = settings.TIERCEL_PROOF_SECONDS, settings.TIERCEL_PROOF_WARM_SECONDS
    if order.intent == Intent.TRIAL and order.trial_until is not None:
        length = int((order.trial_until - done).total_seconds())
        window, patience = min(window, max(1, length // 2)), min(patience, length // 4)
    return window, patience


def _nothing_before(order: Order, until: datetime, step: int) -> datetime:
    """Since when the customer had the volume in the state before the order: an earlier change and
    the time its cache took to warm up are no part of the time before."""
    volume = order.volume
    earlier = _touching(order).filter(ended_at__lte=until).aggregate(last=Max("ended_at"))["last"]
    warm = Proof.objects.filter(order__volume=volume, after_start__lte=until).exclude(order=order)
    times = (
        volume.created_at,
        owned_since(volume),
        earlier,
        warm.aggregate(last=Max("after_start"))["last"],
    )
    limit = max(each for each in times if each is not None)
    return limit if limit != earlier else _warmed(volume, limit, until, step)


def _warmed(volume: Volume, changed: datetime, until: datetime, step: int) -> datetime:
    """When the volume's cache was warm again after an earlier change: a cache that still learns
    makes whatever comes after it look like a gain. Never is `until`; without a cache, at once."""
    since_change = blocks(volume, changed, until, step) if changed < until else []
    if not any(block.hits for block in since_change):
        return changed
    count = warm_from(since_change)
    if count is None:
        return until
    return datetime.fromtimestamp(since_change[count - 1].at + step, tz=until.tzinfo)


def _changed_at(order: Order, since: datetime) -> datetime | None:
    """When the volume was touched first after the order's own job, None where it was not. A volume
    that has another customer now counts as changed at once."""
    if order.volume.customer_id != order.customer_id:
        return since
    later = _touching(order).filter(started_at__gte=since).order_by("started_at").first()
    return later.started_at if later is not None else None


def _touching(order: Order) -> JobQuerySet:
    """Other jobs that began on the order's volume, but for those that only write a name on it."""
    others = Job.objects.filter(volume_id=order.volume_id, dry_run=False, started_at__isnull=False)
    return others.exclude(pk=cast("Job", order.job).pk).exclude(kind=Kind.TAG_VOLUME)


def _warm_at(order: Order, done: datetime, end: datetime, step: int) -> datetime | None:
    """When the cache was warm, None where it still is not by `end`. What has no cache is at once;
    only whole blocks are looked at."""
    if order.to_plan_id is None:
        return done
    whole = done + timedelta(seconds=max(0.0, (end - done).total_seconds()) // step * step)
    if whole <= done:
        return None
    since_change = blocks(order.volume, done, whole, step)
    count = warm_from(since_change)
    if count is None:
        return None
    return datetime.fromtimestamp(since_change[count - 1].at + step, tz=done.tzinfo)


def _before(proof: Proof) -> list[Block]:
    return [Block.from_json(block) for block in proof.before]


def _after(proof: Proof, start: datetime, end: datetime) -> list[Block]:
    """Nothing of the time in which the change was made."""
    step = proof.block_seconds
    since = max(_done_at(proof.order), start - timedelta(seconds=step))
    return blocks(proof.order.volume, start, end, step, since=since)


def _lack(measured: list[Block], length: timedelta) -> Reason:
    is_covered = _covered(measured) >= LEAST_COVERAGE * length.total_seconds()
    return Reason.TOO_LITTLE_LOAD if is_covered else Reason.GAPS


def _covered(measured: list[Block]) -> float:
    return sum(block.dt_ms for block in measured) / 1000


def _done_at(order: Order) -> datetime:
    """`begin_proof` makes no proof of an order without it."""
    return cast("datetime", cast("Job", order.job).ended_at)


def _next_hour(at: datetime) -> datetime:
    return datetime.fromtimestamp(ceil(at.timestamp() / HOUR) * HOUR, tz=at.tzinfo)


def _cache_bytes(order: Order) -> int | None:
    """What the order's plan gives the volume."""
    plan = order.to_plan
    if plan is None:
        return None
    if plan.size_bytes is not None:
        return plan.size_bytes
    return order.volume.size_bytes * (plan.ratio_percent or 0) // 100


log = logging.getLogger(__name__)


def missing() -> QuerySet[Order]:
    """Completed orders that changed something on a host and have no proof yet."""
    done = Order.objects.filter(state=OrderState.COMPLETED, proof=None, job__ended_at__isnull=False)
    done = done.filter(job__started_at__isnull=False).exclude(intent=Intent.REVERT)
    return done.select_related("job", "volume", "to_plan")


def unfinished() -> QuerySet[Proof]:
    """Unfinished proofs, with the required fields of their orders."""
    open_ = Proof.objects.filter(state__in=(ProofState.WAITING, ProofState.MEASURING))
    return open_.select_related("order__job", "order__volume", "order__from_plan", "order__to_plan")


def sweep_proofs() -> None:
    """Each for itself: one that fails the program stops no other."""
    now = database_now()
    for order in missing():
        try:
            begin_proof(order)
        except DatabaseError:
            raise
        except Exception:
            log.exception("proof of order %s", order.key)
    for proof in unfinished():
        try:
            advance(proof, now)
        except DatabaseError:
            raise
        except Exception:
            log.exception("proof of order %s", proof.order.key)
