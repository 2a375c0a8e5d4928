"""Vacated extents: extents that a volume was moved away from, or that its cache used.

Tags on the volume note them before the volume leaves them, so that a host that dies in between
forgets nothing. Later the free ones are reserved as a volume of their own, zeroed, and returned;
then the tags are removed. LVM gives no extent to two volumes: extents that another volume has taken
meanwhile are not in the reservation, are left alone, and are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..calls.refusals import Refusal
from ..facts.orphan_devices import orphans
from ..kernel import dm, lvm
from ..kernel.local_host import LocalHost
from .command import (
    MADE_LEFT,
    OURS,
    WIPE,
    ZEROING,
    Args,
    Command,
    device,
    run,
    tags,
    volume_tag,
    zero,
)

PREFIX = "tiercel.left="
_TAG = re.compile(
    r"tiercel\.left=([0-9A-Za-z]{6}(?:-[0-9A-Za-z]{4}){5}-[0-9A-Za-z]{6})/(\d{1,10})-(\d{1,10})"
)
_DEVICE = re.compile(r"(/dev/[^,]+?)\((\d+)\)")
_PART = re.compile(r"\[?([^\[\],/]+?)\]?\(\d+\)")
_NOTE = re.compile(r"<what ([^/>]+)/([^/> ]+) has on ([^>]+)>")
_WHERE, _COUNT, _CLEARED = "<where it lies>", "<how many extents>", "<tags of what is cleared>"
ANY_DISK = "any disk"
# A tag takes some 80 bytes of the metadata of the group, of 0.5 MiB for all its volumes. Of a
# volume in more pieces, gaps between them are noted too: what is free in them is zeroed as well.
MOST_RANGES = 32
TEXT_BYTES = 80 * MOST_RANGES

# (PV uuid, first extent, last extent)
Range = tuple[str, int, int]


def ranges(marks: Iterable[str]) -> tuple[Range, ...]:
    """What the tags of a volume say it left; what no such tag of ours says is not looked at."""
    matches = (_TAG.fullmatch(mark) for mark in marks)
    each = (
        (match.group(1), int(match.group(2)), int(match.group(3))) for match in matches if match
    )
    return tuple(sorted({(pv, first, last) for pv, first, last in each if first <= last}))


def extent_tag(place: Range) -> str:
    pv, first, last = place
    return f"{PREFIX}{pv}/{first}-{last}"


def held_name(args: Args) -> str:
    """The LV that holds what is being cleared."""
    return f"w-{args['volume_key']}"


def joined(places: Iterable[Range], most: int = MOST_RANGES) -> tuple[Range, ...]:
    """The same extents in at most `most` ranges for each PV, over the smallest gaps where that
    needs some."""
    by_pv: dict[str, list[tuple[int, int]]] = {}
    for pv, first, last in sorted(places):
        each = by_pv.setdefault(pv, [])
        if each and first <= each[-1][1] + 1:
            each[-1] = (each[-1][0], max(last, each[-1][1]))
        else:
            each.append((first, last))
    for each in by_pv.values():
        while len(each) > most:
            gaps = [after[0] - before[1] for before, after in zip(each, each[1:])]
            n = gaps.index(min(gaps))
            each[n : n + 2] = [(each[n][0], each[n + 1][1])]
    return tuple((pv, first, last) for pv, each in by_pv.items() for first, last in each)


def note_vacated(
    vg: str, lv: str, parts: Sequence[str], disks: Sequence[str] = (ANY_DISK,)
) -> Command:
    """Note on `lv` what `parts` of it (or of its cache) have on these disks, before they go."""
    where = f"{vg}/{','.join(parts)} has on {','.join(disks)}"
    shell = f"lvchange --addtag {PREFIX}<each range that {where}> {vg}/{lv}"
    return Command("note", ("lvchange", f"<what {where}>", f"{vg}/{lv}"), shell)


def volume_clear(args: Args) -> tuple[Command, ...]:
    vg, held_lv = args["vg"], held_name(args)
    made = tags(OURS, volume_tag(args["volume_key"]), MADE_LEFT, ZEROING)
    # The extents are named: a group whose policy is contiguous would give out no two runs of them.
    anywhere = ("--alloc", "anywhere")
    words = ("lvcreate", "-y", *WIPE, *anywhere, "-n", held_lv, "-l", _COUNT, *made, vg, _WHERE)
    return (
        Command("reserve", words, " ".join(words)),
        zero(device(vg, held_lv), watch="left_zeroed"),
        Command(
            "cleared",
            ("lvchange", _CLEARED, f"{vg}/{args['lv']}"),
            f"lvchange --deltag {PREFIX}<each range that is cleared> {vg}/{args['lv']}",
        ),
        run("remove", "lvremove", "-y", f"{vg}/{held_lv}"),
    )


def asks(argv: Sequence[str]) -> bool:
    """Whether a command names what only its host knows when it runs."""
    return any(word in (_WHERE, _COUNT, _CLEARED) or _NOTE.fullmatch(word) for word in argv)


def report_of(host: LocalHost, vg_uuid: str, vg: str) -> lvm.Report:
    """What LVM says of that VG alone: a guest may call its own by the same name. Raises Refusal."""
    report = lvm.read(host, fresh=vg, needed=(vg,))
    if not report.consistent:
        raise Refusal("busy", f"{vg} was changed while it was read.", "Try again.")
    return replace(
        report,
        vgs=tuple(row for row in report.vgs if row["vg_uuid"] == vg_uuid),
        pvs=tuple(row for row in report.pvs if row["vg_uuid"] == vg_uuid),
        lvs=tuple(row for row in report.lvs if row["vg_uuid"] == vg_uuid),
        segments=tuple(row for row in report.segments if row["vg_uuid"] == vg_uuid),
    )


def unknown_to_lvm(host: LocalHost, vg_uuid: str, vg: str) -> list[str]:
    """Names of the VG's devices in the kernel that LVM has no volume for."""
    before = host.list("/sys/block")
    # Another group may be locked for hours; of this one the report is fresh.
    report = replace(report_of(host, vg_uuid, vg), stale=False)
    devices = [device for device in dm.dm_devices(host) if device.vg_uuid == vg_uuid]
    return [each["name"] for each in orphans(report, devices, before)]


