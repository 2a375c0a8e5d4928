"""mdadm --manage, as the lab's 4.2 answers."""

from __future__ import annotations

from collections.abc import Sequence

from storage.agent.kernel.local_host import CommandResult
from tests.fake.argv import parse
from tests.fake.group import Steps
from tests.fake.machine import Machine
from tests.fake.parts import Array, ModelGap


def mdadm(machine: Machine, argv: Sequence[str]) -> Steps:
    line = parse(argv, (), ("--manage", "--add", "--remove", "--replace", "--with"))
    array = next(each for each in machine.arrays if f"/dev/{each.name}" == line.one("--manage"))
    yield 0.1
    machine.changed()
    if added := line.all("--add"):
        return _add(machine, array, added[0])
    if removed := line.all("--remove"):
        return _remove(array, removed[0])
    return _replace(machine, array, line.one("--replace"), line.one("--with"))


def _add(machine: Machine, array: Array, path: str) -> CommandResult:
    disk = next((each for each in machine.disks if f"/dev/{each.name}" == path), None)
    if disk is None:
        return _failed(f"Cannot find {path}: No such file or directory")
    if disk.size_bytes < array.size_bytes:
        return _failed(f"{path} not large enough to join array")
    array.spares.append(disk)
    machine.signed[path] = "linux_raid_member"
    return _said(f"added {path}")


def _remove(array: Array, word: str) -> CommandResult:
    if word == "failed":
        lines = [f"hot removed {disk.dev} from /dev/{array.name}" for disk in array.faulty]
        array.forget_faulty({disk.name for disk in array.faulty})
        return _said(*lines)
    name = word.removeprefix("/dev/")
    if name not in {disk.name for disk in array.faulty}:
        return _failed(f"hot remove failed for {word}: Device or resource busy")
    array.forget_faulty({name})
    return _said(f"hot removed {word} from /dev/{array.name}")


def _replace(machine: Machine, array: Array, old: str, new: str) -> CommandResult:
    spare = next((disk for disk in array.spares if f"/dev/{disk.name}" == new), None)
    place = next((n for n, disk in enumerate(array.members) if f"/dev/{disk.name}" == old), None)
    if spare is None or place is None:
        raise ModelGap(f"--replace {old} --with {new}")
    machine.signed[old] = "linux_raid_member"
    array.spares.remove(spare)
    array.replaced[array.members[place].name] = spare
    return _said(
        f"Marked {old} (device {place} in /dev/{array.name}) for replacement",
        f"Marked {new} in /dev/{array.name} as replacement for device {place}",
    )


def _said(*lines: str) -> CommandResult:
    return CommandResult(0, "", "".join(f"mdadm: {line}\n" for line in lines))


def _failed(line: str) -> CommandResult:
    return CommandResult(1, "", f"mdadm: {line}\n")
