"""ssd.prepare: an unused disk, partition or md array becomes a PV of a VG."""

from __future__ import annotations

import json
import re
from typing import Any

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands.command import Args, Command, run
from ..facts.view import Check, Facts, View, space_subject
from ..guests.usage_checks import is_at_work
from ..guests.users import of_devices
from ..kernel import attachment, disks
from ..kernel.dm import text
from ..kernel.local_host import LocalHost, MissingTool, TimedOut
from ..state.policy import AGENT
from . import checks
from .verb import NOTHING, Estimate, Trait, Verb

MEMBER = "LVM2_member"
METADATA_AREA = "16m"
# What is no hardware of this host, or is made of something that is.
_OTHERS = re.compile(r"(?:bcache|dm|drbd|loop|nbd|ram|rbd|sr|zd|zram)\d*")


def _refusal(code: str, message: str, correction: str) -> Refusal:
    return Refusal(code, message, correction)


def serial_of(host: LocalHost, device: str) -> str | None:
    """What identifies the device: a disk's serial number, also for its partitions, and
    an array's uuid. None where there is no such device."""
    if not host.exists(f"/sys/class/block/{device}"):
        return None
    whole = disks.whole(host, device)
    if disks.is_array(host, whole):
        return text(host, f"/sys/block/{whole}/md/uuid")
    serials = [disk["serial"] for disk in disks.disks(host) if disk["name"] == whole]
    return serials[0] if serials else None


def meant(view: View, call: VerbCall) -> Check:
    """The device has the serial number that the call names."""

    def check() -> None:
        device, meant_serial = call.args["device"], call.args["serial"]
        serial = None if _OTHERS.fullmatch(device) else serial_of(view.host, device)
        if serial is None:
            raise _refusal(
                "not_found",
                f"There is no disk, partition or array {device} on this host.",
                "Read the host again: the kernel may have named it anew.",
            )
        if serial != meant_serial:
            raise _refusal(
                "stale",
                f"{device} has the serial number {serial or '(none)'}, not {meant_serial}.",
                "Compare it with the label on the drive. A device without one is not taken.",
            )

    return check


def _pv(view: View, call: VerbCall) -> Facts | None:
    name = call.args["device"]
    return next((pv for pv in view.facts["pvs"] if pv["name"] == name), None)


def _todo(view: View, call: VerbCall) -> frozenset[str] | None:
    pv = _pv(view, call)
    if pv is None:
        return None
    if pv["vg_uuid"] == view.vg(call.args["vg"])["uuid"]:
        return NOTHING
    if pv["vg_uuid"]:
        raise _refusal(
            "in_use",
            f"{pv['name']} is a PV of VG {pv['vg_name']}.",
            "Choose a device that is not used.",
        )
    return frozenset(("extend",))


def _empty(view: View, call: VerbCall) -> Check:
    """No signature of anything; a PV in no VG is what an earlier try left."""

    def check() -> None:
        allowed = [] if _pv(view, call) is None else [MEMBER]
        signs = signatures(view.host, call.args["device"])
        if signs != allowed:
            raise _refusal(
                "not_fresh",
                f"{call.args['device']} already carries {', '.join(signs) or 'nothing'}.",
                "If it holds nothing that is needed, clear it on the host: wipefs -a /dev/"
                f"{call.args['device']}",
            )

    return check


def local(view: View, call: VerbCall) -> Check:
    """No other machine reaches it: with it, the whole group would count as shared, and nothing of
    the group could be changed any more."""

    def check() -> None:
        group = call.args["vg"]
        how = attachment.elsewhere(view.host, call.args["device"])
        if how and group not in view.policy.alone:
            raise _refusal(
                "unsupported",
                f"{call.args['device']} is reached by {how}: other machines may use it too.",
                f"Use a local disk. If no other machine ever uses {group}, as root on the host "
                f"run: {AGENT} allow-vg {group} --alone",
            )

    return check


def _same_sectors(view: View, call: VerbCall) -> Check:
    """LVM takes no device into a VG of other logical sectors, and says so only after pvcreate."""

    def check() -> None:
        uuid = view.vg(call.args["vg"])["uuid"]
        here = disks.logical_sector_bytes(view.host, call.args["device"])
        others = {
            pv["logical_sector_bytes"]
            for pv in view.facts["pvs"]
            if pv["vg_uuid"] == uuid and not pv["missing"]
        }
        if others - {here}:
            raise _refusal(
                "unsupported",
                f"{call.args['device']} has logical sectors of {here} bytes, the disks of "
                f"{call.args['vg']} have {', '.join(map(str, sorted(others)))}.",
                "Use a device with the same sectors, or reformat it to them (nvme format --lbaf, "
                "sg_format); that erases it.",
            )

    return check


def unused(view: View, call: VerbCall) -> Check:
    """Nothing holds, reads or writes the device."""

    def check() -> None:
        host, device = view.host, call.args["device"]
        here = f"/sys/class/block/{device}"
        dev = text(host, f"{here}/dev")
        users = [f"{each['kind']} {each['name']}" for each in of_devices(host, [dev])[dev]]
        users += [f"holder {name}" for name in host.list(f"{here}/holders")]
        users += [
            f"partition {name}"
            for name in host.list(here)
            if name.startswith(device) and host.exists(f"{here}/{name}/partition")
        ]
        if text(host, f"{here}/ro") == "1":
            users.append("a write lock (read-only)")
        if not users and is_at_work(host, dev):
            users.append("something that reads or writes it")
        if users or not host.exclusive(f"/dev/{device}"):
            raise _refusal(
                "in_use",
                f"{device} is in use: {', '.join(dict.fromkeys(users)) or 'unknown holder'}.",
                "Choose a device that nothing uses.",
            )

    return check


def signatures(host: LocalHost, device: str) -> list[str]:
    """What wipefs finds on the device. Raises Refusal(cmd_failed)."""
    command = ("wipefs", "-nJ", f"/dev/{device}")
    try:
        result = host.run(command, timeout=10.0)
    except (MissingTool, TimedOut):
        result = None
    if result is None or result.rc != 0:
        raise Refusal(
            "cmd_failed",
            f"wipefs could not read {device}.",
            "Install util-linux if it is missing; else look at `dmesg` for I/O errors.",
            argv=command,
            stderr="" if result is None else result.stderr,
        )
    if not result.stdout.strip():
        return []
    document: Any = json.loads(result.stdout)
    return [str(signature.get("type")) for signature in document["signatures"]]


def _commands(args: Args) -> tuple[Command, ...]:
    """The usual metadata area, 1 MiB, is full with some 270 cached volumes, and never grows.
    Without `-y`: should there be a signature after all, LVM asks, gets no answer and stops."""
    path = f"/dev/{args['device']}"
    return (
        run("create", "pvcreate", "--metadatasize", METADATA_AREA, path),
        run("extend", "vgextend", args["vg"], path),
    )


PREPARE = Verb(
    name="ssd.prepare",
    title="Add an SSD to a volume group",
    arguments=arguments({"device": names.kernel_name, "serial": names.serial}),
    commands=_commands,
    identity=lambda view, call: [
        checks.vg(view, call),
        checks.vg_whole(view, call),
        meant(view, call),
    ],
    todo=_todo,
    state=lambda view, call: [
        local(view, call),
        _same_sectors(view, call),
        unused(view, call),
        _empty(view, call),
    ],
    touches=lambda args: frozenset([space_subject(args["vg"])]),
    estimate=Estimate(3, 2),
    traits=(Trait.IRREVERSIBLE,),
)
