"""Accept and withdraw jobs, for a volume or for an SSD to be added. The Job table is the queue. A
volume that does not exist yet gets its record together with the job or preview that creates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from jobs import notify_workers
from jobs.engine import steps
from jobs.engine.finish import has_changed_host
from jobs.engine.transitions import transition
from jobs.models import DESTROYING, OF_DISKS, Job, Kind, State
from jobs.queue.job_windows import HOSTS, Chosen, begins_at, window_fields, window_for
from jobs.queue.reservations import reserved
from jobs.requester import Requester, cancelled_by, job_fields, requester_fields
from storage.access import Right
from storage.compiled_query import CompiledQuery
from storage.formatting import size
from storage.inventory.facts import HostFacts
from storage.models import BenchmarkRun, CachePlan, Host, Placement, Volume
from storage.models.host import HostState
from storage.naming import volume_name
from storage.planner import Disks, Refused, Target, plan
from storage.planner.benchmark_wish import BenchmarkWish, run_benchmark
from storage.planner.host_wish import HostWish, read_host_wish
from storage.planner.member_wish import Replacement
from storage.planner.ssd_wish import Preparation
from storage.planner.wish import Wish
from storage.row_locks import hold
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import VolumeSnapshot
from storage.volumes.ssd_capacity import less_reserved, wanted_bytes
from storage.volumes.volume_groups import GroupChoice

CONSTRAINTS = ("job_one_per_volume", "job_one_ssd_per_host", "job_one_benchmark_per_host")
FINAL_REFUSALS = frozenset({"not_fresh"})
"""Refusals that no change on the host can lift, so that last minute's facts suffice for them.
Everything else is judged by the runner, on facts it has just read."""
FOR_ADMINS = frozenset({Kind.DESTROY_VOLUME, *OF_DISKS})
KINDS: Mapping[type[HostWish], Kind] = {
    Preparation: Kind.PREPARE_SSD,
    Replacement: Kind.REPLACE_MEMBER,
    BenchmarkWish: Kind.BENCHMARK,
}
PROVEN = FOR_ADMINS | DESTROYING
"""Jobs that give up data or a whole disk: on pages only with a fresh proof of identity."""


class Busy(Exception):
    """Another job holds the volume, or is about the host's disks; it is `job`."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"The job {job.key} ({job.get_kind_display()}, {job.get_state_display()}) holds "
            f"{job.volume or job.host}. Wait until it has ended, or cancel it."
        )
        self.job = job


def holder_of(volume: Volume) -> Job | None:
    """The job that changes the volume now; a preview holds nothing."""
    return Job.objects.unfinished().filter(volume=volume, dry_run=False).first()


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """That `volume` becomes `wish`. `cache_plan` is what the customer pays for once it has (None =
    nothing), `price_minor` and `currency` the price a month agreed on. `fingerprint` is that of the
    preview a person confirmed, `disks` where its steps allocate, which the job prefers; no worker
    takes the job `not_before`, nor while it `awaits` a decision (`release`), nor outside its
    `window`."""

    kind: str
    volume: Volume
    wish: Wish
    dry_run: bool = False
    cache_plan: CachePlan | None = None
    price_minor: int | None = None
    currency: str = ""
    fingerprint: str = ""
    disks: Disks = field(default_factory=dict)
    not_before: datetime | None = None
    awaits: str = ""
    window: Chosen = HOSTS


