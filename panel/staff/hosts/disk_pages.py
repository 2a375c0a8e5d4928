"""The page of one disk: the health that it reports, what people entered, and undoing that."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from jobs.engine import media_checks
from jobs.models import CheckKind
from panel.staff.change_log import edits
from panel.staff.hosts.disk_health_card import CheckRow, disk_row
from panel.staff.hosts.pages import find_host, frame
from panel.staff.job_requests import actor_of, requester_of, show_refusal
from storage.access import Right, staff_view
from storage.analysis.ssd_writers import SPANS, SsdWriters, known_as, ssd_writers
from storage.byte_sizes import GIB, KIB, MIB, SECTOR_BYTES
from storage.database_clock import database_now
from storage.formatting import NOTHING, counted, seconds
from storage.health import smart_records
from storage.health.smart_endurance import TB
from storage.health.smart_findings import COUNTS, error_counts, increases
from storage.health.smart_records import DiskCondition, conditions_of
from storage.inventory.facts import HostFacts
from storage.models import PhysicalDisk
from storage.models.physical_disk import REASON_LIMIT
from storage.name_validators import demand_plain
from storage.planner import Refused
from storage.stored_inventory import inventory_of

CHECKS_SHOWN: Final = 5
DEFAULT_SPAN: Final = "24h"
UNITS: Final = {
    SECTOR_BYTES: "sectors of 512 bytes",
    KIB: "KiB",
    4 * KIB: "4 KiB",
    32 * KIB: "32 KiB",
    1000 * SECTOR_BYTES: "1000 sectors (NVMe)",
    10**6: "MB",
    MIB: "MiB",
    32 * MIB: "32 MiB",
    10**9: "GB",
    GIB: "GiB",
}


class EnteredForm(forms.Form):
    """What a disk does not report itself; an empty field deletes the value."""

    unit_bytes = forms.TypedChoiceField(
        label="Unit of its counter",
        coerce=int,
        empty_value=None,
        required=False,
        help_text="The unit in which the disk counts writes. A measurement overrides it.",
    )
    rated_tb = forms.DecimalField(
        label="Rated endurance in TB",
        min_value=0,
        max_value=1_000_000,
        max_digits=12,
        decimal_places=3,
        required=False,
        help_text="TBW from the data sheet: how much may be written during the SSD's life.",
    )

    def __init__(self, disk: PhysicalDisk, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        entered = disk.entered_unit_bytes
        odd = {entered: f"{entered} bytes"} if entered and entered not in UNITS else {}
        choices = [("", "not entered"), *({**UNITS, **odd}).items()]
        self.fields["unit_bytes"].choices = choices  # type: ignore[attr-defined]

    @property
    def entered(self) -> dict[str, int | None]:
        """The fields of the disk."""
        rated = self.cleaned_data["rated_tb"]
        return {
            "entered_unit_bytes": self.cleaned_data["unit_bytes"],
            "entered_rated_bytes": int(rated * TB) if rated else None,
        }


class AcceptErrorsForm(forms.Form):
    """Why the disk's present errors, or its loss, are no cause for alarm."""

    reason = forms.CharField(
        max_length=REASON_LIMIT,
        label="Reason",
        validators=[demand_plain],
        error_messages={"required": "Enter a reason. It is shown beside the disk."},
    )


class SelfTestForm(forms.Form):
    """Which self-test."""

    kind = forms.ChoiceField(choices=[(CheckKind.SHORT, "short"), (CheckKind.LONG, "long")])


class UndoForm(forms.Form):
    """`change` is the change that a person was shown as the last one."""

    change = forms.IntegerField()


@staff_view()
@require_safe
def disk(request: HttpRequest, key: str, disk: str) -> HttpResponse:
    """All that is known of a disk, and its history."""
    return _page(request, _find(request, key, disk))


def _find(request: HttpRequest, key: str, disk: str) -> PhysicalDisk:
    rows = PhysicalDisk.objects.visible_to(request.user).filter(host__key=key)
    return get_object_or_404(rows, key=disk)


def _page(
    request: HttpRequest,
    disk: PhysicalDisk,
    entered: EnteredForm | None = None,
    accepting: AcceptErrorsForm | None = None,
) -> HttpResponse:
    host, now = find_host(request, disk.host.key), database_now()
    facts = inventory_of(host)
    listed = conditions_of(host, now)
    condition = next(each for each in listed if each.disk.pk == disk.pk)
    last = smart_records.last_decision(disk)
    rated = disk.entered_rated_bytes
    checks = list(disk.checks.select_related("actor", "disk")[:CHECKS_SHOWN])
    initial = {
        "unit_bytes": disk.entered_unit_bytes,
        "rated_tb": None if rated is None else f"{rated / TB:g}",
    }
    is_wrong = entered is not None or accepting is not None
    context = {
        **frame(request, host, "host-disks"),
        "facts": facts,
        "disk": condition.disk,
        "row": disk_row(facts, condition),
        "health": condition.health,
        "condition": condition,
        "powered_on": _powered_on(condition),
        "scheduler": _scheduler(facts, condition),
        "errors": _errors(condition),
        "new_errors": bool(increases(condition.disk.baseline, _counts(condition))),
        "is_missed": condition.is_gone and bool(condition.findings),
        "loss_accepted": _is_loss_accepted(condition),
        "entered_form": entered or EnteredForm(disk, initial=initial),
        "accept_form": accepting or AcceptErrorsForm(),
        "edits": edits(disk),
        **_writers(request, facts, condition),
        "checks": [CheckRow(check) for check in checks],
        "tests": [] if condition.health is None else condition.health.self_tests,
        "is_testing": any(not check.is_over for check in checks),
        "test_lengths": _test_lengths(condition),
        "last_change": None if last is None else last.pgh_id,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, "staff/hosts/disk.html", context, status=status)


