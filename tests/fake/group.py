"""What all LVM writers share: the lock of the volume group, looking up, finding room."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence

from storage.agent.kernel.local_host import CommandResult
from tests.fake import lvmfilter
from tests.fake.argv import Line, failed, parse
from tests.fake.machine import Machine
from tests.fake.parts import Lv, ModelGap, Pv, Run, Vg

_PLACE = re.compile(r"(/dev/[^:]+)((?::\d+-\d+)+)")

Steps = Generator[float, None, CommandResult]
"""A command at work: it yields the seconds until it goes on, and returns its result."""


def writer(
    command: Callable[[Machine, Vg, Line], Steps],
) -> Callable[[Machine, Sequence[str]], Steps]:
    """Finds the VG, waits for its lock as every LVM writer does, and holds it to the end."""

    def run(machine: Machine, argv: Sequence[str]) -> Steps:
        line = parse(argv, FLAGS, VALUED)
        name = line.operands[0].split("/")[0]
        vg = machine.vg(name)
        if vg is None:
            return failed(f'Volume group "{name}" not found', f"Cannot process volume group {name}")
        if sum(each.name == name and lvmfilter.is_seen(machine, each) for each in machine.vgs) > 1:
            return failed(
                f"Multiple VGs found with the same name: skipping {name}",
                "Use --select vg_uuid=<uuid> in place of the VG name.",
            )
        while name in machine.locked:
            yield 0.1
        machine.locked.add(name)
        try:
            result = yield from command(machine, vg, line)
        finally:
            machine.locked.discard(name)
        return result

    return run


FLAGS = frozenset(("-y", "-Wy", "-Zy", "--uncache", "-an", "-ay", "-K"))
VALUED = frozenset(
    (
        "-n", "-L", "-l", "--addtag", "--deltag", "--type", "--chunksize", "--cachepool",
        "--cachemode", "--cachepolicy", "--cachesettings", "--config", "-S", "--setactivationskip",
        "--alloc",
    )
)  # fmt: skip


def refuses_change(vg: Vg) -> CommandResult | None:
    if not any(pv.missing for pv in vg.pvs):
        return None
    return failed(
        f"Cannot change VG {vg.name} while PVs are missing.",
        "Consider vgreduce --removemissing or vgextend --restoremissing.",
        f"Cannot process volume group {vg.name}",
    )


def find(vg: Vg, operand: str) -> Lv | None:
    return vg.lv(operand.split("/", 1)[1])


def not_found(operand: str) -> CommandResult:
    return failed(f'Failed to find logical volume "{operand}"')


def allocate(
    machine: Machine, vg: Vg, name: str, count: int, operands: Sequence[str]
) -> list[Run] | CommandResult:
    """Extents on the named PVs, or what lvcreate says when it cannot."""
    pvs = []
    for path in operands:
        found = next((pv for pv in vg.pvs if pv.path == path), None)
        if found is None:
            return failed(f'Physical Volume "{path}" not found in Volume Group "{vg.name}".')
        pvs.append(found)
    free = sum(vg.free(pv) for pv in vg.pvs)
    if free < count:
        return failed(
            f'Volume group "{vg.name}" has insufficient free space '
            f"({free} extents): {count} required."
        )
    runs = machine.place(vg, count, pvs or vg.pvs)
    if runs is None:
        short = count - sum(vg.free(pv) for pv in pvs)
        return failed(
            f"Insufficient suitable allocatable extents for logical volume {name}: "
            f"{short} more required"
        )
    return runs


def forget(vg: Vg, lv: Lv) -> None:
    """Take an LV and its parts out of the VG, with the spare metadata when no pool is left."""
    gone = [lv, lv.data, lv.metadata]
    vg.lvs = [each for each in vg.lvs if each not in gone]
    if not any(each.layout == "cache,pool" for each in vg.lvs):
        vg.lvs = [each for each in vg.lvs if not each.role.endswith(",spare")]


def vgchange(machine: Machine, argv: Sequence[str]) -> Steps:
    """Switch off the group with a uuid, except volumes in use."""
    line = parse(argv, FLAGS, VALUED)
    yield 0.1
    if not line.has("-an"):
        raise ModelGap(" ".join(argv))
    uuid = line.one("-S").removeprefix("vg_uuid=")
    for vg in machine.vgs:
        if vg.uuid == uuid and vg.inside is not None and lvmfilter.is_seen(machine, vg):
            for lv in vg.lvs:
                lv.minor = None
            vg.inside.held = False
    machine.changed()
    return CommandResult(0)


def runs_of(vg: Vg, place: str) -> list[Run]:
    match = _PLACE.fullmatch(place)
    pv = None if match is None else pv_at(vg, match.group(1))
    if match is None or pv is None:
        raise ModelGap(f"allocation on {place}")
    ranges = [piece.split("-") for piece in match.group(2)[1:].split(":")]
    return [Run(pv, int(first), int(last) - int(first) + 1) for first, last in ranges]


def pv_at(vg: Vg, path: str) -> Pv | None:
    return next((pv for pv in vg.pvs if pv.path == path), None)