@transaction.atomic
def submit(request: ChangeRequest, by: Requester) -> Job:
    """Accept a job, and notify a worker after commit. What the volume is now is kept as the job's
    `fallback`, where a wish can say it.

    Raises `Refused` for what is known to be impossible, also where the SSD space left is promised
    to jobs accepted earlier (`no_space`), and `Busy` where another job holds the volume (a dry run
    holds nothing and waits for nothing).
    """
    volume, wish, dry_run = request.volume, request.wish, request.dry_run
    placement = volume.placed
    if placement is None:
        raise Refused(
            "not_found",
            f"{volume} is not on any host.",
            "Refresh the hosts. If the volume's disk is gone for good, restore the volume from a "
            "backup.",
        )
    check_contactable(placement.host)
    facts = inventory_of(placement.host)
    if facts is not None:
        _refuse_impossible(facts, placement.target, wish)
    if not dry_run:
        _check_ssd_space(placement, wish)
        _end_preview_only(volume)
    window = window_for(request.window, request.kind, placement.host)
    not_before = request.not_before
    if window is not None and not dry_run:
        not_before = begins_at(placement.host, window, not_before)
    return enqueue(
        {
            **job_fields(by),
            **window_fields(window),
            "kind": Kind(request.kind),
            "volume": volume,
            "host": placement.host,
            "wish": wish.to_json(),
            "dry_run": dry_run,
            "cache_plan": request.cache_plan,
            "price_minor": request.price_minor,
            "currency": request.currency,
            "fingerprint": request.fingerprint,
            "disks": dict(request.disks),
            "not_before": not_before,
            "awaits": request.awaits,
            "fallback": None if dry_run else _fallback(volume, placement, facts, wish),
        }
    )


def enqueue(fields: dict[str, Any]) -> Job:
    """Store a job, and notify a worker after commit unless the job awaits a decision. Raises `Busy`
    where another one holds its volume, or concerns its host's disks."""
    try:
        with transaction.atomic():
            job = Job.objects.create(**fields)
            _refuse_removed(job)
    except IntegrityError as error:
        if not any(constraint in str(error) for constraint in CONSTRAINTS):
            raise
        rivals = Job.objects.unfinished().filter(dry_run=False)
        holder = rivals.filter(**_held(fields)).first()
        if holder is None:  # it ended between the two statements: the way is free now
            job = Job.objects.create(**fields)
        else:
            raise Busy(holder) from None
    if not job.awaits:
        notify_workers.job(job.pk)
    return job


def _held(fields: dict[str, Any]) -> dict[str, Any]:
    """What a job of these fields has for itself, as a filter of jobs."""
    if fields.get("volume") is not None:
        return {"volume": fields["volume"]}
    kinds = OF_DISKS if fields["kind"] in OF_DISKS else (fields["kind"],)
    return {"host": fields["host"], "kind__in": kinds}


_HOST_STATE = CompiledQuery(Host, lambda pk: Host.objects.filter(pk=pk).only("state"))


def _refuse_removed(job: Job) -> None:
    """Storing the job waits for a removal of its host (`jobs.queue.removal`), so the host that was
    read before may be out of date."""
    if _HOST_STATE.get(job.host_id).state == HostState.REMOVED:
        raise Refused("not_found", f"{job.host} was removed.", "Choose another host.")


@transaction.atomic
def release(job: Job) -> bool:
    """Record the decision that the job awaited: a worker may take it. False where it awaits none,
    or was cancelled meanwhile."""
    awaiting = Job.objects.filter(pk=job.pk, state=State.QUEUED).exclude(awaits="")
    if not awaiting.update(awaits=""):
        return False
    notify_workers.job(job.pk)
    return True


@transaction.atomic
def cancel(job: Job, requester: Requester | None) -> bool:
    """Withdraw a job for `requester` (None = Tiercel itself); True when it ended at once. Raises
    `Refused` (`turned`) once the point of no return is passed.

    A step that runs on the host is never killed: the job ends before its next step, after it has
    undone what is done where it can. A step that takes long is asked to stop, where the host lets
    it. Only a job that needs attention ends with a step of unknown outcome.
    """
    # Under this lock the runner sets `is_irrevocable`, and reads whether the job is cancelled.
    locked = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    job.state, job.is_irrevocable = locked.state, locked.is_irrevocable
    if job.is_over:
        return True
    fields = {"explanation": cancelled_by(requester), **requester_fields(requester)}
    if job.state == State.NEEDS_ATTENTION:
        return transition(job, State.NEEDS_ATTENTION, State.CANCELLED, **fields)
    if job.is_irrevocable:
        raise Refused(
            "turned",
            f"{job} can no longer be rolled back; it must run to its end.",
            "Wait until it has ended.",
        )
    if job.state in (State.QUEUED, State.WAITING) and not has_changed_host(job):
        return transition(job, State(job.state), State.CANCELLED, **fields)
    changes = {"cancel_requested": True, "not_before": None}
    if not locked.cancel_requested:  # a repeated request changes nothing
        changes |= requester_fields(requester)
        if requester is not None:
            steps.add_lines(job, [f"Cancellation requested by {requester.name}."])
    Job.objects.filter(pk=job.pk).update(**changes)
    job.refresh_from_db()
    notify_workers.job(job.pk)
    return False


