"""Hides guests' disks from the host.

The host's kernel and udev can read whatever a guest writes to its disk: a physical volume, a member
of an array, a bcache superblock. Two things keep the host away. A udev rules file, between the
rules that probe a device and those of LVM, md and bcache that act on the result, declares our
volumes empty. And a filter keeps LVM's commands from scanning them; root writes it with one
command, because the file is root's.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from ..calls.refusals import Refusal
from ..commands.command import OURS
from ..facts import guests_disks
from ..facts.inventory import storage
from ..facts.view import Facts
from ..kernel import bcache_sysfs, disks, dm
from ..kernel.local_host import LocalHost, MissingTool, TimedOut
from ..kernel.paths import mounted
from ..state import bcache_by_hand
from ..state.boot_state import UNIT, Kept
from ..state.policy import AGENT, HIDE, Policy
from . import lvm_devices_file

PATH = "/etc/udev/rules.d/61-tiercel.rules"
LOCAL = "/etc/lvm/lvmlocal.conf"
COMMAND = f"{AGENT} hide-guests"

CONFIG = (
    "lvmconfig",
    "--type",
    "full",
    "devices/scan_lvs",
    "devices/global_filter",
    "devices/filter",
)
BY_NAME = "r|^/dev/bcache.*|"
# udev gives every guest's bcache device, and each of its partitions, a link in this folder.
BY_LINK = "r|^/dev/tiercel-guest/.*|"

_BEGIN = f"# Begin of what {COMMAND} wrote; run it again after a change of global_filter.\n"
_END = "# End of what Tiercel wrote.\n"
_OURS = re.compile(rf"(?s){re.escape(_BEGIN)}.*?{re.escape(_END)}")
_SETS_FILTER = re.compile(r"(?m)^[^#\n]*\bglobal_filter\b")
_ENTRY = re.compile(r'"((?:[^"\\]|\\.)*)"')
_EVERYTHING = re.compile(r"a(?P<mark>.)\^?(?:\.\*)?\$?(?P=mark)")
_ODD = re.compile(r"[^A-Za-z0-9_-]")
BY_ID = "/dev/disk/by-id"
_OF_HARDWARE = ("wwn-", "scsi-", "ata-", "nvme-", "virtio-", "usb-")
_NAMES = ("/dev/bcache7", "/dev/bcache7p1")
_LINKS = ("/dev/tiercel-guest/bcache7", "/dev/tiercel-guest/bcache7p1")
_ALIASES = (
    "/dev/block/251:7",
    "/dev/tiercel/abcdefgh",
    "/dev/bcache/by-uuid/x",
    "/dev/disk/by-uuid/x",
    "/dev/disk/by-partuuid/x",
    "/dev/disk/by-id/lvm-pv-uuid-x",
)

# What the host would take for its own. Nothing at all may be two at once, of which blkid tells
# neither: bcache's rule then looks again by itself.
_ACTED_UPON = "*_raid_member|LVM[12]_member|mpath_member|zfs_member|btrfs|stratis"
_HEAD = """\
# Written by Tiercel's agent. Changes made by hand are lost.
# What a guest wrote to its disk is not for this host: no LVM, md or bcache of it is started here.
SUBSYSTEM!="block", GOTO="tiercel_end"
ACTION=="remove", GOTO="tiercel_end"
KERNEL=="bcache*", GOTO="tiercel_bcache"
KERNEL!="dm-*", GOTO="tiercel_end"
"""
_BCACHE = """\
GOTO="tiercel_end"
LABEL="tiercel_bcache"
ENV{DEVTYPE}=="disk", TEST=="bcache/backing_dev_uuid", TEST!="slaves/*/dm/uuid", GOTO="tiercel_end"
ENV{DEVTYPE}=="partition", TEST=="../bcache/backing_dev_uuid", TEST!="../slaves/*/dm/uuid", \
GOTO="tiercel_end"
"""
# In the very first event of a bcache device the kernel may not yet show what it stands on.
_IN_DOUBT_THE_HOSTS = """\
ENV{DEVTYPE}=="disk", TEST!="bcache/backing_dev_uuid", ENV{CACHED_UUID}=="", GOTO="tiercel_end"
ENV{DEVTYPE}=="partition", TEST!="../bcache/backing_dev_uuid", GOTO="tiercel_end"
"""
_TAIL = f"""\
SYMLINK+="tiercel-guest/%k", OPTIONS+="link_priority=-100"
LABEL="tiercel_type"
ENV{{ID_FS_TYPE}}=="{_ACTED_UPON}", ENV{{ID_FS_TYPE}}="tiercel_guest"
"""
_NO_BCACHE = """\
ENV{ID_FS_TYPE}=="bcache", ENV{ID_FS_TYPE}="tiercel_guest"
ENV{ID_FS_TYPE}=="", ENV{ID_FS_TYPE}="tiercel_guest"
"""
_END_OF_RULES = 'LABEL="tiercel_end"\n'


def rules(
    facts: Facts,
    kept: Iterable[Kept],
    own: Collection[str],
    kept_visible: Collection[str],
    *,
    brings_back: bool,
) -> str:
    """The rules file. All LVs of the VGs that root names are taken for guests', but for those in
    `held` (uuids) that something of the host stands on and that are not ours, and for the bcache
    that root made. bcache devices are guests' but for those that stand on no logical volume, or on
    one of another VG, and those in `own` (uuids of backing devices): where there is none of the
    latter, also when nothing is known yet. Unless the agent `brings_back` our bcache after a
    restart, the distribution does. Pure."""
    lines = [_HEAD]
    for lv in facts["lvs"]:
        if lv["uuid"] in kept_visible and OURS not in lv["tags"]:
            lines.append(f'ENV{{DM_UUID}}=="{dm_uuid(lv)}", GOTO="tiercel_end"\n')
    for lv, each in bcache_by_hand.left_to_udev(facts, kept):
        match = f'ENV{{DM_UUID}}=="{dm_uuid(lv)}", ENV{{ID_FS_TYPE}}=="bcache", '
        # blkid's uuid of a cache device is not that of its set, which is what is noted.
        superblock = f'ENV{{ID_FS_UUID}}=="{each.uuid}", ' if each.kind == "backing" else ""
        lines.append(f'{match}{superblock}GOTO="tiercel_end"\n')
    for uuid in facts["hidden"]:
        plain = uuid.replace("-", "")
        lines.append(f'ENV{{DM_UUID}}=="LVM-{plain}*", GOTO="tiercel_type"\n')
    lines.append(_BCACHE)
    elsewhere = {
        lv["bcache"]["uuid"]
        for lv in facts["lvs"]
        if lv["bcache"] is not None and lv["vg_uuid"] not in facts["named"]
    }
    for uuid in sorted({*own, *elsewhere}):
        lines.append(f'ENV{{CACHED_UUID}}=="{uuid}", GOTO="tiercel_end"\n')
        lines.append(f'ATTRS{{bcache/backing_dev_uuid}}=="{uuid}", GOTO="tiercel_end"\n')
    if own:
        lines.append(_IN_DOUBT_THE_HOSTS)
    return "".join((*lines, _TAIL, _NO_BCACHE if brings_back else "", _END_OF_RULES))


def rules_of(host: LocalHost, facts: Facts, kept: Sequence[Kept]) -> str:
    """The rules file for this host as it is. What bcache holds is root's only where that is known,
    or where its owner is unclear; what it has mounted of several devices is the host's own."""
    kept_visible = set(bcache_by_hand.look(host, facts, kept).unclear)
    # Only udev shows the kernel what else a file system of several devices needs.
    points = Counter(each.point for each in mounted(host))
    parts = {each.device for each in mounted(host) if points[each.point] > 1}
    for lv in facts["lvs"]:
        holders = () if lv["kname"] is None else host.list(f"/sys/block/{lv['kname']}/holders")
        is_held = not all(bcache_sysfs.is_device(each) for each in holders)
        if is_held or lv["dev"] in parts:
            kept_visible.add(lv["uuid"])
    own = {each.uuid for each in own_backings(host)}
    return rules(facts, kept, own, kept_visible, brings_back=host.exists(UNIT))