def filled(host: LocalHost, vg_uuid: str, args: Args, argv: Sequence[str]) -> list[str]:
    """`argv` with its words of this module replaced. Raises Refusal, and what lvm.read raises."""
    report = report_of(host, vg_uuid, args["vg"])
    return [each for word in argv for each in _words(word, args, report)]


def _words(word: str, args: Args, report: lvm.Report) -> list[str]:
    match = _NOTE.fullmatch(word)
    if match is not None:
        disks = match.group(3).split(",")
        places = [each for part in match.group(2).split(",") for each in _of(report, part, disks)]
        if not places:
            raise Refusal(
                "stale",
                f"It is unknown where {match.group(1)}/{match.group(2)} lies.",
                "Plan again.",
            )
        return tags(*(extent_tag(place) for place in joined(places)))
    if word not in (_WHERE, _COUNT, _CLEARED):
        return [word]
    noted = noted_on(report, args["lv"])
    free = free_of(report, noted)
    if word == _COUNT:
        return [str(sum(last - first + 1 for _, first, last in free))]
    if word == _WHERE:
        return _in_words(report, free)
    return [each for place in taken_of(noted, free) for each in ("--deltag", extent_tag(place))]


def not_cleared(host: LocalHost, vg_uuid: str, args: Args, argv: Sequence[str]) -> str:
    """In words what a command forgets without that it was cleared; "" where there is none."""
    if _CLEARED not in argv:
        return ""
    report = report_of(host, vg_uuid, args["vg"])
    noted = noted_on(report, args["lv"])
    done = taken_of(noted, free_of(report, noted))
    # What the volume has itself, it did not leave: a move or detach that did not come to its end.
    ours = [each for lv in (held_name(args), args["lv"]) for each in _of(report, lv, (ANY_DISK,))]
    lost = _without(joined(done, most=len(done)), _by_pv(ours))
    if not lost:
        return ""
    where = " ".join(_in_words(report, lost))
    return f"Not cleared: used again, or on a disk that LVM does not allocate from: {where}"