def _end_preview_only(volume: Volume) -> None:
    """What was only previewed is asked for now; raises `Refused` where another volume has taken its
    external id meanwhile."""
    if volume.previewed_at is None:
        return
    volume.previewed_at = None
    try:
        with transaction.atomic():
            volume.save(update_fields=["previewed_at"])
    except IntegrityError:
        raise Refused(
            "external_id_taken",
            f"Another volume now has the external id {volume.external_id}.",
            "Give this one another external id, then apply the preview again.",
        ) from None


def _fallback(
    volume: Volume, placement: Placement, facts: HostFacts | None, wish: Wish
) -> dict[str, object] | None:
    """What the volume is now, as a wish; None where no wish can say it, or where it is the same."""
    uuid = placement.lv_uuid
    lv = facts.lv(uuid) if facts is not None and uuid is not None else None
    current_wish = VolumeSnapshot(volume, placement, facts, lv, cache=None, latest=None).wish
    return current_wish.to_json() if current_wish is not None and current_wish != wish else None


def check_contactable(host: Host) -> None:
    """Raises `Refused` for a host that is not in use."""
    if host.state == HostState.ACTIVE:
        return
    code = str(host.error.get("code"))
    if host.state == HostState.QUARANTINED and code in ("twins", "machine_changed"):
        raise Refused(code, f"{host.error['message']}.", host.error["correction"])
    if host.state == HostState.QUARANTINED:
        raise Refused(
            "host_key_changed",
            f"{host} is quarantined: it showed a different host key from the accepted one.",
            "Compare the new fingerprint on the host page with the host's console first.",
        )
    raise Refused(
        "not_active",
        f"{host} is not in use yet: {HostState(host.state).label}.",
        "Finish its enrolment and accept its fingerprint on the host page.",
    )


def _refuse_impossible(facts: HostFacts, target: Target, wish: Wish) -> None:
    try:
        plan(facts, target, wish)
    except Refused as refused:
        if refused.code in FINAL_REFUSALS:
            raise


def _check_ssd_space(placement: Placement, wish: Wish) -> None:
    """Refuse what would take SSD space that is not there or is promised to others.

    The host's row stays locked until the job is committed: of two who ask for the last free space
    the second one sees the first one's job. What the host says is read under the lock too.
    """
    if wish.cache is None and wish.tier != "ssd":
        return
    host, facts = _locked(placement.host_id)
    if facts is None or not wanted_bytes(facts, placement.vg_uuid, wish, placement.lv_uuid):
        return
    reserved_bytes = reserved(host, facts, but_for=placement.volume).get(placement.vg_uuid, 0)
    try:
        plan(less_reserved(facts, placement.vg_uuid, reserved_bytes), placement.target, wish)
    except Refused as refused:
        if refused.code != "no_space":
            return
        promised = (
            f" ({size(reserved_bytes)} are reserved for jobs that have not ended)"
            if reserved_bytes
            else ""
        )
        raise Refused(
            "no_space",
            f"{refused.message.rstrip('.')}{promised}.",
            "Choose a smaller size or free SSD space first. If you have just freed space, refresh "
            "the host.",
        ) from None


def _check_scratch_space(host: Host, wish: BenchmarkWish) -> None:
    """The same for the scratch volumes of a benchmark, and for all else that makes its run
    impossible."""
    locked, facts = _locked(host.pk)
    if facts is not None:
        promised = reserved(locked, facts).get(wish.vg_uuid, 0)
        run_benchmark(less_reserved(facts, wish.vg_uuid, promised), wish)


