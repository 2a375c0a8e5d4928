"""udevadm and udevd: the agent's own rules, read as udev reads them, and what those of a
distribution do afterwards with what a device holds."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from storage.agent.kernel.local_host import CommandResult
from tests.fake import bcache, lvmfilter
from tests.fake.group import Steps
from tests.fake.machine import Machine
from tests.fake.parts import Backing, Lv, ModelGap, Written

FOLDER = "/etc/udev/rules.d"
# What the rules of other packages act upon: mdadm, btrfs-progs, zfsutils, stratisd.
STARTED = ("linux_raid_member", "btrfs", "zfs_member", "stratis")
# Between the one that reads what a device holds, and those that act upon it.
FILES = (f"{FOLDER}/61-tiercel.rules", f"{FOLDER}/69-tiercel.rules")

Token = tuple[str, str, str, str]
_TOKEN = re.compile(r'([A-Z]+)(?:\{([^}]*)\})?(==|!=|\+=|=)"([^"]*)"(?:, |$)')
_MATCHED = ("SUBSYSTEM", "ACTION", "KERNEL")


@dataclass
class Event:
    """An event as the rules see it: `env` changes as they run."""

    keys: Mapping[str, str]
    env: dict[str, str]
    attributes: Mapping[str, str]
    parents: Mapping[str, str]
    files: frozenset[str]
    links: list[str] = field(default_factory=list)

    def matches(self, key: str, attribute: str, pattern: str) -> bool:
        if key == "TEST":
            return pattern in self.files
        if key == "ENV":
            value: str | None = self.env.get(attribute, "")
        elif key == "ATTR":
            value = self.attributes.get(attribute)
        elif key == "ATTRS":
            value = self.attributes.get(attribute, self.parents.get(attribute))
        else:
            value = self.keys[key]
        return value is not None and any(fnmatchcase(value, each) for each in pattern.split("|"))


@functools.lru_cache(maxsize=64)
def parsed(text: bytes) -> tuple[tuple[Token, ...], ...]:
    """The rules of a file, each as its tokens."""
    rules = []
    for line in text.decode().splitlines():
        if line.startswith("#"):
            continue
        tokens, rest = [], line
        while rest:
            match = _TOKEN.match(rest)
            if match is None:
                raise ModelGap(f"a udev rule: {line}")
            key, attribute, operator, value = match.groups()
            tokens.append((key, attribute or "", operator, value))
            rest = rest[match.end() :]
        rules.append(tuple(tokens))
    return tuple(rules)


def run_rules(rules: Sequence[Sequence[Token]], event: Event) -> None:
    """One file, from the top; GOTO leads forward only."""
    label = ""
    for tokens in rules:
        if label:
            if tokens[0][0] == "LABEL" and tokens[0][3] == label:
                label = ""
            continue
        for key, attribute, operator, value in tokens:
            if key in (*_MATCHED, "TEST", "ATTR", "ATTRS") or operator in ("==", "!="):
                if operator not in ("==", "!="):
                    raise ModelGap(f"{key}{operator} in a udev rule")
                if event.matches(key, attribute, value) != (operator == "=="):
                    break
            elif key == "GOTO":
                label = value
            elif key == "ENV":
                event.env[attribute] = value
            elif key == "SYMLINK":
                event.links.append(value.replace("%k", event.keys["KERNEL"]))
            elif key not in ("LABEL", "OPTIONS"):
                raise ModelGap(f"{key} in a udev rule")
    if label:
        raise ModelGap(f"GOTO={label} leads nowhere")


def udevadm(machine: Machine, argv: Sequence[str]) -> Steps:
    yield 0.0
    if list(argv[1:]) == ["control", "--reload"]:
        return CommandResult(0)
    if list(argv[1:3]) != ["trigger", "--action=change"] or len(argv) != 4:
        raise ModelGap(" ".join(argv))
    appeared(machine, argv[3])
    return CommandResult(0)


def coldplug(machine: Machine) -> None:
    """At boot every device has its event."""
    machine.links.clear()
    there = [lv for lv in machine.lvs() if lv.vg.inside is None and lv.minor is not None]
    # The kernel too registers a cache set first where both come at once.
    for lv in sorted(there, key=lambda lv: not (lv.signature and lv.signature.cache_device)):
        appeared(machine, lv.path, "add")
    for backing in (each for each in list(machine.backings) if each.waits_for is None):
        appeared(machine, f"/dev/{backing.device}", "add")


def appeared(machine: Machine, path: str, action: str = "change") -> None:
    """A device's event: its links are what the rules say now, and what it holds is acted upon."""
    lv = machine.lv_at(path)
    backing = next((each for each in machine.backings if f"/dev/{each.device}" == path), None)
    if backing is not None:
        written = _inside(backing)
        whole = written is not None and not written.partition
        _react(machine, backing.lv, _of_backing(backing, action, whole=whole), whole=whole)
        if written is not None and written.partition and action == "add":
            _react(machine, backing.lv, _of_partition(backing, action), whole=True)
    elif lv is not None and lv.public:
        _react(machine, lv, _of_volume(machine, lv, action), whole=True)
    machine.changed()


