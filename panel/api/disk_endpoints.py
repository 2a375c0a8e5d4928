"""The disks of a host as they describe themselves through SMART, its arrays, and checks of both.
Staff only."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import media_checks
from jobs.models import CheckKind, CheckState, MediaCheck
from panel.api.framework import cursor
from panel.api.framework.api_lists import PAGE, Listing, PageShape
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body
from panel.api.framework.fields import (
    Boolean,
    By,
    Choice,
    DateTime,
    Float,
    Integer,
    Map,
    Text,
    Texts,
)
from panel.api.framework.shape import Shape
from panel.api.hosts.host_resource import HostResource
from storage.access import Right
from storage.database_clock import database_now
from storage.health import smart_records
from storage.health.smart_findings import error_counts, increases
from storage.health.smart_records import DiskCondition, conditions_of
from storage.inventory.disk_list import seconds_left
from storage.inventory.facts import Array, HostFacts
from storage.models import DiskRound, PhysicalDisk
from storage.models.physical_disk import REASON_LIMIT
from storage.stored_inventory import inventory_of

MEASURED = (
    "state",
    "message",
    "is_gone",
    "gone_since",
    "asked_at",
    "read_at",
    "temperature_celsius",
    "power_on_hours",
    "used_percent",
    "written",
    "worn_out_at",
    "worn_out_assumption",
    "error_counts",
    "new_errors",
    "findings",
)
"""Of a disk: what no request says."""
KIB: Final = 1024
SECTOR_BYTES: Final = 512
DISK_STATES = ["read", "standby", "unasked", "hung", "slow", "failed"]


class DiskFindingShape(Shape):
    """What is wrong with a disk."""

    code = Text("For programs; it never changes its meaning.")
    severity = Choice("error or warning.", ["error", "warning", "info"])
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")


class AcceptedShape(Shape):
    """Who accepted the errors or the loss of a disk, and why."""

    at = DateTime("When it happened.", of="accepted_at")
    by = By("accepted_by")
    reason = Text("The reason that the person gives.", of="accepted_reason")


class WrittenShape(Shape):
    """Data written to a disk in its lifetime: `raw` times `unit_bytes`, as the disk counts. The
    unit is null if it is neither known nor measured."""

    counter = Text("The counter, as the disk names it.", of="source")
    raw = Integer("The count, as the disk shows it.")
    unit_bytes = Integer("Bytes per count; null: unknown.", null=True)
    bytes = Integer("Null: the unit is not known.", of="written_bytes", null=True)
    standing = Choice(
        "How the unit is known.", ["standard", "name", "model", "operator", "measured", "unknown"]
    )
    reason = Text("How the unit is known, or why it is not, in a sentence for people.")


def _errors(condition: DiskCondition) -> dict[str, int]:
    return {} if condition.health is None else error_counts(condition.health)


class DiskShape(Shape):
    """A disk. Figures are as of `read_at`; `state` as of the last attempt to read it."""

    key = Text("Its name in the API; it never changes.", of="disk.key")
    url = Text(
        "Where the API shows it.",
        of=lambda condition: reverse(
            "api-host-disk", args=[condition.disk.host.key, condition.disk.key]
        ),
    )
    name = Text("The kernel's name, empty behind a RAID controller.", of="disk.name")
    device = Text("Device that smartctl reads, such as /dev/sda.", of="disk.device")
    type = Text("The value for smartctl's -d.", of="disk.kind")
    state = Choice("Its current state.", DISK_STATES, of="disk.state")
    message = Text("Why it was not read.", of="disk.message")
    is_gone = Boolean("Whether the last reading did not find it.")
    gone_since = DateTime(
        "When a reading first lacked it; null for a disk that is present.",
        of="disk.gone_since",
        null=True,
    )
    asked_at = DateTime("When the host was last asked; null: never.", of="disk.asked_at")
    read_at = DateTime("When it was read from the host; null: never.", of="disk.read_at", null=True)
    model = Text("Model, as the disk reports it; empty: none.", of="health.model")
    serial = Text("Serial number of the disk.", of="health.serial")
    firmware = Text("Version; empty: unknown.", of="health.firmware")
    protocol = Text("Such as NVMe; empty: unknown.", of="health.protocol")
    size_bytes = Integer("Bytes.", of="health.size_bytes", null=True)
    passed = Boolean("The disk's own verdict.", of="health.passed", null=True)
    temperature_celsius = Integer("Null: unknown.", of="health.temperature_celsius", null=True)
    power_on_hours = Integer(
        "Hours of operation; null: unknown.", of="health.power_on_hours", null=True
    )
    used_percent = Integer(
        "Used of an SSD's endurance; may exceed 100.", of="wear.percent", null=True
    )
    written = WrittenShape("Data written in its lifetime; null: not reported.", null=True)
    rated_bytes = Integer(
        "Rated endurance, in bytes written; null: unknown.", of="endurance_bytes", null=True
    )
    worn_out_at = DateTime(
        "When it will be worn out at the present rate; null: unknown.",
        of="worn_out.at",
        null=True,
    )
    worn_out_assumption = Text(
        "What that date assumes; empty: there is no date.", of="worn_out.assumption"
    )
    error_counts = Map("Errors in its life, by kind.", Integer(), of=_errors)
    new_errors = Map(
        "Those that were not accepted.",
        Integer(),
        of=lambda condition: increases(condition.disk.baseline, _errors(condition)),
    )
    accepted = AcceptedShape(
        "Who accepted its errors or its loss; null: no one.",
        of=lambda condition: condition.disk if condition.disk.accepted_at is not None else None,
        null=True,
    )
    findings = DiskFindingShape("What is wrong with it; empty: nothing.", many=True)


class DiskDetailShape(DiskShape):
    """A disk, with the number of its last change by a person for `undo`."""

    last_change = Integer(
        "Number of the last change by a person, for `undo`.",
        of=lambda condition: getattr(smart_records.last_decision(condition.disk), "pgh_id", None),
        null=True,
    )


class DisksShape(PageShape):
    """The disks of a host."""

    asked_at = DateTime("When the host was last asked; null: never.", null=True)
    installed = Boolean("Whether the host has smartctl.")
    message = Text("Why some disks could not be read; empty: all were.")
    items = DiskShape("The rows of this answer, one each.", many=True)


class DiskBody(Body):
    """What a disk does not report itself."""

    unit_bytes = Integer(
        "The unit in which the disk counts written data. A measured unit takes precedence.",
        required=False,
        null=True,
        min_value=1,
        max_value=1 << 40,
    )
    rated_bytes = Integer(
        "Rated endurance, in bytes written.",
        required=False,
        null=True,
        min_value=1,
        max_value=(1 << 63) - 1,
    )
    accept_errors = Text(
        "Why its current errors, or its loss, need no alarm. From then on, only new errors or "
        "another loss are reported.",
        required=False,
        max_length=REASON_LIMIT,
    )
    undo = Integer(
        "Undoes the change with this number (`last_change`). Excludes other fields.",
        required=False,
    )


class DiskResource(HostResource):
    """What is about one disk."""

    def disk(self, key: str, disk: str, right: Right | None = None) -> PhysicalDisk:
        """The disk with this key; demands the right, if one is given."""
        host = self.host(key, right, with_inventory=True)
        rows = PhysicalDisk.objects.visible_to(self.user).filter(host=host)
        return get_object_or_404(rows.select_related("host"), key=disk)

    def detail(self, disk: PhysicalDisk) -> Response:
        """The disk as it is listed, and its last change."""
        listed = conditions_of(disk.host, database_now())
        return self.shown(next(each for each in listed if each.disk.pk == disk.pk))


class HostDisks(HostResource):
    """The disks of a host."""

    @operation(
        "host_disks", "List the disks of a host with their health", DisksShape, parameters=PAGE
    )
    def get(self, request: Request, key: str) -> Response:
        """Read every 45 minutes; removed disks come last."""
        host = self.host(key, with_inventory=True)
        last = DiskRound.objects.filter(host=host).first()
        page, after = cursor.slice_of(request, conditions_of(host, database_now()), "host-disks")
        data = {
            "asked_at": None if last is None else last.answered_at,
            "installed": last is not None and last.installed,
            "message": "" if last is None else last.message,
            **cursor.body(page, after),
        }
        return self.shown(data)


class OneDisk(DiskResource):
    """A disk, and what is entered of it."""

    measured = MEASURED

    @operation("host_disk", "Show a disk", DiskDetailShape)
    def get(self, request: Request, key: str, disk: str) -> Response:
        """Read every 45 minutes."""
        return self.detail(self.disk(key, disk))

    @operation(
        "host_disk_change",
        "Set a disk's unit or endurance, accept its errors or its loss, or undo that",
        DiskDetailShape,
        body=DiskBody,
    )
    def patch(self, request: Request, key: str, disk: str) -> Response:
        """For admins. Null clears a field."""
        changed, now = self.disk(key, disk, Right.ADMINISTER), database_now()
        values = self.read()
        names = [name for name in ("unit_bytes", "rated_bytes") if name in values]
        if "undo" in values:
            smart_records.undo_decision(changed, values["undo"], now)
        elif names:
            entered = {f"entered_{name}": values[name] for name in names}
            smart_records.enter(changed, now, **entered)
        if "accept_errors" in values:
            smart_records.accept_errors(changed, self.user.email, values["accept_errors"], now)
        return self.detail(changed)


class MediaCheckShape(Shape):
    """A check that was requested. The host runs it."""

    key = Text("Its name in the API; it never changes.")
    kind = Choice("What is checked, and how.", CheckKind.choices)
    of = Text("The disk or array.", of="label")
    state = Choice("Its current state.", CheckState.choices)
    remaining_percent = Integer("Remaining percent; null: the host does not report it.", null=True)
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")
    by = By("actor.email", null=True)
    created_at = DateTime("When it was created.")
    started_at = DateTime("When it began; null: it has not yet.", null=True)
    ended_at = DateTime("When it ended; null: it has not yet.", null=True)


class FoundArray(NamedTuple):
    """An array among all that was found on its host."""

    facts: HostFacts
    array: Array


def _times(path: str, unit: int) -> Callable[[FoundArray], int | None]:
    """A number of the array in bytes."""

    def read(row: FoundArray) -> int | None:
        number = getattr(row.array, path)
        return None if number is None else number * unit

    return read


class ArrayShape(Shape):
    """An md array, as the last inventory had it."""

    name = Text("Such as md0.", of="array.name")
    uuid = Text("Its UUID, as LVM or md writes it.", of="array.uuid")
    level = Text("RAID level, such as raid1.", of="array.level")
    state = Text("Its current state.", of="array.state")
    size_bytes = Integer("Bytes.", of="array.size_bytes")
    disk_count = Integer(
        "Intended number of disks; null: not reported.",
        of="array.disk_count",
        null=True,
    )
    degraded_count = Integer(
        "How many of its disks are missing or have failed; null: unknown.",
        of="array.degraded_count",
        null=True,
    )
    action = Text("What it does now: idle, recover, check, …", of="array.sync_action")
    progress = Float(
        "Done of the rebuild or check, 0 to 1; null: none is at work.",
        of="array.progress",
        null=True,
    )
    speed_bytes_per_s = Integer(
        "Bytes a second of each disk; null: nothing is at work.",
        of=_times("sync_speed_kib", KIB),
        null=True,
    )
    seconds_left = Float(
        "Seconds until the rebuild or check is done; null: unknown.",
        of=lambda row: seconds_left(row.facts, row.array),
        null=True,
    )
    mismatch_bytes = Integer(
        "Bytes that differed between copies in the last check; null: unknown.",
        of=_times("mismatch_sectors", SECTOR_BYTES),
        null=True,
    )
    members = Texts(
        "Names of its disks, such as sda1.",
        of=lambda row: [member.name for member in row.array.members],
    )
    spares = Texts("Names of the disks in reserve.", of="array.spares")


class ArraysShape(PageShape):
    """The arrays of a host."""

    read_at = DateTime("When it was read from the host; null: never.", null=True)
    items = ArrayShape("The rows of this answer, one each.", many=True)


class SelfTestBody(Body):
    """Which self-test."""

    kind = Choice(
        "short takes minutes, long reads the whole disk.", [CheckKind.SHORT, CheckKind.LONG]
    )


class HostArrays(HostResource):
    """The arrays of a host."""

    @operation(
        "host_arrays",
        "List the arrays of a host with rebuilds and checks",
        ArraysShape,
        parameters=PAGE,
    )
    def get(self, request: Request, key: str) -> Response:
        """Empty before the first inventory."""
        host = self.host(key, with_inventory=True)
        facts = inventory_of(host)
        arrays = [] if facts is None else [FoundArray(facts, array) for array in facts.arrays]
        page = cursor.body(*cursor.slice_of(request, arrays, "host-arrays"))
        return self.shown({"read_at": host.facts_at, **page})


class HostChecks(HostResource):
    """Checks of the arrays and disks of a host."""

    listing: ClassVar = Listing("host-checks", MediaCheckShape, newest_first=True)

    @operation("host_checks", "List the checks of a host's disks and arrays", listing)
    def get(self, request: Request, key: str) -> Response:
        """Self-tests and array checks that were requested, newest first."""
        rows = MediaCheck.objects.visible_to(self.user).filter(host=self.host(key))
        return self.page(rows.select_related("actor", "disk"))


class ArrayChecks(HostResource):
    """The comparison of an array's copies."""

    @operation("host_array_check", "Check an array", MediaCheckShape, status=202, problems=(422,))
    def post(self, request: Request, key: str, array: str) -> Response:
        """The kernel reads all copies and compares them; volumes stay in use. Refused for an array
        that is degraded or already being checked or rebuilt."""
        host = self.host(key, Right.OPERATE, with_inventory=True)
        facts = inventory_of(host)
        named = [each for each in facts.arrays if each.name == array] if facts else []
        if not named:
            raise Http404
        return self.shown(media_checks.check_array(host, named[0], self.requester), status=202)


class DiskTests(DiskResource):
    """Self-tests of a disk."""

    @operation(
        "host_disk_test",
        "Start a self-test of a disk",
        MediaCheckShape,
        status=202,
        body=SelfTestBody,
    )
    def post(self, request: Request, key: str, disk: str) -> Response:
        """The disk stays in use. Refused for a disk that sleeps or belongs to an array that is
        being rebuilt."""
        tested = self.disk(key, disk, Right.OPERATE)
        kind = CheckKind(self.read()["kind"])
        return self.shown(media_checks.test_disk(tested, kind, self.requester), status=202)