def _is_loss_accepted(condition: DiskCondition) -> bool:
    """Not so where its errors were accepted before it was lost."""
    accepted_at, gone_since = condition.disk.accepted_at, condition.disk.gone_since
    is_known = accepted_at is not None and gone_since is not None and accepted_at >= gone_since
    return condition.is_gone and is_known


def _counts(condition: DiskCondition) -> dict[str, int]:
    return {} if condition.health is None else error_counts(condition.health)


def _writers(
    request: HttpRequest, facts: HostFacts | None, condition: DiskCondition
) -> dict[str, Any]:
    """Who wrote to an SSD in the time that the address names."""
    name = None if facts is None else known_as(facts, condition)
    if facts is None or name is None or condition.health is None or not condition.health.is_ssd:
        return {}
    asked = request.GET.get("writers", "")
    chosen = asked if asked in SPANS else DEFAULT_SPAN
    writers = ssd_writers(condition, facts, name, database_now(), SPANS[chosen][1])
    return {
        "writers": writers,
        "spans": [(key, title, key == chosen) for key, (title, _) in SPANS.items()],
        "writers_note": _writers_note(writers),
    }


def _writers_note(writers: SsdWriters) -> str:
    parts = []
    if writers.total_bytes is None:
        parts.append("The SSD's count is unknown for this period: shares are of volumes.")
    if writers.uncounted:
        count = counted(writers.uncounted, "bcache volume")
        parts.append(f"What {count} wrote here is not counted: it is part of other.")
    return " ".join(parts)


def _test_lengths(condition: DiskCondition) -> list[tuple[str, str]]:
    """The kinds of self-tests, with how long each takes."""
    health = condition.health
    said = {"short": None, "long": None} if health is None else asdict(health.test_minutes)
    return [
        (kind, "" if minutes is None else f"about {seconds(60 * minutes)}")
        for kind, minutes in said.items()
    ]


def _powered_on(condition: DiskCondition) -> str:
    hours = None if condition.health is None else condition.health.power_on_hours
    return NOTHING if hours is None else counted(hours // 24, "day")


def _scheduler(facts: HostFacts | None, condition: DiskCondition) -> str:
    if facts is None:
        return ""
    name = known_as(facts, condition)
    return next((disk.scheduler for disk in facts.disks if disk.name == name), "")


def _errors(condition: DiskCondition) -> list[tuple[str, int, int]]:
    """What is counted, in all, and above what was known."""
    counts = _counts(condition)
    new = increases(condition.disk.baseline, counts)
    return [(f"{COUNTS[name]}s", count, new.get(name, 0)) for name, count in counts.items()]


@staff_view(Right.ADMINISTER)
@require_POST
def enter(request: HttpRequest, key: str, disk: str) -> HttpResponse:
    """Unit and rated endurance."""
    row = _find(request, key, disk)
    form = EnteredForm(row, request.POST)
    if not form.is_valid():
        return _page(request, row, entered=form)
    smart_records.enter(row, database_now(), **form.entered)
    messages.success(request, "Unit and endurance saved.")
    return redirect("host-disk", key, disk)


@staff_view(Right.ADMINISTER)
@require_POST
def accept_disk_errors(request: HttpRequest, key: str, disk: str) -> HttpResponse:
    """Accept the disk's present errors, or its loss."""
    row = _find(request, key, disk)
    form = AcceptErrorsForm(request.POST)
    if not form.is_valid():
        return _page(request, row, accepting=form)
    who, reason = str(actor_of(request)), form.cleaned_data["reason"]
    try:
        smart_records.accept_errors(row, who, reason, database_now())
    except Refused as refused:
        return show_refusal(request, refused)
    text = "The errors are accepted. Only new ones are reported."
    if row.gone_since is not None:
        text = "The loss is accepted. If the disk returns and is lost again, that is reported."
    messages.success(request, text)
    return redirect("host-disk", key, disk)


@staff_view(Right.OPERATE)
@require_POST
def test(request: HttpRequest, key: str, disk: str) -> HttpResponse:
    """Request a self-test; a worker starts it on the host."""
    row = _find(request, key, disk)
    form = SelfTestForm(request.POST)
    kind = form.cleaned_data["kind"] if form.is_valid() else CheckKind.SHORT
    try:
        media_checks.test_disk(row, CheckKind(kind), requester_of(request))
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, "The self-test was requested. The disk stays in use.")
    return redirect("host-disk", key, disk)


@staff_view(Right.OPERATE)
@require_POST
def compare_array(request: HttpRequest, key: str, array: str) -> HttpResponse:
    """Ask the host to compare the copies of an array."""
    host = find_host(request, key)
    facts = inventory_of(host)
    named = [each for each in facts.arrays if each.name == array] if facts is not None else []
    if not named:
        raise Http404
    try:
        media_checks.check_array(host, named[0], requester_of(request))
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, f"The check of {array} was requested. Volumes stay in use.")
    return redirect("host-disks", key)


@staff_view(Right.ADMINISTER)
@require_POST
def undo_disk_change(request: HttpRequest, key: str, disk: str) -> HttpResponse:
    """Undo what was entered or accepted last."""
    row = _find(request, key, disk)
    form = UndoForm(request.POST)
    shown = form.cleaned_data["change"] if form.is_valid() else 0
    try:
        smart_records.undo_decision(row, shown, database_now())
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, "The last change is undone.")
    return redirect("host-disk", key, disk)