def _locked(host_id: int) -> tuple[Host, HostFacts | None]:
    """A host whose row stays locked until the end of the transaction, and its inventory."""
    unread = Host.objects.defer("facts", "hello")
    host = unread.select_for_update(no_key=True).get(pk=host_id)
    return host, inventory_of(host)


@transaction.atomic
def submit_for_host(
    host: Host,
    wish: HostWish,
    requester: Requester,
    *,
    dry_run: bool,
    fingerprint: str = "",
    not_before: datetime | None = None,
    benchmark_run: BenchmarkRun | None = None,
) -> Job:
    """Accept a job about a host's disks, and notify a worker after commit; `benchmark_run` is the
    run that it does. Raises `Refused` for a host that is not in use, and for a benchmark whose
    space is not there or promised to others; `Busy` where another job is about the same."""
    check_contactable(host)
    if isinstance(wish, BenchmarkWish) and not dry_run:
        _check_scratch_space(host, wish)
    return enqueue(
        {
            **job_fields(requester),
            "kind": KINDS[type(wish)],
            "host": host,
            "benchmark_run": benchmark_run,
            "wish": wish.to_json(),
            "dry_run": dry_run,
            "fingerprint": fingerprint,
            "not_before": not_before,
        }
    )


def right_to(job: Job) -> Right:
    """What it takes to confirm a preview, and to decide about a job that needs attention."""
    return Right.ADMINISTER if job.kind in FOR_ADMINS else Right.OPERATE


def confirm(preview: Job, requester: Requester, *, not_before: datetime | None = None) -> Job:
    """The job that does what the preview said, now or later; where other steps would begin it by
    then, it ends without any. Raises `Refused`, also for a preview that did not end well, and
    `Busy`."""
    if preview.state != State.SUCCEEDED:
        raise Refused(
            "stale", "This preview failed, or has not ended yet.", "Create a new preview."
        )
    if preview.kind == Kind.BENCHMARK:
        raise Refused("not_now", "A preview of a benchmark's run starts none.", "Order it.")
    if preview.volume is None:
        return submit_for_host(
            preview.host,
            read_host_wish(preview.wish),
            requester,
            dry_run=False,
            fingerprint=preview.fingerprint,
            not_before=not_before,
        )
    return submit(
        ChangeRequest(
            preview.kind,
            preview.volume,
            Wish.from_json(preview.wish),
            fingerprint=preview.fingerprint,
            disks=preview.disks,
            not_before=not_before,
            window=preview.window,
        ),
        requester,
    )


@transaction.atomic
def create_volume(
    volume: Volume, group: GroupChoice, wish: Wish, requester: Requester, *, dry_run: bool
) -> Job:
    """Store the new `volume` and request it; raises `Refused`. A preview needs the record, too: its
    commands contain the volume's name."""
    volume.layout, volume.size_bytes = wish.layout, wish.size_bytes
    volume.previewed_at = timezone.now() if dry_run else None
    volume.save()
    Placement.objects.create(
        volume=volume,
        host=group.host,
        vg_name=group.vg_name,
        vg_uuid=group.vg_uuid,
        lv_name=volume_name(volume.key),
    )
    return submit(ChangeRequest(Kind.CREATE_VOLUME, volume, wish, dry_run=dry_run), requester)


@transaction.atomic
def discard_record(volume: Volume) -> None:
    """Delete a volume that was only ever previewed; raises `Refused` for any other."""
    hold(volume, against_jobs=True)
    placed = Placement.objects.filter(volume=volume, lv_uuid__isnull=False).exists()
    if placed or Job.objects.filter(volume=volume, dry_run=False).exists():
        raise Refused(
            "in_use",
            f"{volume} exists on its host, or a job is creating it.",
            "Cancel the job first; a volume that exists cannot be discarded.",
        )
    Job.objects.filter(volume=volume).delete()
    volume.delete()
