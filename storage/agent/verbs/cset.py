"""cset.create and cset.remove: one bcache cache set on one SSD volume."""

from __future__ import annotations

import re
from dataclasses import replace

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands import free_space, provenance
from ..commands.command import (
    FORMAT_BCACHE,
    MADE_CSET,
    REGISTER,
    WIPE,
    Args,
    Command,
    device,
    lvcreate,
    run,
    write,
    zero,
)
from ..facts.view import LOOK_AGAIN, Check, Facts, View, cset_subject, lv_subject, space_subject
from ..guests.usage_checks import unused
from ..kernel.local_host import MissingTool, TimedOut
from ..state.boot_state import BootNote
from . import checks
from .backing import signatures
from .pool import gone
from .verb import NOTHING, Estimate, Frees, Takes, Trait, Verb

KIB = 1024
# The kernel computes roundup_pow_of_two(buckets) >> 10, which must not be 0.
LEAST_BUCKETS = 512
# What LVM writes about the volume.
TEXT_BYTES = 600

_CSET = re.compile(r"(?m)^cset\.uuid\s+([0-9a-f-]{36})\s*$")


def superblock(view: View, vg: str, lv: str) -> str | None:
    """uuid of the cache set whose superblock the volume carries; None without one."""
    command = ("bcache-super-show", device(vg, lv))
    try:
        result = view.host.run(command, timeout=10.0)
    except MissingTool:
        raise Refusal(
            "missing_tool",
            "bcache-super-show is not installed on this host.",
            "Install the package bcache-tools.",
            argv=command,
        ) from None
    except TimedOut:
        raise Refusal(
            "timeout",
            "bcache-super-show did not answer within 10 seconds.",
            TimedOut.correction,
            argv=command,
        ) from None
    match = _CSET.search(result.stdout)
    return match.group(1) if result.rc == 0 and match else None


def _create_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    args = call.args
    volume = view.find_lv(args["vg"], args["name"])
    if volume is None:
        return None
    registered = view.cset(args["cset_uuid"])
    if registered is not None and registered["lv_uuid"] == volume["uuid"]:
        return NOTHING
    written = superblock(view, args["vg"], args["name"])
    if written is None:
        return frozenset(("module", "format", "register"))
    if written == args["cset_uuid"]:
        return frozenset(("module", "register"))
    raise Refusal(
        "already_exists",
        f"{args['vg']}/{args['name']} carries another cache set, {written}.",
        "Take another name.",
        subject=lv_subject(args["vg"], args["name"]),
    )


def _buckets(view: View, call: VerbCall) -> Check:
    def check() -> None:
        bucket = call.args["bucket_kib"] * KIB
        if call.args["size_bytes"] // bucket <= LEAST_BUCKETS:
            raise Refusal(
                "unsupported",
                f"A bcache cache needs more than {LEAST_BUCKETS} buckets; this one would have "
                f"{call.args['size_bytes'] // bucket}.",
                f"Make it larger than {LEAST_BUCKETS * bucket} bytes, or the buckets smaller.",
            )

    return check


def _uuid_free(view: View, call: VerbCall) -> Check:
    def check() -> None:
        uuid = call.args["cset_uuid"]
        registered = view.cset(uuid)
        own = view.find_lv(call.args["vg"], call.args["name"])
        if registered is not None and (own is None or own["uuid"] != registered["lv_uuid"]):
            raise Refusal(
                "already_exists",
                f"A cache set {uuid} is registered already.",
                "Take another uuid.",
                subject=cset_subject(uuid),
            )

    return check


def _create_state(view: View, call: VerbCall) -> list[Check]:
    sized = [free_space.whole_extents(view, call), _buckets(view, call)]
    if view.find_lv(call.args["vg"], call.args["name"]) is None:
        return [*sized, free_space.space(view, call), free_space.described(view, call, TEXT_BYTES)]
    resumed = VerbCall(call.verb, {**call.args, "lv": call.args["name"]}, {})
    return [*sized, unused(view, resumed)]


def _create_commands(args: Args) -> tuple[Command, ...]:
    vg, name = args["vg"], args["name"]
    return (
        lvcreate(args, WIPE, marks=[MADE_CSET]),
        run("module", "modprobe", "bcache"),
        run(
            "format",
            "make-bcache",
            "--cset-uuid",
            args["cset_uuid"],
            "--bucket",
            f"{args['bucket_kib']}k",
            "-C",
            device(vg, name),
        ),
        replace(write("register", REGISTER, device(vg, name), wait="cset_registered"), noted=True),
    )


