"""volume.extend and guest.resize: extend a volume, then inform its guest."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands import extents, free_space
from ..commands.command import (
    FORMAT_BCACHE,
    MADE_ROOM,
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
from ..facts import program_versions
from ..facts.view import LOOK_AGAIN, Check, Facts, View, lv_subject
from ..guests.usage_checks import unused
from ..guests.users import of_devices
from ..guests.virsh import blockresize
from ..state.boot_state import BootNote
from . import checks
from .verb import NOTHING, Estimate, LongWork, Takes, Trait, Verb

# What LVM writes about the room and about the volume's new segments.
TEXT_BYTES = 1000
# On a volume that is larger than its guest knows, with the size that the guest knows. Without a
# size an older agent wrote it.
GROWN = "tiercel.grown"
# LVM would discard what it removes, and a disk may give back anything for discarded blocks.
KEEP_ZEROS = ("--config", "devices/issue_discards=0")
GIVE = frozenset(("mark", "give", "extend"))
ALL = GIVE | {"reserve", "zero", "zeroed"}


def room_name(args: Args) -> str:
    """The LV that holds the room for a volume to grow into, while that is zeroed."""
    return f"x-{args['volume_key']}"


def grown_tag(from_bytes: int | None) -> str:
    return GROWN if from_bytes is None else f"{GROWN}={from_bytes}"


def is_grown(tags: Iterable[str]) -> bool:
    """Whether a guest may not know yet how large its volume is."""
    return any(tag == GROWN or tag.startswith(f"{GROWN}=") for tag in tags)


def _identity(view: View, call: VerbCall) -> list[Check]:
    return [
        *checks.usable_volume(view, call),
        checks.not_hosts_own(view, call, call.args["lv"]),
        _room_is_ours(view, call),
    ]


def _room(view: View, call: VerbCall) -> Facts | None:
    return view.find_lv(call.args["vg"], room_name(call.args))


def _room_is_ours(view: View, call: VerbCall) -> Check:
    """What an earlier try left, and nothing else: it will be zeroed and removed."""

    def check() -> None:
        room = _room(view, call)
        if room is None:
            return
        tags = {OURS, MADE_ROOM, volume_tag(call.args["volume_key"])}
        more = call.args["size_bytes"] - call.args["from_bytes"]
        if not tags <= set(room["tags"]) or (more > 0 and room["size_bytes"] != more):
            raise Refusal(
                "already_exists",
                f"{room['vg_name']}/{room['name']} exists and is not the requested room.",
                "Plan again. If it remains, look at what is on it and rename it; if it is room "
                "that a Tiercel before version 0.3 left, root runs: lvchange --addtag "
                f"{MADE_ROOM} {room['vg_name']}/{room['name']}",
                subject=lv_subject(call.args["vg"], room["name"]),
            )

    return check


def _extend_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    volume, room = checks.volume(view, call), _room(view, call)
    if call.args["size_bytes"] <= call.args["from_bytes"]:
        return NOTHING if room is None else frozenset(("remove",))
    if volume["size_bytes"] >= call.args["size_bytes"]:
        return NOTHING
    names = ALL
    if room is not None:
        names = ALL - {"reserve"} if ZEROING in room["tags"] else GIVE
    # A guest that was not informed yet knows the size before the first of several extensions.
    return names - {"mark"} if is_grown(volume["tags"]) else names


def _extend_state(view: View, call: VerbCall) -> list[Check]:
    room = _room(view, call)
    if room is not None:
        to_check = [unused(view, VerbCall(call.verb, {**call.args, "lv": room["name"]}, {}))]
        if call.args["size_bytes"] <= call.args["from_bytes"]:
            return to_check
        return [_lvm_can(view, call), _grows(view, call), _follows(view, call), *to_check]
    more = call.args["size_bytes"] - call.args["from_bytes"]
    needed = VerbCall(call.verb, {**call.args, "size_bytes": more}, {})
    return [
        _lvm_can(view, call),
        _grows(view, call),
        _follows(view, call),
        free_space.whole_extents(view, call),
        free_space.space(view, needed),
        free_space.described(view, call, TEXT_BYTES),
    ]


def _lvm_can(view: View, call: VerbCall) -> Check:
    """Before anything is zeroed: an older LVM extends no volume with a cache."""

    def check() -> None:
        if checks.volume(view, call)["cache"] is None:
            return
        lack = program_versions.missing_feature(
            "extend_cached", program_versions.read_version(view.host, "lvm")
        )
        if lack is not None:
            raise Refusal(
                "unsupported",
                lack,
                "Remove the cache, extend the volume, and add the cache again; or upgrade LVM.",
            )

    return check


def _grows(view: View, call: VerbCall) -> Check:
    """A plain or cached volume of the size that was meant."""

    def check() -> None:
        volume = checks.volume(view, call)
        name = f"{volume['vg_name']}/{volume['name']}"
        subject = lv_subject(volume["vg_name"], volume["name"])
        checks.moves_freely(view, volume)
        if volume["size_bytes"] != call.args["from_bytes"]:
            raise Refusal(
                "stale",
                f"{name} has {volume['size_bytes']} bytes, not {call.args['from_bytes']}.",
                LOOK_AGAIN,
                subject=subject,
            )
        if volume["bcache"] is not None or FORMAT_BCACHE in volume["tags"]:
            raise Refusal(
                "needs_guest_off",
                f"{name} is a bcache volume: its device keeps its size as long as it is there.",
                "Stop the guest and the bcache device first, then extend and register it anew.",
                subject=subject,
            )

    return check


def _follows(view: View, call: VerbCall) -> Check:
    """Before anything is zeroed: LVM may add extents of the named PVs to the volume, wherever they
    are there."""

    def check() -> None:
        volume = checks.volume(view, call)
        name, policy = f"{volume['vg_name']}/{volume['name']}", free_space.policy_of(view, volume)
        last = volume["segments"][-1]["pvs"] if volume["segments"] else []
        clings = policy.startswith("cling") and not set(call.args["pvs"]) <= set(last)
        if not clings and policy != free_space.CONTIGUOUS:
            return
        own = volume["allocation"] not in ("", "inherit")
        cure = ("lvchange", name) if own else ("vgchange", volume["vg_name"])
        where = f"on {', '.join(last)}" if clings else "right behind its last extent"
        raise Refusal(
            "unsupported",
            f"The allocation policy of {name} is {policy}: it may grow only {where}.",
            f"As root on the host let it grow elsewhere: {cure[0]} --alloc normal {cure[1]}",
            subject=checks.subject(call),
        )

    return check


def _extend_commands(args: Args) -> tuple[Command, ...]:
    """The room is zeroed as a volume of its own, so that no guest can read or write it before;
    then the volume grows onto exactly its extents. Without growth only left room is removed."""
    vg, room = args["vg"], room_name(args)
    name, held_lv = f"{vg}/{args['lv']}", f"{vg}/{room}"
    more = args["size_bytes"] - args["from_bytes"]
    if more <= 0:
        return (run("remove", "lvremove", "-y", held_lv),)
    tagged = tags(OURS, volume_tag(args["volume_key"]), MADE_ROOM, ZEROING)
    give = ("lvremove", "-y", *KEEP_ZEROS, held_lv)
    extend = ("lvextend", "-L", f"{args['size_bytes']}b", name, extents.word_for(vg, room))
    return (
        run(
            "reserve",
            "lvcreate",
            "-y",
            *WIPE,
            "-n",
            room,
            "-L",
            f"{more}b",
            *tagged,
            vg,
            *(f"/dev/{pv}" for pv in args["pvs"]),
        ),
        zero(device(vg, room), watch="room_zeroed"),
        run("zeroed", "lvchange", "--deltag", ZEROING, held_lv),
        run("mark", "lvchange", "--addtag", grown_tag(args["from_bytes"]), name),
        Command("give", give, shlex.join(give), gives=room),
        Command("extend", extend, " ".join(extend)),
    )


EXTEND = Verb(
    name="volume.extend",
    title="Extend a volume",
    arguments=arguments(
        {
            "lv": names.lv_name,
            "from_bytes": names.size_bytes,
            "size_bytes": names.size_bytes,
            "pvs": names.devices,
            "volume_key": names.volume_key,
        },
        expects="lv_uuid",
    ),
    commands=_extend_commands,
    identity=_identity,
    todo=_extend_todo,
    state=_extend_state,
    touches=lambda args: frozenset(
        (lv_subject(args["vg"], args["lv"]), lv_subject(args["vg"], room_name(args)))
    ),
    estimate=Estimate(3, 1, work=LongWork.ZERO_GROWTH, takes=Takes.VOLUME),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
        Trait.IRREVERSIBLE,
        Trait.NEEDS_PLACE,
        Trait.SPARES_HOST,
    ),
    text_bytes=TEXT_BYTES,
    mark=MADE_ROOM,
    boot_note=BootNote.LINKS,
)


def _resize_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    is_marked = grown_tag(call.args.get("from_bytes")) in checks.volume(view, call)["tags"]
    return None if is_marked else NOTHING


def _resize_state(view: View, call: VerbCall) -> list[Check]:
    def check() -> None:
        volume = checks.volume(view, call)
        if volume["size_bytes"] != call.args["size_bytes"] or volume["bcache"] is not None:
            raise Refusal(
                "stale",
                f"{volume['name']} has {volume['size_bytes']} bytes, not "
                f"{call.args['size_bytes']}, or is a bcache volume now.",
                LOOK_AGAIN,
                subject=checks.subject(call),
            )

    return [check, _from_a_size(call), _their_disks(view, call)]


def _from_a_size(call: VerbCall) -> Check:
    """No guest is informed without the size known to guests so far, to compare theirs with."""

    def check() -> None:
        if "from_bytes" not in call.args and {"guests", "domains"} & call.args.keys():
            raise Refusal(
                "bad_request",
                "guest.resize needs from_bytes where it names guests or domains.",
                LOOK_AGAIN,
            )

    return check


def _their_disks(view: View, call: VerbCall) -> Check:
    """Each disk that libvirt is to resize is this volume, raw, of a domain that runs: of any
    other, an image could be cut."""

    def check() -> None:
        domains = call.args.get("domains", ())
        dev = checks.volume(view, call)["dev"] if domains else None
        users = of_devices(view.host, [dev])[dev] if dev else []
        known = [
            (user["domain"], user["path"])
            for user in users
            if user["kind"] == "libvirt" and user["pid"] is not None and user["format"] == "raw"
        ]
        for disk in domains:
            if (disk["uuid"], disk["path"]) not in known:
                raise Refusal(
                    "stale",
                    f"{disk['path']} is not a raw disk of the running domain {disk['uuid']} on "
                    f"{call.args['lv']}.",
                    LOOK_AGAIN,
                    subject=checks.subject(call),
                )

    return check


def _resize_commands(args: Args) -> tuple[Command, ...]:
    """Inform every guest that holds the volume; one that is off sees the size at its next start. A
    guest may keep the command waiting: meanwhile others may have the volume group."""
    name, size = f"{args['vg']}/{args['lv']}", args["size_bytes"]
    commands = [
        run(f"tell {disk['uuid']} {disk['path']}", *blockresize(disk, size), locked=False)
        for disk in args.get("domains", ())
    ]
    if "guests" in args:
        shell = f"QMP of {', '.join(args['guests'])}: block_resize {name} to {size} bytes"
        words = ("qmp", "block_resize", name, str(size))
        commands.append(Command("tell", words, shell, locked=False))
    unmark = run("told", "lvchange", "--deltag", grown_tag(args.get("from_bytes")), name)
    return (*commands, unmark)


RESIZE = Verb(
    name="guest.resize",
    title="Tell guests the new size of their volume",
    arguments=arguments(
        {"lv": names.lv_name, "size_bytes": names.size_bytes},
        {
            "from_bytes": names.size_bytes,
            "guests": names.guests,
            "domains": names.domains,
        },
        expects="lv_uuid",
    ),
    commands=_resize_commands,
    identity=checks.usable_volume,
    todo=_resize_todo,
    state=_resize_state,
    touches=checks.touches_volume,
    estimate=Estimate(1, 0),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
    ),
)
