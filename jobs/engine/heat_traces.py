"""Traces of all reads and writes of a volume: requested by people, started and ended on the host's
agent by a worker, which then stores the counts. If a worker dies in between, the sweep announces
the trace again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction

from jobs import notify_workers
from jobs.hosts import contact, panel_identity, read_heat
from jobs.requester import Requester
from jobs.transport.errors import TransportError
from jobs.transport.replies import AgentError, Reply
from storage.agent.state.heat_files import PAUSED
from storage.analysis.heat_forecast import heat_obstacle
from storage.analysis.heat_store import trace_records
from storage.byte_sizes import KIB
from storage.database_clock import database_now
from storage.formatting import seconds as seconds_text
from storage.host_data import clean_text
from storage.models import HeatTrace, Host, Placement, TraceState
from storage.models.heat_trace import TO_FOLLOW, UNFINISHED
from storage.models.host import HostState
from storage.planner import Refused
from storage.planner.wish import DEFAULT_CHUNK_KIB
from storage.volumes.snapshot import VolumeSnapshot

LEASE: Final = timedelta(minutes=2)
"""The time that a worker has for one step; then another one tries."""
RETRY: Final = timedelta(minutes=1)
GIVEN_UP: Final = timedelta(hours=1)
"""A trace that could not begin within this time, or whose host is silent for it after the end, has
failed."""
SETTLING: Final = timedelta(seconds=20)
"""The agent checks every 10 s whether a trace has ended."""
PATIENCE: Final = timedelta(minutes=3)
"""A host that answers but has no record after this time will have none."""
SHORTER_SECONDS: Final = 60
AGAIN: Final = "Request another trace."


def ask_for_trace(row: VolumeSnapshot, minutes: int, requester: Requester) -> HeatTrace:
    """Have a worker trace the volume. Raises `Refused`."""
    refusal = trace_refusal(row)
    if refusal is not None or row.host is None:
        raise refusal or Refused("absent", "The volume is not on any host.", AGAIN)
    cache = row.lv.cache if row.lv is not None else None
    fields: dict[str, Any] = {
        "volume": row.volume,
        "host": row.host,
        "minutes": minutes,
        "chunk_bytes": cache.chunk_bytes if cache is not None else DEFAULT_CHUNK_KIB * KIB,
        "actor": requester.actor,
        "address": requester.address,
        "origin": requester.origin,
        "token": requester.token,
    }
    try:
        with transaction.atomic():
            made = HeatTrace.objects.create(**fields)
            made.refresh_from_db()
            notify_workers.trace(made.pk)
    except IntegrityError:
        raise Refused(
            "already_exists", "This volume is being traced.", "Wait until that has ended."
        ) from None
    return made


def trace_refusal(row: VolumeSnapshot) -> Refused | None:
    """Why the volume cannot be traced; None where it can."""
    obstacle, host = heat_obstacle(row), row.host
    if obstacle is not None or host is None or row.placement is None:
        return obstacle
    if row.lv is None or row.volume.retired_at is not None:
        return Refused("absent", "The volume is not in use on its host.", "Restore it first.")
    if host.state != HostState.ACTIVE:
        return Refused("host_not_active", f"{host} is not in use.", "Finish its enrolment first.")
    if row.placement.vg_name not in host.allowed_vgs:
        return Refused(
            "observe_only",
            f"Root on {host} does not let the panel work in {row.placement.vg_name}.",
            "Allow the volume group on the host (agent.pyz allow-vg).",
        )
    if host.heat_state == PAUSED:
        return Refused(
            "not_now", f"{host} has paused counting heat for an hour.", "Try again later."
        )
    return None


def cancel_trace(trace: HeatTrace) -> HeatTrace:
    """Cancel the trace: none of its counts are shown. Raises `Refused`."""
    now = database_now()
    with transaction.atomic():
        rows = HeatTrace.objects.filter(pk=trace.pk, state__in=UNFINISHED)
        if not rows.update(state=TraceState.CANCELLED, ended_at=now, not_before=now):
            raise Refused("too_late", "The trace has ended.", AGAIN)
        notify_workers.trace(trace.pk)
    trace.refresh_from_db()
    return trace


def announce_due() -> None:
    """Messages for traces that need a worker."""
    due = HeatTrace.objects.filter(TO_FOLLOW, not_before__lte=database_now())
    for pk in due.values_list("pk", flat=True):
        notify_workers.send("jobs.tasks.follow_trace", pk)


def follow_trace(trace_id: int) -> None:
    """Do what is due: begin the trace, read its result, or end it on the host. Safe to repeat."""
    trace = _claim(trace_id)
    if trace is None:
        return
    try:
        match trace.state:
            case TraceState.WANTED:
                _begin(trace)
            case TraceState.RUNNING:
                _look(trace)
            case _:
                _end_on_host(trace)
    except TransportError as error:
        _put_off(trace, str(error))


def _claim(trace_id: int) -> HeatTrace | None:
    """The trace, if something is due and no other worker has it."""
    now = database_now()
    due = HeatTrace.objects.filter(TO_FOLLOW, pk=trace_id, not_before__lte=now)
    with transaction.atomic():
        rows = due.select_related("host", "volume").select_for_update(of=("self",))
        trace = rows.first()
        if trace is not None:
            trace.not_before = now + LEASE
            trace.save(update_fields=["not_before"])
    return trace


def _begin(trace: HeatTrace) -> None:
    host, now = trace.host, database_now()
    if now - trace.created_at > GIVEN_UP:
        _move(trace, TraceState.FAILED, f"It could not begin: {trace.message or 'no worker ran'}")
        return
    placement = Placement.objects.filter(volume=trace.volume, host=host, until=None).first()
    uuids = read_heat.observed_uuids(host)
    if placement is None or placement.lv_uuid not in uuids:
        _move(trace, TraceState.FAILED, "The host may not observe it, or observes others.", AGAIN)
        return
    _ask(host, "heat.observe", {"lv_uuids": uuids})
    args = {
        "lv_uuid": placement.lv_uuid,
        "minutes": trace.minutes,
        "chunk_kib": trace.chunk_bytes // KIB,
    }
    reply = _ask(host, "heat.trace", args)
    if reply.error is not None:
        if reply.error.code == "busy":
            _put_off(trace, reply.error.message)
        else:
            _fail(trace, reply.error)
        return
    until_ns, begun = reply.data.get("until_ns"), database_now()
    if type(until_ns) is not int or not 0 < until_ns < 1 << 63:
        _move(trace, TraceState.FAILED, "The host did not say when the trace ends.", AGAIN)
        return
    ends = begun + timedelta(minutes=trace.minutes)
    there: dict[str, Any] = {
        "begun_at": begun,
        "ends_at": ends,
        "until_ns": until_ns,
        "is_on_host": True,
    }
    if not _move(trace, TraceState.RUNNING, not_before=ends + SETTLING, **there):
        # Cancelled meanwhile: notify the host now.
        HeatTrace.objects.filter(pk=trace.pk).update(**there, not_before=begun)
        notify_workers.trace(trace.pk)


def _look(trace: HeatTrace) -> None:
    """The trace has ended on the host: store its counts."""
    is_read = read_heat.read_heat(trace.host)
    records, now = trace_records(trace), database_now()
    late = now - (trace.ends_at or now)
    if records:
        seconds = min(record.seconds for record in records)
        is_short = seconds < 60 * trace.minutes - SHORTER_SECONDS
        why = f"It ended early, after {seconds_text(seconds)}, to spare the host."
        _move(trace, TraceState.DONE, why if is_short else "", is_on_host=False)
    elif late > (PATIENCE if is_read else GIVEN_UP):
        why = "The host has no counts for it." if is_read else "The host stopped answering."
        _move(trace, TraceState.FAILED, why, AGAIN, is_on_host=False)
    else:
        _put_off(trace, "")


def _end_on_host(trace: HeatTrace) -> None:
    """The trace was cancelled while the host ran it. After its end nothing is left to do."""
    placement = Placement.objects.filter(volume=trace.volume, host=trace.host, until=None).first()
    is_over = trace.ends_at is None or database_now() > trace.ends_at
    if not is_over and placement is not None and placement.lv_uuid is not None:
        args = {
            "lv_uuid": placement.lv_uuid,
            "minutes": 0,
            "chunk_kib": trace.chunk_bytes // KIB,
        }
        _ask(trace.host, "heat.trace", args)
    HeatTrace.objects.filter(pk=trace.pk).update(is_on_host=False)


def _ask(host: Host, verb: str, args: dict[str, Any]) -> Reply:
    return contact.ask(host, verb, args, panel=panel_identity.named_to(host))


def _fail(trace: HeatTrace, error: AgentError) -> None:
    _move(trace, TraceState.FAILED, error.message, error.correction)


def _move(
    trace: HeatTrace, to: TraceState, message: str = "", correction: str = "", **fields: Any
) -> int:
    """Change the state, and return 1; 0 where the trace is no longer in the state that was read."""
    texts = {"message": clean_text(message, 512), "correction": clean_text(correction, 512)}
    if to is not TraceState.RUNNING:
        fields |= {"ended_at": database_now()}
    rows = HeatTrace.objects.filter(pk=trace.pk, state=trace.state)
    return rows.update(state=to, **texts, **fields)


def _put_off(trace: HeatTrace, why: str) -> None:
    rows = HeatTrace.objects.filter(pk=trace.pk, state=trace.state)
    rows.update(not_before=database_now() + RETRY, message=clean_text(why, 512))
