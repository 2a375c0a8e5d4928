"""udevadm, as far as the agent's own rules go: paths below /dev/tiercel."""

from __future__ import annotations

import re
from collections.abc import Sequence

from storage.agent.host import Result
from tests.fake.group import Steps
from tests.fake.machine import Machine
from tests.fake.parts import ModelGap

RULES = "/etc/udev/rules.d/69-tiercel.rules"

_PLAIN = re.compile(
    r'SUBSYSTEM=="block", KERNEL=="dm-\*", ATTR\{dm/uuid\}=="(?P<uuid>LVM-\w{64})", '
    r'SYMLINK\+="(?P<link>tiercel/[a-z2-7]{8,26})"'
)
_BCACHE = re.compile(
    r'SUBSYSTEM=="block", KERNEL=="bcache\*", ENV\{DEVTYPE\}=="disk", '
    r'(?:ENV\{CACHED_UUID\}|ATTR\{bcache/backing_dev_uuid\})=="(?P<uuid>[0-9a-f-]{36})", '
    r'SYMLINK\+="(?P<link>tiercel/[a-z2-7]{8,26})"'
)


def udevadm(machine: Machine, argv: Sequence[str]) -> Steps:
    yield 0.0
    if list(argv[1:]) == ["control", "--reload"]:
        return Result(0)
    if list(argv[1:3]) != ["trigger", "--action=change"] or len(argv) != 4:
        raise ModelGap(" ".join(argv))
    appeared(machine, argv[3])
    return Result(0)


def coldplug(machine: Machine) -> None:
    """At boot every device has its event."""
    machine.links.clear()
    for lv in machine.lvs():
        appeared(machine, lv.path)
    for backing in (each for each in machine.backings if each.waits_for is None):
        appeared(machine, f"/dev/{backing.device}")


def appeared(machine: Machine, path: str) -> None:
    """A device's event: its links are what the rules say now."""
    lv = machine.lv_at(path)
    backing = next((each for each in machine.backings if f"/dev/{each.device}" == path), None)
    uuid = backing.uuid if backing is not None else "" if lv is None else lv.dm_uuid
    kname = backing.device if backing is not None else "" if lv is None else lv.kname
    machine.links = {link: to for link, to in machine.links.items() if to != f"../{kname}"}
    for line in machine.files.get(RULES, b"").decode().splitlines():
        match = _PLAIN.fullmatch(line) or _BCACHE.fullmatch(line)
        if match is None and not line.startswith("#"):
            raise ModelGap(f"a udev rule: {line}")
        if match is not None and uuid and match.group("uuid") == uuid:
            machine.links[f"/dev/{match.group('link')}"] = f"../{kname}"
    machine.changed()