CREATE = Verb(
    name="cset.create",
    title="Create the cache device of a bcache volume",
    arguments=arguments(
        {
            "name": names.made("s"),
            "size_bytes": names.size_bytes,
            "pvs": names.devices,
            "cset_uuid": names.uuid,
            "bucket_kib": names.bucket_kib,
            "volume_key": names.volume_key,
        }
    ),
    commands=_create_commands,
    identity=lambda view, call: [
        checks.vg(view, call),
        checks.vg_whole(view, call),
        checks.fresh_name(view, call, MADE_CSET),
        _uuid_free(view, call),
    ],
    todo=_create_todo,
    state=_create_state,
    touches=lambda args: frozenset(
        [lv_subject(args["vg"], args["name"]), cset_subject(args["cset_uuid"])]
    ),
    provides=lambda args: {cset_subject(args["cset_uuid"]): args["pvs"]},
    estimate=Estimate(3, 1, takes=Takes.CSET),
    traits=(Trait.SPARES_HOST,),
    text_bytes=TEXT_BYTES,
    mark=MADE_CSET,
    boot_note=BootNote.CSET_MADE,
)


def _remove_identity(view: View, call: VerbCall) -> list[Check]:
    name = call.args["name"]
    to_check = [checks.vg(view, call), checks.vg_whole(view, call)]
    if gone(view, call, name):
        return to_check
    to_check.append(checks.known_lv(view, call, name))
    to_check.append(provenance.made(view, call.args["vg"], name, MADE_CSET))
    if "cset_uuid" in call.args:
        to_check.append(_right_cset(view, call))
    if _is_registered(view, call):
        return to_check
    beside = VerbCall(call.verb, {**call.args, "lv": name}, {})
    return [*to_check, checks.active_lv(view, beside), _unregistered(view, call)]


def _is_registered(view: View, call: VerbCall) -> bool:
    """Whether the kernel has the cache set that the request names."""
    return "cset_uuid" in call.args and view.cset(call.args["cset_uuid"]) is not None


def _lv(view: View, call: VerbCall) -> Facts:
    return view.lv(call.args["vg"], call.args["name"])


def _right_cset(view: View, call: VerbCall) -> Check:
    """The volume carries this cache set, registered or not, or none (wiped by an earlier try)."""

    def check() -> None:
        uuid, volume = call.args["cset_uuid"], _lv(view, call)
        registered = view.cset(uuid)
        if registered is not None:
            right = registered["lv_uuid"] == volume["uuid"]
        else:
            right = superblock(view, volume["vg_name"], volume["name"]) in (None, uuid)
        if not right:
            raise Refusal(
                "stale",
                f"The cache set {uuid} is not on {volume['vg_name']}/{volume['name']}.",
                LOOK_AGAIN,
                subject=cset_subject(uuid),
            )

    return check


def _unregistered(view: View, call: VerbCall) -> Check:
    """The cache set is not registered, or the call names none: none is at work on the volume, and
    there is nothing on it but the superblock of one, or what wiping that left."""

    def check() -> None:
        volume = _lv(view, call)
        vg, name = volume["vg_name"], volume["name"]
        written = superblock(view, vg, name)
        for cset in view.facts["csets"]:
            if cset["lv_uuid"] == volume["uuid"] or cset["uuid"] == written:
                raise Refusal(
                    "stale",
                    f"The cache set {cset['uuid']} on {vg}/{name} is registered.",
                    LOOK_AGAIN,
                    subject=lv_subject(vg, name),
                )
        expected = ["bcache"] if written is not None else []
        types = signatures(view, vg, name)
        if types != expected:
            raise Refusal(
                "not_ours",
                f"{vg}/{name} is not simply the device of a cache set: wipefs finds "
                f"{', '.join(types) or 'nothing'} on it, bcache-super-show "
                f"{'a cache set' if expected else 'none'}.",
                f"Look at it on the host (wipefs -n /dev/{vg}/{name}); nothing was changed.",
                subject=lv_subject(vg, name),
            )

    return check


def _remove_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    if gone(view, call, call.args["name"]):
        return NOTHING
    names_left = {"wipe", "remove", *_cleared(view)}
    return frozenset(names_left | {"unregister"} if _is_registered(view, call) else names_left)


def _cleared(view: View) -> frozenset[str]:
    """Zeros over all that was cached, where root has not said otherwise."""
    return frozenset(("zero",)) if view.policy.clear_freed else NOTHING


