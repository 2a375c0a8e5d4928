"""After a restore the database is older than the hosts: no job continues automatically, and the
differences are reported.

The database does not know what was done, cancelled or ordered since the backup. So all jobs stop,
unfinished jobs wait for a person, and each host is asked what it was sent since.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import F

from jobs.engine import holds, transitions
from jobs.hosts import contact, panel_identity
from jobs.hosts.refresh import refresh
from jobs.models import BulkChange, Halt, Installation, Step, VgFence
from jobs.transport.errors import TransportError
from jobs.transport.replies import Reply
from storage.formatting import counted
from storage.models import Host, Placement, Volume
from storage.naming import AGENT_PATH
from storage.templatetags.units import stamp

REASON = "Restored from a backup: read the report of manage.py after_restore first"
ERROR = {
    "code": "restored",
    "message": "The panel was restored from a backup while this job was under way: it may have "
    "ended, or been cancelled, since.",
    "correction": "Look at the volume on its host. Resume the job only if it is still wanted; else "
    "mark it as resolved.",
}
NOT_BEGUN = "Not begun: the panel was restored from a backup meanwhile. Create a new preview."
OPS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One line of the report; `host` is "" for the panel itself. `is_well`: no action needed."""

    host: str
    text: str
    is_well: bool = False


def stop() -> Iterator[ReportLine]:
    """Stop all jobs, renew the panel's id, and leave unfinished jobs to a person. Safe to
    repeat."""
    with transaction.atomic():
        holds.stop_all(None, REASON)
        panel = panel_identity.this()
        if panel.restored_at is None:
            # Restored by hand, or a copied machine: `manage.py restore` does this itself.
            panel = panel_identity.renew()
        waiting = transitions.need_attention_after_restore(ERROR)
        changes = BulkChange.objects.unfinished().select_for_update()
        left = sum(change.end(NOT_BEGUN) for change in changes)
    halt = Halt.objects.get()
    yield ReportLine("", f"All jobs are paused since {stamp(halt.since)}.", is_well=True)
    yield ReportLine("", f"This panel is now {panel.panel}.", is_well=True)
    yield ReportLine("", f"Jobs that need a decision: {waiting}.", is_well=not waiting)
    if left:
        yield ReportLine("", f"{counted(left, 'volume')} of changes for many will not be begun.")


def reconcile() -> Iterator[ReportLine]:
    """Report what each host has that the database lacks, and raise the fences to the hosts'."""
    for host in Host.objects.active().without_inventory():
        yield from _ask(host)
    Installation.objects.update(restored_at=None)
    # Hosts that know panels count the fences of the new id from the beginning.
    VgFence.objects.filter(ahead__isnull=False).update(ahead=None)


def _ask(host: Host) -> Iterator[ReportLine]:
    try:
        hello, listing = contact.ask(host, "hello"), contact.ask(host, "op.list")
    except TransportError as error:
        yield ReportLine(host.name, f"could not be asked: {error.message}. Run this again.")
        return
    if hello.error is not None or listing.error is not None:
        yield ReportLine(host.name, "its agent could not answer. Run this again.")
        return
    lines = [*_owner(host, hello), *_turns(host, hello), *_operations(host, listing)]
    yield from lines or [
        ReportLine(host.name, "has no operation that is missing in the database", True)
    ]
    yield from _volumes(host)


def _owner(host: Host, hello: Reply) -> Iterator[ReportLine]:
    owner, panel = panel_identity.owner_of(hello.data), panel_identity.this()
    if owner and owner not in (str(panel.panel), *panel.ancestors):
        yield ReportLine(
            host.name,
            f"is managed by another panel, {owner}, and refuses this one. If this one is right, "
            f"as root there: {AGENT_PATH} adopt-panel {panel.panel}",
        )


def _turns(host: Host, hello: Reply) -> Iterator[ReportLine]:
    for vg_uuid, number in panel_identity.fences_of(hello.data).items():
        VgFence.objects.get_or_create(vg_uuid=vg_uuid)
        behind = VgFence.objects.filter(vg_uuid=vg_uuid, fence__lt=number)
        known = behind.values_list("fence", flat=True).first()
        if known is None:
            continue
        behind.update(fence=number)
        later = number - known
        yield ReportLine(
            host.name, f"has seen {later} turns in the group {vg_uuid} since the backup"
        )


def _operations(host: Host, listing: Reply) -> Iterator[ReportLine]:
    """Those that the host ran and no job of the database knows."""
    ops = listing.data.get("ops")
    by_op_id = {
        str(each.get("op")): each
        for each in (ops if isinstance(ops, list) else [])
        if isinstance(each, dict)
    }
    known = Step.objects.filter(job__host=host, op_id__isnull=False)
    unknown = by_op_id.keys() - {str(op) for op in known.values_list("op_id", flat=True)}
    if not unknown:
        return
    newest = sorted(unknown, key=lambda op: _began(by_op_id[op]), reverse=True)[:OPS_SHOWN]
    yield ReportLine(
        host.name, f"ran {len(unknown)} operations that no job here knows; the newest:"
    )
    for op in newest:
        at = datetime.fromtimestamp(_began(by_op_id[op]) / 1e9, UTC)
        verb, state = by_op_id[op].get("verb"), by_op_id[op].get("state")
        yield ReportLine(host.name, f"  {at:%Y-%m-%d %H:%M} UTC {verb!s:.40} ({state!s:.20})")


def _began(operation: dict[str, object]) -> int:
    began = operation.get("started_ns")
    return began if type(began) is int and 0 < began < 1 << 62 else 0


def _volumes(host: Host) -> Iterator[ReportLine]:
    """Refresh the host, and report missing and unrecorded volumes."""
    before = set(Volume.objects.placed_on(host).values_list("pk", flat=True))
    if not refresh(host):
        yield ReportLine(host.name, "its inventory could not be read. Run this again.")
        return
    gone = Placement.objects.filter(host=host, until=None, missing_since__isnull=False)
    for placement in gone.select_related("volume"):
        yield ReportLine(
            host.name, f"lacks {placement.vg_name}/{placement.lv_name} ({placement.volume})"
        )
    here = Placement.objects.filter(host=host, until=None)
    for placement in here.exclude(volume__in=before).select_related("volume"):
        where = f"{placement.vg_name}/{placement.lv_name}"
        yield ReportLine(host.name, f"has {where}, which the database did not know")
    retired = here.filter(volume__retired_at__isnull=False, volume__in=before)
    for placement in retired.filter(retired_seen_at=F("host__facts_at")):
        yield ReportLine(
            host.name, f"has {placement.volume} retired, which it was not at the backup"
        )
