"""volume.move and move.abort: the extents of one volume go to other PVs, and back."""

from __future__ import annotations

from dataclasses import replace

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands import vacated_extents
from ..commands.command import BY_MIRROR, FORMAT_BCACHE, MOVING, ZEROING, Args, Command, run
from ..commands.free_space import in_one_piece
from ..facts.view import LOOK_AGAIN, Check, View, lv_subject, space_subject
from ..state.boot_state import BootNote
from . import checks
from .clear import noted
from .verb import NOTHING, Estimate, LongWork, Takes, Trait, Verb

MIB = 1 << 20
# At each look LVM reads the metadata of every disk, also beside guests that are to feel nothing.
POLL_SECONDS = "10"
# The kernel copies a region at a time, 512 KiB a request: one request is in a guest's way then.
ONE_REQUEST = ("--config", "activation/mirror_region_size=512 activation/raid_region_size=512")


def _identity(view: View, call: VerbCall) -> list[Check]:
    return [
        *checks.usable_volume(view, call),
        checks.not_hosts_own(view, call, call.args["lv"]),
    ]


def _todo(view: View, call: VerbCall) -> frozenset[str] | None:
    lv = checks.volume(view, call)
    names_left = {move_name(pv) for pv in _left(view, call)}
    if names_left and MOVING not in lv["tags"]:
        names_left |= {"mark", *noted(view, call)}
    return frozenset(names_left | {"unmark"}) if names_left or MOVING in lv["tags"] else NOTHING


def _left(view: View, call: VerbCall) -> list[str]:
    """The PVs that the volume still has to leave."""
    under = view.pvs_under(checks.volume(view, call))
    return [pv for pv in call.args["from_pvs"] if pv in under]


def _movable(view: View, call: VerbCall) -> Check:
    def check() -> None:
        volume = checks.volume(view, call)
        subject = checks.subject(call)
        if volume["layout"] == ["cache"]:
            raise Refusal(
                "unsupported",
                f"{volume['name']} has a cache.",
                "Detach the cache first (cache.detach), then move the volume.",
                subject=subject,
            )
        checks.left_alone(volume)
        if volume["work"] is None:
            checks.moves_freely(view, volume)
        if ZEROING in volume["tags"] or FORMAT_BCACHE in volume["tags"]:
            raise Refusal(
                "not_fresh",
                f"{volume['name']} is not finished yet.",
                "Finish its creation first.",
                subject=subject,
            )

    return check


def _places(view: View, call: VerbCall) -> Check:
    """Both sides are PVs of the VG, apart from each other, with the same sectors; no pvmove of
    another volume is at work on a source, because pvmove would join that one instead."""

    def check() -> None:
        vg, args = call.args["vg"], call.args
        source, target = view.pvs(vg, args["from_pvs"]), view.pvs(vg, args["to_pvs"])
        both = set(args["from_pvs"]) & set(args["to_pvs"])
        if both:
            raise Refusal("bad_request", f"{min(both)} is on both sides.", LOOK_AGAIN)
        if len({pv["logical_sector_bytes"] for pv in [*source, *target]}) > 1:
            raise Refusal(
                "unsupported",
                "The devices have different logical sector sizes: file systems inside the volume "
                "would no longer fit.",
                "Move it to a device with the same logical sector size.",
            )
        if checks.volume(view, call)["work"] is not None:
            return
        for lv in view.facts["lvs"]:
            under = set(view.pvs_under(lv)) & set(_left(view, call))
            same_vg = lv["vg_uuid"] == view.vg(vg)["uuid"]
            if same_vg and lv["name"].startswith("pvmove") and under:
                raise Refusal(
                    "occupied",
                    f"Another volume is being moved away from {', '.join(sorted(under))}.",
                    "Wait until that move ends; then try again.",
                )

    return check