def dm_uuid(lv: Facts) -> str:
    """What device-mapper calls an LV; made of two uuids that were checked."""
    return "LVM-" + f"{lv['vg_uuid']}{lv['uuid']}".replace("-", "")


def own_backings(host: LocalHost) -> tuple[bcache_sysfs.Backing, ...]:
    """Backing devices at work that stand on no logical volume: the host's own."""
    lvs = frozenset(device.kname for device in dm.dm_devices(host))
    backings = bcache_sysfs.other_backings(host, lvs)
    return tuple(each for each in backings if disks.stands_on(host, each.kname, lvs) is None)


def settings(host: LocalHost) -> str:
    """What LVM's configuration lets it look into; "" where it does not say."""
    try:
        return host.run(CONFIG, timeout=10.0).stdout
    except (MissingTool, TimedOut):
        return ""


def entries(text: str, name: str) -> tuple[str, ...]:
    """The entries of a filter in `settings`."""
    match = re.search(rf"(?m)^\s*{name}=\[(.*)\]\s*$", text)
    return () if match is None else tuple(_ENTRY.findall(match.group(1)))


def rejects(filters: Sequence[str], names: Iterable[str]) -> bool:
    """Whether a device with these names is one that LVM does not open: the first entry that fits a
    name decides about that name, and one name that is accepted is enough. An entry that cannot be
    understood rejects nothing."""
    rejected = False
    for name in names:
        for entry in filters:
            try:
                fits = re.search(entry[2:-1], name) is not None
            except re.error:
                return False
            if fits and entry[:1] == "a":
                return False
            if fits:
                rejected = True
                break
    return rejected