def _of_volume(machine: Machine, lv: Lv, action: str) -> Event:
    held = "" if lv.signature is None else lv.signature.type
    keys = {"SUBSYSTEM": "block", "ACTION": action, "KERNEL": str(lv.kname)}
    env = {"DM_UUID": lv.dm_uuid, "DEVTYPE": "disk", "ID_FS_TYPE": held}
    if lv.signature is not None:
        env["ID_FS_UUID"] = lv.signature.uuid
    files = frozenset(("bcache",) if machine.backing(lv) is not None else ())
    return Event(keys, env, {"dm/uuid": lv.dm_uuid}, {}, files)


def _of_backing(backing: Backing, action: str, *, whole: bool) -> Event:
    written = _inside(backing)
    held = written.type if written is not None and whole else ""
    keys = {"SUBSYSTEM": "block", "ACTION": action, "KERNEL": backing.device}
    env = {"DEVTYPE": "disk", "CACHED_UUID": backing.uuid, "ID_FS_TYPE": held}
    files = frozenset(("bcache/backing_dev_uuid", "slaves/*/dm/uuid"))
    return Event(keys, env, {"bcache/backing_dev_uuid": backing.uuid}, {}, files)


def _inside(backing: Backing) -> Written | None:
    """What a guest wrote to the bcache device. The superblock of a bcache that a guest made of its
    plain volume is below that."""
    written = backing.lv.written
    is_below = written is not None and written.signature is backing.lv.signature
    return None if is_below else written


def _of_partition(backing: Backing, action: str) -> Event:
    written = backing.lv.written
    keys = {"SUBSYSTEM": "block", "ACTION": action, "KERNEL": f"{backing.device}p1"}
    env = {"DEVTYPE": "partition", "ID_FS_TYPE": "" if written is None else written.type}
    files = frozenset(("../bcache/backing_dev_uuid", "../slaves/*/dm/uuid"))
    return Event(keys, env, {}, {"bcache/backing_dev_uuid": backing.uuid}, files)


def _react(machine: Machine, lv: Lv, event: Event, *, whole: bool) -> None:
    name = event.keys["KERNEL"]
    machine.links = {link: to for link, to in machine.links.items() if to != f"../{name}"}
    for path in FILES:
        run_rules(parsed(machine.files.get(path, b"")), event)
    machine.links |= {f"/dev/{link}": f"../{name}" for link in event.links}
    held = event.env["ID_FS_TYPE"]
    if held == "bcache" and machine.bcache_rule and "bcache" in machine.modules:
        _register(machine, lv, name)
    elif held in STARTED and lv.written is not None and not lv.held:
        _start(machine, lv)
    elif held == "LVM2_member" and name.startswith("bcache") and event.keys["ACTION"] == "add":
        _activate(machine, lv, name)


def _register(machine: Machine, lv: Lv, name: str) -> None:
    """bcache-register. Of a bcache within a guest's bcache device the model only knows that the
    device is held."""
    if name.startswith("dm-"):
        if lv.written is not None and machine.backing(lv) is None:
            lv.written.starts += 1
        bcache.register(machine, lv.path)
    elif not lv.held:
        _start(machine, lv)


def _start(machine: Machine, lv: Lv) -> None:
    lv.held = True
    if lv.written is not None:
        lv.written.starts += 1


def _activate(machine: Machine, lv: Lv, name: str) -> None:
    """pvscan, and `vgchange -aay` of what it finds."""
    vg = None if lv.written is None else lv.written.vg
    if vg is None or lvmfilter.rejects(machine, name):
        return
    for each in vg.lvs:
        if each.minor is None:
            each.minor = machine.free_minor()
    if vg.lvs:
        _start(machine, lv)