def _without_backing(view: View, call: VerbCall) -> Check:
    """`unregister` of a used cache set would detach every volume at once."""

    def check() -> None:
        registered = view.cset(call.args["cset_uuid"]) if "cset_uuid" in call.args else None
        if registered is not None and registered["backing_count"]:
            raise Refusal(
                "in_use",
                f"Volumes that use the cache set: {registered['backing_count']}.",
                "Detach them first (bcache.detach).",
                subject=cset_subject(registered["uuid"]),
            )

    return check


def _volume_let_go(view: View, call: VerbCall) -> Check:
    """The cache set may hold the only copy of a volume's data while neither is registered (after
    a reboot, or a stop by hand): the volume it was made for has to be seen without it. A set that
    the call does not name may be any volume's that waits for one."""

    def check() -> None:
        device_lv, named = _lv(view, call), "cset_uuid" in call.args
        uuid = call.args["cset_uuid"] if named else _written(view, device_lv)
        keys = {tag for tag in device_lv["tags"] if tag.startswith("tiercel.volume=")}
        for lv in view.facts["lvs"]:
            beside = lv["vg_uuid"] == device_lv["vg_uuid"] and "public" in lv["role"]
            if beside and keys & set(lv["tags"]) and MADE_CSET not in lv["tags"]:
                needs = _needs(view, lv, uuid)
            else:
                needs = not named and _waits_for(view, lv, uuid)
            if not needs:
                continue
            name = f"{lv['vg_name']}/{lv['name']}"
            raise Refusal(
                "dirty",
                f"Whether {name} still needs the cache set {uuid or 'that was there'} cannot be "
                "seen: it is not running as a bcache device without it.",
                f"Activate and register both: echo /dev/{name} > {REGISTER}, and "
                f"echo /dev/{device_lv['vg_name']}/{device_lv['name']} > {REGISTER}. "
                "Then detach the cache (bcache.detach) and try again.",
                subject=lv_subject(lv["vg_name"], lv["name"]),
            )

    return check


def _written(view: View, lv: Facts) -> str | None:
    return superblock(view, lv["vg_name"], lv["name"])


def _needs(view: View, lv: Facts, uuid: str | None) -> bool:
    if FORMAT_BCACHE in lv["tags"]:
        return False
    if lv["bcache"] is None:
        return not lv["active"] or _written(view, lv) == uuid
    return lv["bcache"]["state"] != "no cache" and lv["bcache"]["cset_uuid"] in (None, uuid)


def _waits_for(view: View, lv: Facts, uuid: str | None) -> bool:
    """Whether another volume waits for this very cache set, as far as can be seen."""
    backing = lv["bcache"]
    if uuid is None or backing is None or backing["state"] == "no cache":
        return False
    if backing["cset_uuid"] is not None:
        return bool(backing["cset_uuid"] == uuid)
    return _written(view, lv) in (None, uuid)


def _remove_state(view: View, call: VerbCall) -> list[Check]:
    to_check = [_without_backing(view, call), _volume_let_go(view, call)]
    if _is_registered(view, call):
        return to_check
    beside = VerbCall(call.verb, {**call.args, "lv": call.args["name"]}, {})
    return [unused(view, beside), *to_check]


def _remove_touches(args: Args) -> frozenset[str]:
    subjects = {lv_subject(args["vg"], args["name"]), space_subject(args["vg"])}
    if "cset_uuid" in args:
        subjects.add(cset_subject(args["cset_uuid"]))
    return frozenset(subjects)


def _remove_commands(args: Args) -> tuple[Command, ...]:
    vg, name = args["vg"], args["name"]
    rest = (
        run("wipe", "wipefs", "-a", "-t", "bcache", device(vg, name)),
        zero(device(vg, name)),
        run("remove", "lvremove", "-y", f"{vg}/{name}"),
    )
    if args.get("cset_uuid") is None:
        return rest
    unregister = f"/sys/fs/bcache/{args['cset_uuid']}/unregister"
    return (write("unregister", unregister, "1", wait="cset_gone"), *rest)


REMOVE = Verb(
    name="cset.remove",
    title="Remove the cache device of a bcache volume",
    arguments=arguments({"name": names.made("s")}, {"cset_uuid": names.uuid}, expects="lv_uuid"),
    commands=_remove_commands,
    identity=_remove_identity,
    todo=_remove_todo,
    state=_remove_state,
    touches=_remove_touches,
    estimate=Estimate(2, 1, frees=Frees.NAMED),
    traits=(Trait.LASTING,),
    boot_note=BootNote.GONE,
)
