"""lvcreate, lvchange, lvremove, lvrename and lvconvert."""

from __future__ import annotations

from storage.agent.kernel.local_host import CommandResult
from tests.fake import activation, cachepool
from tests.fake.argv import Line, failed, said
from tests.fake.group import (
    Steps,
    allocate,
    find,
    forget,
    not_found,
    refuses_change,
    runs_of,
    writer,
)
from tests.fake.machine import Machine
from tests.fake.parts import EXTENT, Lv, ModelGap, Vg


def _lvcreate(machine: Machine, vg: Vg, line: Line) -> Steps:
    refusal = refuses_change(vg)
    if refusal is not None:
        return refusal
    name = line.one("-n")
    if line.has("-l"):
        return (yield from _on_extents(machine, vg, line, name))
    size = line.one("-L")
    if not size.endswith("b"):
        raise ModelGap(f"a size that is not in bytes: {size}")
    extents = -(-int(size[:-1]) // EXTENT)
    if line.has("--type"):
        return cachepool.create(machine, vg, line, name, extents)
    if vg.lv(name) is not None:
        return failed(f'Logical Volume "{name}" already exists in volume group "{vg.name}"')
    runs = allocate(machine, vg, name, extents, line.operands[1:])
    if isinstance(runs, CommandResult):
        return runs
    made = Lv(vg, machine.lvm_uuid(), name, extents * EXTENT, runs, tags=line.all("--addtag"))
    vg.lvs.append(made)
    made.minor = machine.free_minor()
    machine.changed(vg)
    yield 0.1
    return said(f'Logical volume "{name}" created.')


def _on_extents(machine: Machine, vg: Vg, line: Line, name: str) -> Steps:
    """As many extents as there are in the ranges that are named: /dev/sdc:0-9:20-29."""
    runs = [run for place in line.operands[1:] for run in runs_of(vg, place)]
    if vg.lv(name) is not None:
        return failed(f'Logical Volume "{name}" already exists in volume group "{vg.name}"')
    if sum(run.count for run in runs) != int(line.one("-l")):
        raise ModelGap(f"{line.one('-l')} extents on places that have others")
    if vg.allocation == "contiguous" and not line.has("--alloc") and len(runs) > 1:
        return failed(
            f"Insufficient suitable contiguous allocatable extents for logical volume {name}: "
            f"{runs[-1].count} more required"
        )
    for run in runs:
        if set(range(run.first, run.first + run.count)) & vg.taken(run.pv):
            return failed(f"Insufficient suitable allocatable extents for logical volume {name}")
    size_bytes = sum(run.count for run in runs) * EXTENT
    made = Lv(vg, machine.lvm_uuid(), name, size_bytes, runs, tags=line.all("--addtag"))
    vg.lvs.append(made)
    made.minor = machine.free_minor()
    machine.changed(vg)
    yield 0.1
    return said(f'Logical volume "{name}" created.')


def _lvchange(machine: Machine, vg: Vg, line: Line) -> Steps:
    refusal = refuses_change(vg)
    if refusal is not None:
        return refusal
    operand = line.operands[0]
    lv = find(vg, operand)
    if lv is None:
        return not_found(operand)
    if any(option.startswith("--cache") for option, _ in line.options):
        result = yield from cachepool.change(machine, lv, line)
        return result
    if line.has("-an") or line.has("-ay"):
        yield 0.1
        return activation.switch(machine, lv, line)
    if line.has("--setactivationskip"):
        lv.skipped = line.one("--setactivationskip") == "y"
    for option, value in line.options:
        if option == "--addtag" and value not in lv.tags:
            lv.tags.append(value)
        elif option == "--deltag" and value in lv.tags:
            lv.tags.remove(value)
    lv.tags.sort()
    machine.changed(vg)
    yield 0.05
    return said(f"Logical volume {operand} changed.")


def _lvremove(machine: Machine, vg: Vg, line: Line) -> Steps:
    operand = line.operands[0]
    lv = find(vg, operand)
    if lv is None:
        return not_found(operand)
    if line.has("-S") and line.one("-S") != f"lv_uuid={lv.uuid}":
        # Nothing is selected, which LVM does not call a failure.
        return said()
    if not lv.public and lv.layout != "cache,pool":
        raise ModelGap(f"removing a hidden volume removes its owner: {operand}")
    if lv.minor is not None and machine.under_bcache(lv):
        return failed(f"Logical volume {operand} is used by another device.")
    if lv.minor is not None and machine.open_count(lv):
        return failed(f"Logical volume {operand} contains a filesystem in use.")
    if lv.cache is not None:
        # With its pool, and nothing is flushed.
        vg.lvs.remove(lv.cache.origin)
        forget(vg, lv.cache.pool)
    forget(vg, lv)
    machine.changed(vg)
    yield 0.1
    return said(f'Logical volume "{lv.name}" successfully removed.')


def _lvrename(machine: Machine, vg: Vg, line: Line) -> Steps:
    refusal = refuses_change(vg)
    if refusal is not None:
        return refusal
    _, old, new = line.operands
    lv = vg.lv(old)
    if lv is None:
        return failed(f"Existing logical volume {vg.name}/{old} not found.")
    if vg.lv(new) is not None:
        return failed(f'Logical Volume "{new}" already exists in volume group "{vg.name}"')
    if not lv.public or lv.cache is not None:
        raise ModelGap(f"renaming {lv.layout} {old}")
    lv.name = new
    machine.changed(vg)
    yield 0.05
    return said(f'Renamed "{old}" to "{new}" in volume group "{vg.name}"')


lvcreate = writer(_lvcreate)
lvrename = writer(_lvrename)
lvchange = writer(_lvchange)
lvremove = writer(_lvremove)
lvconvert = writer(cachepool.convert)
