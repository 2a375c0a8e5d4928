"""volume.create and volume.tag."""

from __future__ import annotations

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands import free_space, provenance
from ..commands.command import (
    FORMAT_BCACHE,
    OURS,
    WIPE,
    ZEROING,
    Args,
    Command,
    device,
    lvcreate,
    run,
    tags,
    volume_tag,
    zero,
)
from ..facts.view import Check, View, lv_subject
from ..guests.usage_checks import unused
from ..state import bcache_by_hand
from ..state.boot_state import BootNote
from . import checks
from .verb import NOTHING, Estimate, LongWork, Takes, Trait, Verb

# What LVM writes about a volume.
TEXT_BYTES = 600


def _create_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    volume = view.find_lv(call.args["vg"], call.args["name"])
    if volume is None:
        return None
    return frozenset(("zero", "zeroed")) if ZEROING in volume["tags"] else NOTHING


def _create_state(view: View, call: VerbCall) -> list[Check]:
    volume = view.find_lv(call.args["vg"], call.args["name"])
    if volume is not None:
        # Zeroing again must not meet a guest: the tag says that none has had the volume yet.
        return [unused(view, VerbCall(call.verb, {**call.args, "lv": volume["name"]}, {}))]
    return [
        free_space.whole_extents(view, call),
        free_space.space(view, call),
        free_space.described(view, call, TEXT_BYTES),
    ]


def _create_commands(args: Args) -> tuple[Command, ...]:
    vg, name = args["vg"], args["name"]
    tags = [ZEROING, FORMAT_BCACHE] if args["layout"] == "bcache" else [ZEROING]
    return (
        lvcreate(args, WIPE, marks=tags),
        zero(device(vg, name)),
        run("zeroed", "lvchange", "--deltag", ZEROING, f"{vg}/{name}"),
    )


CREATE = Verb(
    name="volume.create",
    title="Create a volume",
    arguments=arguments(
        {
            "name": names.made("v"),
            "size_bytes": names.size_bytes,
            "pvs": names.devices,
            "volume_key": names.volume_key,
            "layout": names.choice("plain", "bcache"),
        }
    ),
    commands=_create_commands,
    identity=lambda view, call: [
        checks.vg(view, call),
        checks.vg_whole(view, call),
        checks.fresh_name(view, call),
    ],
    todo=_create_todo,
    state=_create_state,
    touches=lambda args: frozenset([lv_subject(args["vg"], args["name"])]),
    estimate=Estimate(2, 1, work=LongWork.ZERO_NEW, takes=Takes.VOLUME),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
    ),
    text_bytes=TEXT_BYTES,
    boot_note=BootNote.LINKS,
)


def _tag_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    tags = checks.volume(view, call)["tags"]
    return NOTHING if {OURS, volume_tag(call.args["volume_key"])} <= set(tags) else None


def _one_owner(view: View, call: VerbCall) -> Check:
    def check() -> None:
        volume = checks.volume(view, call)
        own_tag = volume_tag(call.args["volume_key"])
        others = [
            tag for tag in volume["tags"] if tag.startswith("tiercel.volume=") and tag != own_tag
        ]
        if others:
            raise Refusal(
                "already_exists",
                f"{volume['name']} is already tagged {others[0]}.",
                "Bind the volume that this tag names, or remove the tag: lvchange --deltag "
                f"{others[0]} {volume['vg_name']}/{volume['name']}",
                subject=checks.subject(call),
            )

    return check


def _name_of_a_volume(view: View, call: VerbCall) -> Check:
    """Names of caches, of room and of retired volumes are for what this agent makes."""

    def check() -> None:
        vg, lv = call.args["vg"], call.args["lv"]
        if provenance.is_name_of_ours(lv):
            raise Refusal(
                "unsupported",
                f"{vg}/{lv} has a name such as Tiercel gives to what is no volume in service.",
                f"Give it another name, and its guest's configuration too: lvrename {vg} {lv} "
                "NEWNAME",
                subject=lv_subject(vg, lv),
            )

    return check


def _tag_commands(args: Args) -> tuple[Command, ...]:
    marks = tags(OURS, volume_tag(args["volume_key"]))
    return (run("tag", "lvchange", *marks, f"{args['vg']}/{args['lv']}"),)


TAG = Verb(
    name="volume.tag",
    title="Put a volume under management",
    arguments=arguments(
        {"lv": names.lv_name, "volume_key": names.volume_key}, expects="lv_uuid lv_name size_bytes"
    ),
    commands=_tag_commands,
    identity=lambda view, call: [
        checks.vg(view, call),
        checks.vg_whole(view, call),
        checks.known_lv(view, call, call.args["lv"], ours=False),
        checks.not_hosts_own(view, call, call.args["lv"]),
    ],
    todo=_tag_todo,
    state=lambda view, call: [
        _name_of_a_volume(view, call),
        _one_owner(view, call),
        bcache_by_hand.is_sure(view, call.args["vg"], call.args["lv"]),
    ],
    touches=checks.touches_volume,
    estimate=Estimate(1, 1),
    traits=(Trait.SPARES_HOST,),
    boot_note=BootNote.TAGGED,
)