def _fits(view: View, call: VerbCall) -> Check:
    def check() -> None:
        volume = checks.volume(view, call)
        if volume["work"] is not None:
            return
        source = set(call.args["from_pvs"])
        sizes = [
            segment["size_bytes"] for segment in volume["segments"] if source & set(segment["pvs"])
        ]
        needed = sum(sizes)
        free = sum(pv["free_bytes"] for pv in view.pvs(call.args["vg"], call.args["to_pvs"]))
        if free < needed:
            raise Refusal(
                "no_space",
                f"{needed / MIB:.0f} MiB are needed on {', '.join(call.args['to_pvs'])}, "
                f"{free / MIB:.0f} MiB are free.",
                "Free space there, or add a device to the VG.",
                subject=space_subject(call.args["vg"]),
            )
        in_one_piece(view, call.args["vg"], call.args["to_pvs"], max(sizes, default=0))

    return check


def _touches(args: Args) -> frozenset[str]:
    return frozenset((lv_subject(args["vg"], args["lv"]), space_subject(args["vg"])))


def move_name(pv: str) -> str:
    return f"move {pv}"


def _move_commands(args: Args) -> tuple[Command, ...]:
    """One pvmove for each PV the volume is to leave, of its extents only. All of them move or,
    where it is aborted, none (`--atomic`). The mark distinguishes it from a pvmove by hand."""
    name = f"{args['vg']}/{args['lv']}"
    to = [f"/dev/{pv}" for pv in args["to_pvs"]]
    words = ("pvmove", *ONE_REQUEST, "-i", POLL_SECONDS, "--atomic", "-n", name)
    return (
        vacated_extents.note_vacated(args["vg"], args["lv"], (args["lv"],), args["from_pvs"]),
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


MOVE = Verb(
    name="volume.move",
    title="Move a volume to other disks",
    arguments=arguments(
        {"lv": names.lv_name, "from_pvs": names.devices, "to_pvs": names.devices},
        expects="lv_uuid",
    ),
    commands=_move_commands,
    identity=_identity,
    todo=_todo,
    state=lambda view, call: [
        _movable(view, call),
        _places(view, call),
        _fits(view, call),
    ],
    touches=_touches,
    estimate=Estimate(4, 2, work=LongWork.MOVE, takes=Takes.MOVED_VOLUME),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
        Trait.LEAVES_DATA,
        Trait.NEEDS_PLACE,
        Trait.MOVES,
        Trait.SPARES_HOST,
    ),
    boot_note=BootNote.LINKS,
)


def _abort_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    """Only the mark is taken off of what has ended."""
    lv = checks.volume(view, call)
    if lv["work"] is not None:
        return frozenset({"abort", "unmark", *noted(view, call)})
    return frozenset(["unmark"]) if MOVING in lv["tags"] else NOTHING


def _source(view: View, call: VerbCall) -> Check:
    """pvmove --abort names a PV: it must be our own move of this volume that it ends."""

    def check() -> None:
        checks.left_alone(checks.volume(view, call))
        if call.args["pv"] not in view.pvs_under(checks.volume(view, call)):
            raise Refusal(
                "stale",
                f"{call.args['lv']} is not being moved away from {call.args['pv']}.",
                LOOK_AGAIN,
                subject=checks.subject(call),
            )

    return check


def _abort_commands(args: Args) -> tuple[Command, ...]:
    """During the move the volume lies on both sides: what was copied by then is noted, and cleared
    afterwards. The note of the source is dropped then, because the volume has it."""
    return (
        vacated_extents.note_vacated(args["vg"], args["lv"], (args["lv"],)),
        run("abort", "pvmove", "--abort", f"/dev/{args['pv']}"),
        run("unmark", "lvchange", "--deltag", MOVING, f"{args['vg']}/{args['lv']}"),
    )


ABORT = Verb(
    name="move.abort",
    title="End the move of a volume",
    arguments=arguments({"lv": names.lv_name, "pv": names.device}, expects="lv_uuid"),
    commands=_abort_commands,
    identity=_identity,
    todo=_abort_todo,
    state=lambda view, call: [_source(view, call)],
    touches=_touches,
    estimate=Estimate(3, 2),
    traits=(
        Trait.NEEDS_PLACE,
        Trait.MOVES,
    ),
)