def is_hidden(text: str, *, linked: bool) -> bool:
    """Whether LVM with these `settings` looks away from guests' bcache devices; `linked`: our rules
    give each of them its link."""
    filters = [entries(text, "global_filter"), entries(text, "filter")]
    return all(
        any(rejects(each, (name, *([link] if linked else []), *_ALIASES)) for each in filters)
        for name, link in zip(_NAMES, _LINKS)
    )


def demand_hiding(host: LocalHost, theirs: Collection[str] = ()) -> None:
    """Raises Refusal(unsupported) where LVM would take what a guest writes for the host's own: its
    devices file lists a guest's disk, or there is no such file and no filter. `theirs` are disks
    that guests have for themselves."""
    path = lvm_devices_file.file_in_use(host)
    if path is None:
        if not is_hidden(settings(host), linked=host.exists(PATH)):
            raise Refusal(
                "unsupported",
                "LVM scans bcache devices. It could pick up a guest's volume group as the host's "
                "own.",
                HIDE,
            )
        return
    own = [each.device for each in own_backings(host) if each.device is not None]
    listed = lvm_devices_file.guests_devices(host, path, own, theirs)
    if listed:
        raise Refusal(
            "unsupported",
            f"{path} lists guests' disks ({', '.join(listed)}): LVM takes what a guest writes "
            "there for the host's own, whatever its filter says.",
            "As root on the host: "
            + "; ".join(f"lvmdevices --deldev {shlex.quote(each)}" for each in listed),
        )


def hides_guests(host: LocalHost) -> bool:
    """Whether LVM on this host looks away from guests' disks."""
    try:
        demand_hiding(host)
    except Refusal:
        return False
    return True


