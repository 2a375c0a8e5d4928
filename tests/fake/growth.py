"""lvextend onto given extents, pvmove of one volume, and telling guests their disk's size."""

from __future__ import annotations

import re
from collections.abc import Sequence

from storage.agent.kernel.local_host import CommandResult
from tests.fake.argv import Line, failed, parse, said
from tests.fake.group import Steps, find, not_found, pv_at, refuses_change, runs_of, writer
from tests.fake.machine import Machine
from tests.fake.parts import EXTENT, SECTOR, Lv, ModelGap, Move, Process, Pv, Run, Vg

POLL_SECONDS = 0.5
_SIZE = re.compile(r"(\d+)[bB]")


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ModelGap(f"a size that is not in bytes: {text}")
    return int(match.group(1))


def _lvextend(machine: Machine, vg: Vg, line: Line) -> Steps:
    refusal = refuses_change(vg)
    if refusal is not None:
        return refusal
    operand, *places = line.operands
    lv = find(vg, operand)
    if lv is None:
        return not_found(operand)
    more = _bytes(line.one("-L")) // EXTENT - lv.size_bytes // EXTENT
    if lv.move is not None:
        return failed(f"Can't resize locked logical volume {operand}.")
    if more <= 0:
        return failed("New size given is not larger than existing size.")
    runs = [run for place in places for run in runs_of(vg, place)]
    if sum(run.count for run in runs) != more:
        raise ModelGap(f"{more} extents on places that have others: {places}")
    for run in runs:
        if set(range(run.first, run.first + run.count)) & vg.taken(run.pv):
            return failed(f"Insufficient suitable allocatable extents for logical volume {lv.name}")
    last = lv.bottom.runs[-1]
    behind = runs[0].pv is last.pv and runs[0].first == last.first + last.count
    if (lv.grows_by == "contiguous" and not behind) or (
        lv.grows_by == "cling" and any(run.pv is not last.pv for run in runs)
    ):
        return failed(f"Insufficient suitable allocatable extents for logical volume {lv.name}")
    lv.bottom.runs = [*lv.bottom.runs, *runs]
    for each in {lv, lv.bottom}:
        each.size_bytes += more * EXTENT
    if lv.cache is not None:
        lv.cache.reload()
    machine.changed(vg)
    yield 0.2
    return said(
        f"Size of logical volume {operand} changed.",
        f"Logical volume {operand} successfully resized.",
    )


lvextend = writer(_lvextend)


def pvmove(machine: Machine, argv: Sequence[str]) -> Steps:
    """It holds the group's lock only to begin and to end, and may be left at any time: the move
    stays, and another pvmove takes it up."""
    line = parse(argv, ("--abort", "--atomic"), ("-i", "-n", "--config"))
    source = line.operands[0]
    if line.has("--abort"):
        abort(machine, source)
        yield 0.1
        return said()
    if not line.has("--atomic") or not line.all("-i"):
        raise ModelGap(" ".join(argv))
    vg_name, name = line.one("-n").split("/")
    vg = machine.vg(vg_name)
    lv = None if vg is None else vg.lv(name)
    if vg is None or lv is None:
        return not_found(line.one("-n"))
    while vg_name in machine.locked:
        yield 0.1
    at_work = _moving(machine, source)
    if at_work:
        lv = at_work[0]
    else:
        refusal = refuses_change(vg) or begin(machine, vg, [lv], source, line.operands[1:])
        if refusal is not None:
            return refusal
    machine.modules.add("dm_mirror")
    machine.changed()
    move = lv.move
    words = []
    while move is not None and lv.move is move and move.done_bytes < move.mirror.size_bytes:
        # The kernel works for so much of the time, in bursts with rests between.
        work_seconds = POLL_SECONDS * machine.mirror_throttle / 100
        disks = {move.source.device.name, *(run.pv.device.name for run in move.mirror.runs)}
        with machine.hammering(argv, frozenset(disks)):
            yield work_seconds
        move.done_bytes += work_seconds * machine.move_bytes_per_second
        yield POLL_SECONDS - work_seconds
        words.append(f"{source}: Moved: {move.percent:.2f}%")
    if move is None or lv.move is not move:
        return failed("ABORTING: Mirror percentage check failed.")
    _finish(machine, vg, lv, move)
    return said(*words)


def _moving(machine: Machine, source: str) -> list[Lv]:
    return [lv for lv in machine.lvs() if lv.move is not None and lv.move.source.path == source]


