"""A stable path for each managed volume: /dev/tiercel/<volume key>, made by udev.

The rules file has one line per volume and calls no program: a plain volume is recognised by its dm
uuid, a bcache one by the uuid of its backing device (its number changes from boot to boot, and the
volume below it must never be opened in its place). Only a uuid that this agent noted when it made
the device counts: a tenant can write any superblock into his own volume. A plain volume has its
path at each event at which the kernel does not use it as a bcache device.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..calls import names
from ..commands.command import FORMAT_BCACHE, MADE_PREFIX, OURS
from ..commands.provenance import is_name_beside
from ..facts.view import Facts
from ..guests import hiding
from ..kernel.local_host import LocalHost, MissingTool, TimedOut
from .boot_state import Kept

PATH = "/etc/udev/rules.d/69-tiercel.rules"
FOLDER = "/dev/tiercel"
HEAD = "# Written by Tiercel's agent. Changes made by hand are lost.\n"
RELOAD = ("udevadm", "control", "--reload")
_TAG = "tiercel.volume="
_ACTED_UPON = re.compile(r'"type": ?"(?:bcache|btrfs|stratis|\w+_member)"')
_LINE = re.compile(
    r'SUBSYSTEM=="block", '
    r'(?:KERNEL=="dm-\*", TEST!="bcache", ATTR\{dm/uuid\}=="LVM-[0-9A-Za-z]{64}"'
    r'|KERNEL=="bcache\*", ENV\{DEVTYPE\}=="disk", '
    r'(?:ENV\{CACHED_UUID\}|ATTR\{bcache/backing_dev_uuid\})=="[0-9a-f-]{36}")'
    r', SYMLINK\+="tiercel/[a-z2-7]{8,26}"\n'
)


def rules(facts: Facts, kept: Iterable[Kept]) -> str:
    """The file for these facts. Only volumes of VGs that root names get a path: a tag is text that
    the writer of the metadata chose. No path for a key that two volumes carry. What an agent before
    the marks made beside a volume carries its key too, and is recognised by its name. Pure."""
    backings = {each.lv_uuid: each.uuid for each in kept if each.kind == "backing"}
    lines_by_uuid: dict[str, list[str]] = {}
    # Those with such a name come last, and only where nothing else carries their key.
    for lv in sorted(facts["lvs"], key=lambda lv: is_name_beside(lv["name"])):
        key = _key(lv) if lv["vg_uuid"] in facts["named"] else ""
        uuid = backings.get(lv["uuid"], "")
        if key and not (key in lines_by_uuid and is_name_beside(lv["name"])):
            lines_by_uuid.setdefault(key, []).append(_lines(lv, key, uuid))
    return HEAD + "".join(lines[0] for _, lines in sorted(lines_by_uuid.items()) if len(lines) == 1)


def refresh(host: LocalHost, facts: Facts, kept: Sequence[Kept]) -> list[str]:
    """Write both rules files where they differ and let udev make the new paths. Returns what was
    run, as shell lines. Raises OSError."""
    files = {hiding.PATH: hiding.rules_of(host, facts, kept), PATH: rules(facts, kept)}
    before = {path: host.read(path) for path in files}
    stale = [path for path, text in files.items() if before[path] != text.encode()]
    if not stale:
        return []
    for path in stale:
        host.save(path, files[path].encode())
    old = set((before[PATH] or b"").decode("utf-8", "replace").splitlines())
    fresh = [line for line in files[PATH].splitlines() if line not in old]
    changed = [lv for lv in facts["lvs"] if lv["active"] and _is_in(lv, fresh)]
    ran: list[str] = []
    try:
        devices = [_device(lv) for lv in changed if not _is_acted_upon(host, lv)]
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


def scrub(host: LocalHost) -> list[str]:
    """Take out of our file every line that we would not write, whatever LVM has to say: udev takes
    commands from it as root. Returns what was run, as shell lines. Raises OSError."""
    before = host.read(PATH)
    if before is None:
        return []
    lines = before.decode("utf-8", "replace").splitlines(keepends=True)
    good = "".join(line for line in lines if line == HEAD or _LINE.fullmatch(line))
    if good.encode() == before:
        return []
    host.save(PATH, good.encode())
    try:
        host.run(RELOAD, timeout=10.0)
    except (MissingTool, TimedOut):
        return [f"rewrote {PATH}"]
    return [f"rewrote {PATH}", " ".join(RELOAD)]


def _is_acted_upon(host: LocalHost, lv: Facts) -> bool:
    """It holds what a rule of the distribution would start at the event: a bcache superblock, an
    array's, a physical volume. Its path then comes when an event comes anyway."""
    signatures = host.run(("wipefs", "-nJ", _device(lv)), timeout=10.0).stdout
    return _ACTED_UPON.search(signatures) is not None


def trigger(device: str) -> tuple[str, ...]:
    """The command that makes udev look at a device again."""
    return ("udevadm", "trigger", "--action=change", device)


def _key(lv: Facts) -> str:
    """The volume key of what a guest may open; "" for anything else. It goes into a file that udev
    takes commands from."""
    keys = [tag[len(_TAG) :] for tag in lv["tags"] if tag.startswith(_TAG)]
    if OURS not in lv["tags"] or "public" not in lv["role"] or len(keys) != 1:
        return ""
    is_beside = any(tag.startswith(MADE_PREFIX) for tag in lv["tags"])
    if is_beside or FORMAT_BCACHE in lv["tags"]:
        return ""
    try:
        return names.volume_key(keys[0])
    except ValueError:
        return ""


def _lines(lv: Facts, key: str, backing_uuid: str) -> str:
    link = f'SYMLINK+="tiercel/{key}"\n'
    if not backing_uuid:
        match = 'SUBSYSTEM=="block", KERNEL=="dm-*", TEST!="bcache", '
        return f'{match}ATTR{{dm/uuid}}=="{hiding.dm_uuid(lv)}", {link}'
    # The kernel names the uuid in its first event, and has the attribute from then on.
    match = 'SUBSYSTEM=="block", KERNEL=="bcache*", ENV{DEVTYPE}=="disk", '
    return (
        f'{match}ENV{{CACHED_UUID}}=="{backing_uuid}", {link}'
        f'{match}ATTR{{bcache/backing_dev_uuid}}=="{backing_uuid}", {link}'
    )


def _is_in(lv: Facts, lines: Iterable[str]) -> bool:
    if lv["bcache"] is not None:
        uuid = lv["bcache"]["uuid"]
        return lv["bcache"]["device"] is not None and any(uuid in line for line in lines)
    return any(f'"{hiding.dm_uuid(lv)}"' in line for line in lines)


def _device(lv: Facts) -> str:
    if lv["bcache"] is not None:
        return f"/dev/{lv['bcache']['device']}"
    return f"/dev/{lv['vg_name']}/{lv['name']}"