def _in_words(report: lvm.Report, places: Sequence[Range]) -> list[str]:
    """As LVM's commands take them, one word for each PV: /dev/sdc:0-9:20-29."""
    paths = {row["pv_uuid"]: row["pv_name"] for row in report.pvs}
    each: dict[str, list[str]] = {}
    for pv, first, last in places:
        each.setdefault(paths.get(pv, pv), []).append(f"{first}-{last}")
    return [":".join((path, *extents)) for path, extents in each.items()]


def noted_on(report: lvm.Report, lv: str) -> tuple[Range, ...]:
    row = next((row for row in report.lvs if row["lv_name"] == lv), None)
    return () if row is None else ranges(row["lv_tags"].split(","))


def free_of(report: lvm.Report, noted: Sequence[Range]) -> tuple[Range, ...]:
    """What of the ranges is free now, on PVs that LVM allocates from."""
    given = {
        row["pv_uuid"]: lvm.number(row["pv_size"]) // _extent_bytes(report)
        for row in report.pvs
        if row["pv_allocatable"] != "0" and not lvm.flag(row["pv_missing"])
    }
    exactly = joined(noted, most=len(noted))
    on_disk = [(pv, first, min(last, given.get(pv, 0) - 1)) for pv, first, last in exactly]
    return _without(on_disk, _taken(report))


def _without(
    places: Iterable[Range], taken: Mapping[str, Sequence[tuple[int, int]]]
) -> tuple[Range, ...]:
    remaining: list[Range] = []
    for pv, first, last in places:
        for low, high in sorted(taken.get(pv, ())):
            if high < first or low > last:
                continue
            if low > first:
                remaining.append((pv, first, low - 1))
            first = high + 1
        if first <= last:
            remaining.append((pv, first, last))
    return tuple(remaining)


def taken_of(noted: Sequence[Range], free: Sequence[Range]) -> tuple[Range, ...]:
    """The ranges of which nothing is free: reserved to be cleared, or another LV's by now."""
    return tuple(
        (pv, first, last)
        for pv, first, last in noted
        if not any(pv == other and first <= high and low <= last for other, low, high in free)
    )


def _taken(report: lvm.Report) -> Mapping[str, list[tuple[int, int]]]:
    """By PV, what any volume has."""
    return _by_pv(each for row in report.segments for each in _places(report, row))


def _by_pv(places: Iterable[Range]) -> Mapping[str, list[tuple[int, int]]]:
    by_pv: dict[str, list[tuple[int, int]]] = {}
    for pv, first, last in places:
        by_pv.setdefault(pv, []).append((first, last))
    return by_pv


def _of(report: lvm.Report, lv: str, disks: Sequence[str], depth: int = 8) -> list[Range]:
    """Where an LV lies on these disks, through the hidden LVs that it is made of."""
    paths = {f"/dev/{disk}" for disk in disks}
    on = {row["pv_uuid"] for row in report.pvs if row["pv_name"] in paths}
    places: list[Range] = []
    for row in report.segments:
        if row["lv_name"] != lv:
            continue
        places += [
            each for each in _places(report, row) if list(disks) == [ANY_DISK] or each[0] in on
        ]
        below = [_PART.fullmatch(word) for word in row["devices"].split(",")]
        for part in dict.fromkeys(match.group(1) for match in below if match is not None):
            places += _of(report, part, disks, depth - 1) if depth else []
    return places


def _places(report: lvm.Report, row: Mapping[str, Any]) -> list[Range]:
    """What a segment has, as far as it lies on PVs itself."""
    uuids = {each["pv_name"]: each["pv_uuid"] for each in report.pvs}
    starts = [match for match in _DEVICE.findall(row["devices"]) if match[0] in uuids]
    if not starts:
        return []
    parts = len(starts) if row["segtype"].startswith("striped") else 1
    count = lvm.number(row["seg_size"]) // _extent_bytes(report) // parts
    return [(uuids[path], int(first), int(first) + count - 1) for path, first in starts]


def _extent_bytes(report: lvm.Report) -> int:
    return lvm.number(report.vgs[0]["vg_extent_size"])
