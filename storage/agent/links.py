"""A stable path for each managed volume: /dev/tiercel/<volume key>, made by udev.

The rules file has one line per volume and calls no program: a plain volume is told by its dm uuid,
a bcache one by the uuid of its backing device (its number changes from boot to boot, and the
volume below it must never be opened in its place). Only a uuid that this agent noted when it made
the device counts: a tenant can write any superblock into his own volume.
"""

from __future__ import annotations

from collections.abc import Iterable

from .command import FORMAT_BCACHE, OURS
from .host import Host, MissingTool, TimedOut
from .keep import Kept
from .view import Facts

PATH = "/etc/udev/rules.d/69-tiercel.rules"
FOLDER = "/dev/tiercel"
HEAD = "# Written by Tiercel's agent. Changes made by hand are lost.\n"
RELOAD = ("udevadm", "control", "--reload")
# Pools, cache devices and new room being zeroed carry the key of their volume.
BESIDE = ("c-", "s-", "x-")
_TAG = "tiercel.volume="


def rules(facts: Facts, kept: Iterable[Kept]) -> str:
    """The file for these facts. No path for a key that two volumes carry, nor for a volume that is
    at work as a bcache device we did not make. Pure."""
    backings = {each.lv_uuid: each.uuid for each in kept if each.kind == "backing"}
    found: dict[str, list[str]] = {}
    for lv in facts["lvs"]:
        key, uuid = _key(lv), backings.get(lv["uuid"], "")
        if key:
            foreign = lv["bcache"] is not None and not uuid
            found.setdefault(key, []).append("" if foreign else _lines(lv, key, uuid))
    return HEAD + "".join(lines[0] for _, lines in sorted(found.items()) if len(lines) == 1)


def refresh(host: Host, facts: Facts, kept: Iterable[Kept]) -> list[str]:
    """Write the file where it differs and let udev make the new paths. Returns what was run, as
    shell lines. Raises OSError."""
    wanted = rules(facts, kept)
    before = host.read(PATH)
    old = set() if before is None else set(before.decode("utf-8", "replace").splitlines())
    if before == wanted.encode():
        return []
    host.save(PATH, wanted.encode())
    fresh = [line for line in wanted.splitlines() if line not in old]
    changed = [lv for lv in facts["lvs"] if lv["active"] and _is_in(lv, fresh)]
    ran: list[str] = []
    try:
        devices = [_device(lv) for lv in changed if not _would_be_registered(host, lv)]
    except (MissingTool, TimedOut):
        devices = []
    for argv in (RELOAD, *(trigger(device) for device in devices)):
        try:
            host.run(argv, timeout=10.0)
        except (MissingTool, TimedOut):
            # The paths then come with the next event of the device, at the latest at boot.
            return ran
        ran.append(" ".join(argv))
    return ran


def _would_be_registered(host: Host, lv: Facts) -> bool:
    """A tenant's own bcache superblock inside a volume: a distribution's rule would register it
    at the event. Its path then comes when an event comes anyway."""
    if lv["bcache"] is not None:
        return False
    return '"bcache"' in host.run(("wipefs", "-nJ", _device(lv)), timeout=10.0).stdout


def trigger(device: str) -> tuple[str, ...]:
    """The command that makes udev look at a device again."""
    return ("udevadm", "trigger", "--action=change", device)


def _key(lv: Facts) -> str:
    """The volume key of what a guest may open; "" for anything else."""
    keys = [tag[len(_TAG) :] for tag in lv["tags"] if tag.startswith(_TAG)]
    if OURS not in lv["tags"] or "public" not in lv["role"] or len(keys) != 1:
        return ""
    beside = lv["name"].startswith(BESIDE)
    return "" if beside or FORMAT_BCACHE in lv["tags"] else keys[0]


def _lines(lv: Facts, key: str, backing_uuid: str) -> str:
    link = f'SYMLINK+="tiercel/{key}"\n'
    if not backing_uuid:
        return f'SUBSYSTEM=="block", KERNEL=="dm-*", ATTR{{dm/uuid}}=="{_dm_uuid(lv)}", {link}'
    # The kernel names the uuid in its first event, and has the attribute from then on.
    match = 'SUBSYSTEM=="block", KERNEL=="bcache*", ENV{DEVTYPE}=="disk", '
    return (
        f'{match}ENV{{CACHED_UUID}}=="{backing_uuid}", {link}'
        f'{match}ATTR{{bcache/backing_dev_uuid}}=="{backing_uuid}", {link}'
    )


def _dm_uuid(lv: Facts) -> str:
    return "LVM-" + f"{lv['vg_uuid']}{lv['uuid']}".replace("-", "")


def _is_in(lv: Facts, lines: Iterable[str]) -> bool:
    if lv["bcache"] is not None:
        uuid = lv["bcache"]["uuid"]
        return lv["bcache"]["device"] is not None and any(uuid in line for line in lines)
    return any(f'"{_dm_uuid(lv)}"' in line for line in lines)


def _device(lv: Facts) -> str:
    if lv["bcache"] is not None:
        return f"/dev/{lv['bcache']['device']}"
    return f"/dev/{lv['vg_name']}/{lv['name']}"
