"""array.replace: an unused disk or partition takes the place of a member of an md array on which a
VG lies: of one that works (`member`), or where one is missing already. The kernel copies by itself;
the operation follows it to its end, and takes out the old member."""

from __future__ import annotations

from typing import Any

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands.command import Args, Command, run
from ..facts.view import Check, View
from ..kernel import array_state, disks
from ..kernel.dm import SECTOR, text
from ..state.policy import AGENT
from . import checks
from .prepare_ssd import local, meant, serial_of, signatures, unused
from .verb import NOTHING, Estimate, LongWork, Trait, Verb

LOOK = "Read the host again, then look at its arrays."


def array_subject(name: str) -> str:
    return f"array:{name}"


def _array(view: View, call: VerbCall) -> dict[str, Any]:
    """The array that the call names. Raises Refusal(not_found | stale)."""
    name = call.args["array"]
    array = disks.array(view.host, name) if disks.is_array(view.host, name) else None
    if array is None or array["uuid"] != call.args["uuid"]:
        raise Refusal(
            "not_found" if array is None else "stale",
            f"There is no array {name} with this uuid on the host.",
            "Read the host again: the kernel may have named it anew.",
        )
    return array


def _members(array: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {member["name"]: member for member in array["members"]}


def _permitted(view: View, call: VerbCall) -> Check:
    """Root allows it on this host, and for the group that lies on the array."""

    def check() -> None:
        array, group = _array(view, call), view.vg(call.args["vg"])
        if not view.policy.replace_members:
            raise Refusal(
                "vg_not_allowed",
                "This host does not let the panel replace members of arrays.",
                f"As root on the host run: {AGENT} allow-replacement",
            )
        below = [
            pv["name"]
            for pv in view.facts["pvs"]
            if pv["vg_uuid"] == group["uuid"] and not pv["missing"]
        ]
        if not any(disks.stands_on(view.host, name, {array["name"]}) for name in below):
            raise Refusal(
                "unsupported",
                f"No part of VG {group['name']} lies on {array['name']}.",
                "Name the group that lies on it; root must have allowed that one.",
            )

    return check


def _todo(view: View, call: VerbCall) -> frozenset[str] | None:
    array = _array(view, call)
    members, args = _members(array), call.args
    new, old = members.get(args["device"]), members.get(args.get("member", ""))
    if new is not None and disks.has_failed(new):
        raise Refusal(
            "degraded",
            f"{args['device']} has failed in {array['name']}.",
            f"Take it out (mdadm --manage /dev/{array['name']} --remove /dev/{args['device']}) and "
            "use another disk.",
        )
    if new is None and "member" in args and old is None:
        raise Refusal("not_found", f"{args['member']} is no member of {array['name']}.", LOOK)
    is_there = new is not None and disks.is_in_place(new)
    if is_there and old is not None and not disks.has_failed(old):
        raise Refusal(
            "in_use",
            f"{args['device']} is another member of {array['name']}.",
            "Choose a disk that is not used.",
        )
    todo = set() if is_there else {"rebuild"}
    if new is None:
        todo.add("add")
    if old is not None:
        todo.add("remove")
        if not is_there and not disks.is_being_replaced(old):
            todo.add("replace")
    if "member" not in args and any(disks.has_failed(each) for each in members.values()):
        todo.add("clear")
    return frozenset(todo) or NOTHING


def _same_member(view: View, call: VerbCall) -> Check:
    """The member that is to go is the disk that was meant: the kernel may have given its name to
    another one, which would be taken for the bad one when it is out."""

    def check() -> None:
        name, meant_serial = call.args.get("member"), call.args.get("member_serial")
        if name is None or name not in _members(_array(view, call)):
            return
        if meant_serial is None:
            raise Refusal(
                "bad_request",
                "array.replace needs member_serial: a kernel name is no disk.",
                "Ask again: the page shows the serial numbers of the members.",
            )
        serial = serial_of(view.host, name)
        if serial != meant_serial:
            raise Refusal(
                "stale",
                f"{name} has the serial number {serial or '(none)'}, not {meant_serial}: it is "
                "another disk now.",
                "Read the host again, then name the member anew.",
            )

    return check


def _ready(view: View, call: VerbCall) -> Check:
    """Nothing else is at work in the array, and no copy is given up for the new one."""

    def check() -> None:
        todo = _todo(view, call) or NOTHING
        if not todo & {"add", "replace"}:
            return
        array, member = _array(view, call), call.args.get("member")
        name, missing = array["name"], array["degraded_count"]
        if array["container"]:
            raise Refusal(
                "unsupported",
                f"{name} is an array of firmware's RAID: its disks are those of "
                f"{array['container']}.",
                f"Replace the disk by hand: mdadm --manage /dev/{array['container']} --add "
                "/dev/NEW",
            )
        if array["level"] not in disks.COPIES:
            raise Refusal(
                "unsupported",
                f"{name} is {array['level']}: it has no second copy to fill a disk from.",
                "Move its volumes to another disk first.",
            )
        trouble = array_state.trouble_of(array)
        if trouble is not None and trouble.code not in ("array_degraded", "array_weakened"):
            is_rebuilt = trouble.code == "array_recovering"
            correction = array_state.wait_for(array) if is_rebuilt else trouble.correction
            raise Refusal("busy" if is_rebuilt else "degraded", f"{trouble.message}.", correction)
        if array["sync_action"] != "idle":
            raise Refusal(
                "busy",
                f"{name} is at work already: {array['sync_action']}.",
                array_state.wait_for(array),
            )
        if member is None and not missing:
            raise Refusal(
                "unsupported",
                f"{name} is missing no disk.",
                "Name the member that the new disk is to replace.",
            )
        if member is not None and (missing or disks.has_failed(_members(array)[member])):
            raise Refusal(
                "degraded",
                f"{name} lacks a disk: as long as it is, no other one is taken out.",
                "Fill the place that is free first: leave out the member.",
            )

    return check


def _fits(view: View, call: VerbCall) -> Check:
    """As large, as fast, and with the same sectors as the members that are there."""

    def check() -> None:
        if "add" not in (_todo(view, call) or NOTHING):
            return
        host, device, array = view.host, call.args["device"], _array(view, call)
        here = f"/sys/block/{array['name']}/md"
        there = [each["name"] for each in array["members"] if not disks.has_failed(each)]
        offsets = [int(text(host, f"{here}/dev-{name}/offset") or 0) for name in there]
        kib = text(host, f"{here}/component_size")
        size = int(text(host, f"/sys/class/block/{device}/size") or 0) * SECTOR
        needed = (int(kib) * 1024 if kib.isdecimal() else array["size_bytes"]) + (
            max(offsets, default=0) * SECTOR
        )
        if disks.is_array(host, disks.whole(host, device)):
            raise Refusal(
                "unsupported", f"{device} is an array itself.", "Choose a disk or a partition."
            )
        if size < needed:
            raise Refusal(
                "no_space",
                f"{device} has {size} bytes; a member of {array['name']} needs {needed}.",
                "Use a disk that is as large as the others.",
            )
        sectors = {disks.logical_sector_bytes(host, name) for name in there}
        own = disks.logical_sector_bytes(host, device)
        if sectors and sectors != {own}:
            raise Refusal(
                "unsupported",
                f"{device} has logical sectors of {own} bytes, the members of {array['name']} "
                f"have {', '.join(map(str, sorted(sectors)))}.",
                "Use a disk with the same sectors, or reformat it to them; that erases it.",
            )
        if disks.rotational(host, device) and not any(
            disks.rotational(host, name) for name in there
        ):
            raise Refusal(
                "unsupported",
                f"{device} is an HDD, and the members of {array['name']} are SSDs.",
                "Use an SSD: the array would be as slow as its slowest disk.",
            )

    return check


def _empty(view: View, call: VerbCall) -> Check:
    """Unused, and without a signature of anything."""

    def check() -> None:
        if "add" not in (_todo(view, call) or NOTHING):
            return
        unused(view, call)()
        device = call.args["device"]
        if signs := signatures(view.host, device):
            raise Refusal(
                "not_fresh",
                f"{device} already carries {', '.join(signs)}.",
                "If it holds nothing that is needed, clear it on the host: wipefs -a "
                f"/dev/{device}",
            )

    return check


def _commands(args: Args) -> tuple[Command, ...]:
    array, new = f"/dev/{args['array']}", f"/dev/{args['device']}"
    manage = ("mdadm", "--manage", array)
    add = run("add", *manage, "--add", new)
    rebuild = Command("rebuild", ("wait", array), f"mdadm --wait {array}", wait="rebuilt")
    if "member" not in args:
        return (run("clear", *manage, "--remove", "failed"), add, rebuild)
    old = f"/dev/{args['member']}"
    return (
        add,
        run("replace", *manage, "--replace", old, "--with", new),
        rebuild,
        run("remove", *manage, "--remove", old),
    )


REPLACE = Verb(
    name="array.replace",
    title="Replace a member of an array",
    arguments=arguments(
        {
            "array": names.kernel_name,
            "uuid": names.uuid,
            "device": names.kernel_name,
            "serial": names.serial,
        },
        {"member": names.kernel_name, "member_serial": names.serial},
    ),
    commands=_commands,
    identity=lambda view, call: [
        checks.vg(view, call),
        _permitted(view, call),
        meant(view, call),
        _same_member(view, call),
    ],
    todo=_todo,
    state=lambda view, call: [
        _ready(view, call),
        _fits(view, call),
        _empty(view, call),
        local(view, call),
    ],
    touches=lambda args: frozenset([array_subject(args["array"])]),
    estimate=Estimate(4, 2, LongWork.REBUILD),
    traits=(Trait.LASTING, Trait.ABORTABLE, Trait.IRREVERSIBLE),
)