def abort(machine: Machine, source: str) -> None:
    """What was copied by then stays on the target, in extents that are free."""
    lvs = _moving(machine, source)
    for move in {lv.move for lv in lvs if lv.move is not None}:
        _copy([lv for lv in lvs if lv.move is move], move, -int(-move.done_bytes // EXTENT))
    for lv in lvs:
        _forget(machine, lv)


def begin(
    machine: Machine, vg: Vg, lvs: Sequence[Lv], source_path: str, targets: Sequence[str]
) -> CommandResult | None:
    """One mirror for all the extents that `lvs` have on the source."""
    source = pv_at(vg, source_path)
    on = [pv for pv in vg.pvs if pv.path in targets]
    if source is None or len(on) != len(targets):
        return failed(f'Physical Volume "{source_path}" not found.')
    if any(lv.cache is not None or lv.layout == "mirror" for lv in lvs):
        raise ModelGap(f"pvmove of {', '.join(lv.layout for lv in lvs)}")
    from_runs = [run for lv in lvs for run in lv.runs if run.pv is source]
    count = sum(run.count for run in from_runs)
    if not count:
        return failed(f"No data to move for {vg.name}.")
    to_runs = machine.place(vg, count, on)
    if to_runs is None:
        return failed(f"Insufficient suitable allocatable extents for logical volume : {count}")
    mirror = Lv(
        vg, machine.lvm_uuid(), "pvmove0", count * EXTENT, to_runs,
        layout="mirror", role="private,pvmove", minor=machine.free_minor(),
    )  # fmt: skip
    first = 0
    for run in from_runs:
        run.through, first = f"pvmove0({first})", first + run.count
    start = from_runs[0].first
    for run in to_runs:
        run.through = f"{source.path}({start}),{run.pv.path}({run.first})"
        start += run.count
    vg.lvs.append(mirror)
    move = Move(mirror, source)
    for lv in lvs:
        lv.move = move
    machine.changed(vg, commits=2)
    return None


def _forget(machine: Machine, lv: Lv) -> None:
    move, lv.move = lv.move, None
    if move is not None and move.mirror in lv.vg.lvs:
        lv.vg.lvs.remove(move.mirror)
    for run in lv.runs:
        run.through = ""
    machine.changed(lv.vg, commits=2)


def _finish(machine: Machine, vg: Vg, lv: Lv, move: Move) -> None:
    old = [run for run in lv.runs if run.pv is move.source]
    _copy([lv], move, sum(run.count for run in old))
    _forget(machine, lv)
    at = min(lv.runs.index(run) for run in old)
    kept = [run for run in lv.runs if run not in old]
    lv.runs = [*kept[:at], *move.mirror.runs, *kept[at:]]
    for run in lv.runs:
        run.through = ""
    machine.changed(vg)


def _copy(lvs: Sequence[Lv], move: Move, count: int) -> None:
    """The first `count` extents on the source have their data on the target too. `lvs` are all
    that the move is of."""
    old = [run for lv in lvs for run in lv.runs if run.pv is move.source]
    pairs = list(zip(_extents(old), _extents(move.mirror.runs), strict=True))
    for (pv, extent), (new_pv, new_extent) in pairs[:count]:
        (new_pv.stale.add if extent in pv.stale else new_pv.stale.discard)(new_extent)


def _extents(runs: Sequence[Run]) -> list[tuple[Pv, int]]:
    return [(run.pv, run.first + n) for run in runs for n in range(run.count)]


def mirror_status(machine: Machine) -> CommandResult:
    """`dmsetup status --noflush --target mirror`: one line for each pvmove at work."""
    lines: list[str] = []
    seen: list[Move] = []
    for lv in machine.lvs():
        if lv.move is not None and lv.move not in seen:
            seen.append(lv.move)
            sectors = lv.move.mirror.size_bytes // SECTOR
            regions = max(1, sectors // 1024)
            done = int(regions * lv.move.percent / 100)
            name = lv.move.mirror.dm_name
            lines.append(f"{name}: 0 {sectors} mirror 2 8:32 9:0 {done}/{regions} 1 AA 1 core\n")
    return CommandResult(0, "".join(lines))


VIRSH = ["virsh", "-q", "-c", "qemu:///system"]
_NO_DISK = {
    "blockjob": "disk '{}' not found in domain",
    "domblkinfo": "invalid path {} not assigned to domain",
    "blockresize": "disk '{}' was not found in the domain config",
}


def virsh(machine: Machine, argv: Sequence[str]) -> Steps:
    """Domains by UUID and disks by path, as virsh 9 speaks of them with -q."""
    if argv[:4] != VIRSH:
        raise ModelGap(" ".join(argv))
    yield 0.1
    command, who, *words = argv[4:]
    process = next((each for each in machine.processes if who in _names(each)), None)
    if process is None:
        return CommandResult(1, "", f"error: failed to get domain '{who}'\n")
    device = next(iter(process.sizes))
    if words and words[0] != device:
        return CommandResult(
            1, "", f"error: invalid argument: {_NO_DISK[command].format(words[0])}\n"
        )
    if command == "domjobinfo":
        operation = f"Operation:        {process.job.title()}\n" if process.job else ""
        kind = "Unbounded" if process.job else "None"
        return CommandResult(0, f"Job type:         {kind}\n{operation}")
    if command == "blockjob":
        return CommandResult(0)
    if command == "domblkinfo":
        return CommandResult(0, f"Capacity:       {process.sizes[device]}\nAllocation:     0\n")
    if command != "blockresize":
        raise ModelGap(" ".join(argv))
    process.sizes[device] = _bytes(words[1])
    return CommandResult(0)


def _names(process: Process) -> list[str]:
    words = process.argv
    return [words[words.index("-uuid") + 1]] if "-uuid" in words else []
