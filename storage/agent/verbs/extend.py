"""volume.extend and guest.resize: a volume grows, then its guest is told."""

from __future__ import annotations

from ..calls.refusals import Refusal
from ..commands import free_space
from ..commands.command import FORMAT_BCACHE, MADE_ROOM, OURS, ZEROING, Args, volume_tag
from ..commands.extension import grown_tag, is_grown, room_name
from ..facts import program_versions
from ..facts.view import LOOK_AGAIN, Check, Facts, View, lv_subject
from ..guests.usage_checks import unused
from ..guests.users import of_devices
from ..wire.protocol import VerbCall
from . import checks
from .verb import NOTHING, Verb

GIVE = frozenset(("mark", "give", "extend"))
ALL = GIVE | {"reserve", "zero", "zeroed"}


def _identity(view: View, call: VerbCall) -> list[Check]:
    return [
        checks.vg(view, call),
        checks.vg_whole(view, call),
        checks.known_lv(view, call, call.args["lv"]),
        checks.active_lv(view, call),
        checks.not_hosts_own(view, call, call.args["lv"]),
        _room_is_ours(view, call),
    ]


def _lv(view: View, call: VerbCall) -> Facts:
    return view.lv(call.args["vg"], call.args["lv"])


def _room(view: View, call: VerbCall) -> Facts | None:
    return view.find_lv(call.args["vg"], room_name(call.args))


def _room_is_ours(view: View, call: VerbCall) -> Check:
    """What an earlier try left, and nothing else: it will be zeroed and removed."""

    def check() -> None:
        found = _room(view, call)
        if found is None:
            return
        tags = {OURS, MADE_ROOM, volume_tag(call.args["volume_key"])}
        more = call.args["size_bytes"] - call.args["from_bytes"]
        if not tags <= set(found["tags"]) or (more > 0 and found["size_bytes"] != more):
            raise Refusal(
                "already_exists",
                f"{found['vg_name']}/{found['name']} exists and is not the room asked for.",
                "Plan again. If it stays, look at what is on it and rename it; if it is room that "
                "a "
                "Tiercel before version 0.3 left, root runs: lvchange --addtag "
                f"{MADE_ROOM} {found['vg_name']}/{found['name']}",
                subject=lv_subject(call.args["vg"], found["name"]),
            )

    return check


def _extend_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    found, left = _lv(view, call), _room(view, call)
    if call.args["size_bytes"] <= call.args["from_bytes"]:
        return NOTHING if left is None else frozenset(("remove",))
    if found["size_bytes"] >= call.args["size_bytes"]:
        return NOTHING
    names = ALL
    if left is not None:
        names = ALL - {"reserve"} if ZEROING in left["tags"] else GIVE
    # A guest that was not told yet knows the size before the first of several extensions.
    return names - {"mark"} if is_grown(found["tags"]) else names


def _extend_state(view: View, call: VerbCall) -> list[Check]:
    left = _room(view, call)
    if left is not None:
        found = [unused(view, VerbCall(call.verb, {**call.args, "lv": left["name"]}, {}))]
        if call.args["size_bytes"] <= call.args["from_bytes"]:
            return found
        return [_lvm_can(view, call), _grows(view, call), *found]
    more = call.args["size_bytes"] - call.args["from_bytes"]
    needed = VerbCall(call.verb, {**call.args, "size_bytes": more}, {})
    return [
        _lvm_can(view, call),
        _grows(view, call),
        free_space.whole_extents(view, call),
        free_space.space(view, needed),
        free_space.described(view, call),
    ]


def _lvm_can(view: View, call: VerbCall) -> Check:
    """Before anything is zeroed: an older LVM extends no volume with a cache."""

    def check() -> None:
        if _lv(view, call)["cache"] is None:
            return
        lack = program_versions.missing_feature(
            "extend_cached", program_versions.read(view.host, "lvm")
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
        found = _lv(view, call)
        name = f"{found['vg_name']}/{found['name']}"
        subject = lv_subject(found["vg_name"], found["name"])
        checks.moves_freely(view, found)
        if found["size_bytes"] != call.args["from_bytes"]:
            raise Refusal(
                "stale",
                f"{name} has {found['size_bytes']} bytes, not {call.args['from_bytes']}.",
                LOOK_AGAIN,
                subject=subject,
            )
        if found["bcache"] is not None or FORMAT_BCACHE in found["tags"]:
            raise Refusal(
                "needs_guest_off",
                f"{name} is a bcache volume: its device keeps its size as long as it is there.",
                "Stop the guest and the bcache device first, then extend and register it anew.",
                subject=subject,
            )

    return check


EXTEND = Verb(
    identity=_identity,
    todo=_extend_todo,
    state=_extend_state,
    touches=lambda args: frozenset(
        (lv_subject(args["vg"], args["lv"]), lv_subject(args["vg"], room_name(args)))
    ),
)


def _resize_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    is_marked = grown_tag(call.args.get("from_bytes")) in _lv(view, call)["tags"]
    return None if is_marked else NOTHING


def _resize_state(view: View, call: VerbCall) -> list[Check]:
    def check() -> None:
        found = _lv(view, call)
        if found["size_bytes"] != call.args["size_bytes"] or found["bcache"] is not None:
            raise Refusal(
                "stale",
                f"{found['name']} has {found['size_bytes']} bytes, not "
                f"{call.args['size_bytes']}, or is a bcache volume now.",
                LOOK_AGAIN,
                subject=lv_subject(call.args["vg"], call.args["lv"]),
            )

    return [check, _from_a_size(call), _their_disks(view, call)]


def _from_a_size(call: VerbCall) -> Check:
    """Nobody is told without the size that guests have seen so far: theirs is compared with it."""

    def check() -> None:
        if "from_bytes" not in call.args and {"guests", "domains"} & call.args.keys():
            raise Refusal(
                "bad_request",
                "guest.resize needs from_bytes where guests or domains are to be told.",
                LOOK_AGAIN,
            )

    return check


def _their_disks(view: View, call: VerbCall) -> Check:
    """Each disk that libvirt is told about is this volume, raw, of a domain that runs: of any
    other, an image could be cut."""

    def check() -> None:
        domains = call.args.get("domains", ())
        dev = _lv(view, call)["dev"] if domains else None
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
                    subject=lv_subject(call.args["vg"], call.args["lv"]),
                )

    return check


def _resize_touches(args: Args) -> frozenset[str]:
    return frozenset([lv_subject(args["vg"], args["lv"])])


RESIZE = Verb(
    identity=lambda view, call: [
        checks.vg(view, call),
        checks.vg_whole(view, call),
        checks.known_lv(view, call, call.args["lv"]),
        checks.active_lv(view, call),
    ],
    todo=_resize_todo,
    state=_resize_state,
    touches=_resize_touches,
)
