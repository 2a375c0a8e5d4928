"""Volumes switched on and off: `lvchange -ay`, `-an`, and the flag by which a boot skips them."""

from __future__ import annotations

from storage.agent.kernel.local_host import CommandResult
from tests.fake import udev
from tests.fake.argv import Line, failed, said
from tests.fake.machine import Machine
from tests.fake.parts import Lv, ModelGap


def switch(machine: Machine, lv: Lv, line: Line) -> CommandResult:
    """udev's rule registers a bcache superblock as soon as the volume is there."""
    if not lv.public or lv.cache is not None:
        raise ModelGap(f"activation of {lv.layout} {lv.name}")
    if line.has("-an"):
        return _off(machine, lv)
    if lv.skipped and not line.has("-K"):
        return said()
    if lv.minor is None:
        lv.minor = machine.free_minor()
        machine.changed()
        udev.appeared(machine, lv.path)
    return said()


def _off(machine: Machine, lv: Lv) -> CommandResult:
    if lv.minor is not None and machine.open_count(lv):
        return failed(f"Logical volume {lv.vg.name}/{lv.name} in use.")
    lv.minor = None
    machine.changed()
    return said()
