"""The time line of a host: what differs between its last answer and the one before, as rows that
the transaction writes which stores the answer. A first answer is no change, and what an answer
leaves out says nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from storage.formatting import size
from storage.host_data import clean_text
from storage.inventory.facts import Disk, KernelIdentity
from storage.metrics.samples.window import kept
from storage.models import Host, HostChange, HostChangeKind
from storage.models.host_change import TEXT_LIMIT
from storage.planner.kernel_faults import read_release

CALM: Final = timedelta(hours=1)
"""What happens again within so long is counted on the row that is there: no flood."""
PROGRAMS: Final = {
    "agent": HostChangeKind.AGENT,
    "lvm2": HostChangeKind.LVM,
    "bcache_tools": HostChangeKind.BCACHE_TOOLS,
}
"""The versions in a hello."""


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A difference between two answers, as `HostChange` keeps it."""

    kind: HostChangeKind
    subject: str
    before: str
    after: str


def changes_of_hello(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[SeenChange]:
    """A restart into another kernel is the change of the kernel alone."""
    if not before:
        return
    kernels = kernel_of(before), kernel_of(after)
    versions_known = all(_text(each, "kernel_version") for each in (before, after))
    same_release = _text(before, "kernel") == _text(after, "kernel")
    if all(kernels) and kernels[0] != kernels[1] and (versions_known or not same_release):
        yield SeenChange(HostChangeKind.KERNEL, "", *kernels)
    elif _differs(before, after, "boot_id"):
        yield SeenChange(HostChangeKind.BOOT, "", "", kernels[1])
    for name, kind in PROGRAMS.items():
        if _differs(before, after, name):
            yield SeenChange(kind, "", _text(before, name), _text(after, name))


def _differs(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> bool:
    values = _text(before, name), _text(after, name)
    return all(values) and values[0] != values[1]


def _text(hello: Mapping[str, Any], name: str) -> str:
    value = hello.get(name)
    return clean_text(value, TEXT_LIMIT) if isinstance(value, str) else ""


def kernel_of(hello: Mapping[str, Any]) -> str:
    """ "6.1.0-28-amd64 (6.1.119)": the release, and what it is built from where it does not say."""
    release = _text(hello, "kernel")
    base = read_release(KernelIdentity(release, _text(hello, "kernel_version"))).base
    built_of = "" if base is None else ".".join(str(number) for number in base)
    return release if not built_of or release.startswith(built_of) else f"{release} ({built_of})"


def changes_of_disks(before: object, after: Sequence[Disk]) -> Iterator[SeenChange]:
    """`before` is the list of disks as it was stored. A host without any disk did not say."""
    earlier = {disk.key: disk for disk in _disks(before)}
    seen = (
        _DiskSeen(disk.name, disk.model, disk.serial, disk.size_bytes, disk.scheduler)
        for disk in after
    )
    later = {disk.key: disk for disk in seen}
    if not earlier or not later:
        return
    for key in sorted(earlier.keys() | later.keys()):
        old, new = earlier.get(key), later.get(key)
        if new is None and old is not None:
            yield SeenChange(HostChangeKind.DISK_GONE, old.label, old.what, "")
        elif old is None and new is not None:
            yield SeenChange(HostChangeKind.DISK_ADDED, new.label, "", new.what)
        elif old is not None and new is not None and old.what != new.what:
            yield SeenChange(HostChangeKind.DISK_CHANGED, new.label, old.what, new.what)
        elif old is not None and new is not None and old.has_other_scheduler_than(new):
            how = (f"I/O scheduler {each.scheduler}" for each in (old, new))
            yield SeenChange(HostChangeKind.DISK_CHANGED, new.label, *how)


@dataclass(frozen=True, slots=True)
class _DiskSeen:
    name: str
    model: str
    serial: str
    size_bytes: int
    scheduler: str

    def has_other_scheduler_than(self, other: _DiskSeen) -> bool:
        return bool(self.scheduler and other.scheduler) and self.scheduler != other.scheduler

    @property
    def key(self) -> str:
        """By the kernel's name only where there is no serial number: names may change."""
        return self.serial or f"@{self.name}"

    @property
    def label(self) -> str:
        """What people know it by."""
        return self.serial or self.name

    @property
    def what(self) -> str:
        return f"{self.model} {size(self.size_bytes)}".strip()


def _disks(stored: object) -> Iterator[_DiskSeen]:
    for each in stored if isinstance(stored, list) else ():
        yield _DiskSeen(
            each["name"],
            each["model"],
            each["serial"],
            each["size_bytes"],
            each.get("scheduler", ""),
        )


def note_host_events(host: Host, changes: Iterable[SeenChange], at: datetime) -> None:
    """Keep them; the caller's transaction holds the host."""
    for change in changes:
        subject = clean_text(change.subject, TEXT_LIMIT)
        before, after = (clean_text(text, TEXT_LIMIT) for text in (change.before, change.after))
        same = HostChange.objects.filter(host=host, kind=change.kind, subject=subject)
        last = same.filter(at__gt=at - CALM).order_by("-at", "-pk").first()
        if last is None:
            HostChange.objects.create(
                host=host, at=at, kind=change.kind, subject=subject, before=before, after=after
            )
        else:
            last.after, last.count = after, last.count + 1
            last.save(update_fields=["after", "count"])


def prune_timeline(now: datetime) -> None:
    """The time line is kept as long as samples are."""
    HostChange.objects.filter(at__lt=now - kept()).delete()