def hide_guests(host: LocalHost, policy: Policy) -> str:
    """Give LVM the filter, in front of what the filter has, and look whether it holds. Says what
    was done. Raises Refusal(unsupported), and what inventory.storage raises; OSError."""
    facts = storage(host, policy)
    sentences = [*_switch_off(host, facts)]
    sentences += [
        f"{each['message']} {each['correction']}"
        for each in bcache_by_hand.bcache_problems(host, facts)
    ]
    theirs = _disks_to_hide(host, facts)
    if lvm_devices_file.file_in_use(host) is not None:
        # No filter helps, and which devices are listed is root's.
        demand_hiding(host, theirs)
    if hides_guests(host) and not theirs:
        return "\n".join([*sentences, "LVM on this host already ignores guests' disks."])
    before = (host.read(LOCAL) or b"").decode("utf-8", "surrogateescape")
    rest = _OURS.sub("", before)
    own = own_backings(host)
    ours = ((BY_LINK,) if own else (BY_NAME, BY_LINK)) + tuple(
        entry for kname in theirs for entry in _by_id(host, kname)
    )
    if _SETS_FILTER.search(rest):
        raise Refusal(
            "unsupported",
            f"{LOCAL} sets global_filter itself.",
            f"Put {', '.join(_quoted(each) for each in ours)} before the existing entries, and "
            'remove any entry that accepts everything ("a|.*|"): LVM accepts a device if any of '
            "its names is accepted.",
        )
    kept = [
        entry
        for entry in entries(settings(host), "global_filter")
        if entry not in (BY_NAME, *ours) and _EVERYTHING.fullmatch(entry) is None
    ]
    listed = ", ".join(_quoted(each) for each in (*ours, *kept))
    block = f"{_BEGIN}devices {{\n\tglobal_filter = [ {listed} ]\n}}\n{_END}"
    head = rest if not rest or rest.endswith("\n") else f"{rest}\n"
    host.save(LOCAL, (head + block).encode("utf-8", "surrogateescape"))
    if not hides_guests(host) or _disks_to_hide(host, storage(host, policy)):
        host.save(LOCAL, before.encode("utf-8", "surrogateescape"))
        raise Refusal(
            "unsupported",
            "Another entry of LVM's filter lets guests' disks in by another of their names: "
            f"{listed}.",
            "Remove the entries that begin with a from global_filter in /etc/lvm/lvm.conf where "
            "they fit more than your own disks; then run this again.",
        )
    sentences.append(f"{LOCAL}: global_filter = [ {listed} ]")
    if own:
        names = ", ".join(each.kname for each in own)
        sentences.append(f"The bcache on {names} is the host's own and stays visible.")
    return "\n".join([*sentences, "LVM on this host now ignores guests' disks."])


def _quoted(entry: str) -> str:
    return f'"{entry}"'


def _disks_to_hide(host: LocalHost, facts: Facts) -> list[str]:
    """Kernel names of the disks and partitions that guests have for themselves, and on which LVM
    finds a group that takes the name of another one."""
    if not facts["guests"]:
        return []
    theirs = guests_disks.disks_of_guests(host)
    found: dict[str, None] = {}
    for pv in facts["pvs"]:
        real = host.real(f"/dev/{pv['name']}") if pv["vg_uuid"] in facts["guests"] else None
        kname = "" if real is None else real.rsplit("/", 1)[-1]
        disk = kname if kname in theirs else disks.stands_on(host, kname, theirs)
        if disk is not None and not disk.startswith("dm-") and not bcache_sysfs.is_device(disk):
            found[disk] = None
    return list(found)


def _by_id(host: LocalHost, kname: str) -> Iterable[str]:
    """Entries that reject a disk by the names that its hardware gives it, and its partitions: what
    the kernel calls it may be another disk after a restart."""
    for link in host.list(BY_ID):
        if link.startswith(_OF_HARDWARE) and host.real(f"{BY_ID}/{link}") == f"/dev/{kname}":
            yield f"r|^{BY_ID}/{_ODD.sub('.', link)}|"


def _switch_off(host: LocalHost, facts: Facts) -> Iterable[str]:
    """Guests' groups that are active here: once they are hidden LVM could not switch them off."""
    for uuid in facts["guests"]:
        words = ("vgchange", "-an", "-S", f"vg_uuid={uuid}")
        try:
            is_off = host.run(words, timeout=None).rc == 0
        except MissingTool:
            is_off = False
        yield f"{' '.join(words)}{'' if is_off else ' failed: its volumes may be in use.'}"
