"""volume.extend, guest.resize, volume.move and move.abort as commands. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Callable

from . import vacated_extents
from .command import (
    BY_MIRROR,
    MADE_ROOM,
    MOVING,
    OURS,
    WIPE,
    ZEROING,
    Args,
    Command,
    device,
    run,
    tags,
    volume_tag,
    zero,
)

# On a volume that is larger than its guest was told, with the size that the guest knows. Without a
# size an older agent wrote it.
GROWN = "tiercel.grown"
# LVM would discard what it removes, and a disk may give back anything for discarded blocks.
KEEP_ZEROS = ("--config", "devices/issue_discards=0")
# At each look LVM reads the metadata of every disk, also beside guests that are to feel nothing.
POLL_SECONDS = "10"
# The kernel copies a region at a time, 512 KiB a request: one request is in a guest's way then.
ONE_REQUEST = ("--config", "activation/mirror_region_size=512 activation/raid_region_size=512")
VIRSH = ("virsh", "-q", "-c", "qemu:///system")


def room_name(args: Args) -> str:
    """The LV that holds the room for a volume to grow into, while that is zeroed."""
    return f"x-{args['volume_key']}"


def grown_tag(from_bytes: int | None) -> str:
    return GROWN if from_bytes is None else f"{GROWN}={from_bytes}"


def is_grown(tags: Iterable[str]) -> bool:
    """Whether a guest may not know yet how large its volume is."""
    return any(tag == GROWN or tag.startswith(f"{GROWN}=") for tag in tags)


def extents_of(vg: str, lv: str) -> str:
    """One word for the physical extents of an LV: which they are, is known when it runs."""
    return f"<extents of {vg}/{lv}>"


def volume_extend(args: Args) -> tuple[Command, ...]:
    """The room is zeroed as a volume of its own, so that no guest can read or write it before;
    then the volume grows onto exactly its extents. Without growth only left room is removed."""
    vg, room = args["vg"], room_name(args)
    name, held = f"{vg}/{args['lv']}", f"{vg}/{room}"
    more = args["size_bytes"] - args["from_bytes"]
    if more <= 0:
        return (run("remove", "lvremove", "-y", held),)
    tagged = tags(OURS, volume_tag(args["volume_key"]), MADE_ROOM, ZEROING)
    give = ("lvremove", "-y", *KEEP_ZEROS, held)
    extend = ("lvextend", "-L", f"{args['size_bytes']}b", name, extents_of(vg, room))
    return (
        run(
            "reserve",
            *("lvcreate", "-y", *WIPE, "-n", room, "-L", f"{more}b", *tagged, vg),
            *(f"/dev/{pv}" for pv in args["pvs"]),
        ),
        zero(device(vg, room), watch="room_zeroed"),
        run("zeroed", "lvchange", "--deltag", ZEROING, held),
        run("mark", "lvchange", "--addtag", grown_tag(args["from_bytes"]), name),
        Command("give", give, shlex.join(give), gives=room),
        Command("extend", extend, " ".join(extend)),
    )


def guest_resize(args: Args) -> tuple[Command, ...]:
    """Tell every guest that holds the volume; one that is off sees the size at its next start. They
    may keep whoever tells them waiting: meanwhile others may have the volume group."""
    name, size = f"{args['vg']}/{args['lv']}", args["size_bytes"]
    commands = [
        run(f"tell {disk['uuid']} {disk['path']}", *blockresize(disk, size), locked=False)
        for disk in args.get("domains", ())
    ]
    if "guests" in args:
        shell = f"QMP of {', '.join(args['guests'])}: block_resize {name} to {size} bytes"
        words = ("qmp", "block_resize", name, str(size))
        commands.append(Command("tell", words, shell, locked=False))
    told = run("told", "lvchange", "--deltag", grown_tag(args.get("from_bytes")), name)
    return (*commands, told)


def blockresize(disk: Mapping[str, str], size_bytes: int) -> tuple[str, ...]:
    return (*VIRSH, "blockresize", disk["uuid"], disk["path"], f"{size_bytes}B")


def volume_move(args: Args) -> tuple[Command, ...]:
    """One pvmove for each PV the volume is to leave, of its extents only. All of them move or,
    where it is aborted, none (`--atomic`). The mark tells it from a pvmove by hand."""
    name = f"{args['vg']}/{args['lv']}"
    to = [f"/dev/{pv}" for pv in args["to_pvs"]]
    words = ("pvmove", *ONE_REQUEST, "-i", POLL_SECONDS, "--atomic", "-n", name)
    return (
        vacated_extents.note(args["vg"], args["lv"], (args["lv"],), args["from_pvs"]),
        run("mark", "lvchange", "--addtag", MOVING, name),
        *(
            replace(
                run(move_name(pv), *words, f"/dev/{pv}", *to, watch="moved", locked=False),
                pace=BY_MIRROR,
            )
            for pv in args["from_pvs"]
        ),
        run("unmark", "lvchange", "--deltag", MOVING, name),
    )


def move_name(pv: str) -> str:
    return f"move {pv}"


def move_abort(args: Args) -> tuple[Command, ...]:
    return (
        run("abort", "pvmove", "--abort", f"/dev/{args['pv']}"),
        run("unmark", "lvchange", "--deltag", MOVING, f"{args['vg']}/{args['lv']}"),
    )


BUILDERS: Mapping[str, Callable[[Args], tuple[Command, ...]]] = {
    "volume.extend": volume_extend,
    "guest.resize": guest_resize,
    "volume.move": volume_move,
    "volume.clear": vacated_extents.volume_clear,
    "move.abort": move_abort,
}
