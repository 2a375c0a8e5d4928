"""volume.clear: zeroes the extents that a volume left, where no other volume has them now."""

from __future__ import annotations

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands import vacated_extents
from ..commands.command import MADE_LEFT, OURS, ZEROING, volume_tag
from ..facts.view import Check, Facts, View, lv_subject, space_subject
from ..guests.usage_checks import unused
from ..state.boot_state import BootNote
from . import checks
from .verb import NOTHING, Estimate, LongWork, Trait, Verb


def noted(view: View, call: VerbCall) -> frozenset[str]:
    """The command that notes what goes, where root lets it be cleared, and LVM's text about the
    group has room for it: a cache must come off also where there is none."""
    vg = view.vg(call.args["vg"])
    is_full = vg["metadata_bytes"] and vg["metadata_free_bytes"] < vacated_extents.TEXT_BYTES
    return frozenset(("note",)) if view.policy.clear_freed and not is_full else NOTHING


def _identity(view: View, call: VerbCall) -> list[Check]:
    return [
        checks.vg(view, call),
        checks.vg_whole(view, call),
        checks.known_lv(view, call, call.args["lv"]),
        _is_ours(view, call),
    ]


def _held(view: View, call: VerbCall) -> Facts | None:
    return view.find_lv(call.args["vg"], vacated_extents.held_name(call.args))


def _is_ours(view: View, call: VerbCall) -> Check:
    """What an earlier try reserved, and nothing else: it is zeroed and removed."""

    def check() -> None:
        held_lv = _held(view, call)
        ours = {OURS, volume_tag(call.args["volume_key"]), MADE_LEFT, ZEROING}
        if held_lv is not None and not ours <= set(held_lv["tags"]):
            raise Refusal(
                "already_exists",
                f"{held_lv['vg_name']}/{held_lv['name']} exists and is not what Tiercel clears.",
                "Rename or remove it on the host.",
                subject=lv_subject(call.args["vg"], held_lv["name"]),
            )

    return check


def _todo(view: View, call: VerbCall) -> frozenset[str] | None:
    vg = call.args["vg"]
    held_lv = _held(view, call)
    if not vacated_extents.ranges(view.lv(vg, call.args["lv"])["tags"]):
        return NOTHING if held_lv is None else frozenset(("zero", "remove"))
    report = vacated_extents.report_of(view.host, call.expect["vg_uuid"], vg)
    noted_ranges = vacated_extents.noted_on(report, call.args["lv"])
    free = vacated_extents.free_of(report, noted_ranges)
    if held_lv is None:
        return frozenset(("reserve", "zero", "cleared", "remove") if free else ("cleared",))
    cleared = ("cleared",) if vacated_extents.taken_of(noted_ranges, free) else ()
    return frozenset(("zero", *cleared, "remove"))


def _state(view: View, call: VerbCall) -> list[Check]:
    to_check = [_place_is_settled(view, call), _lvm_knows_all(view, call)]
    held_lv = _held(view, call)
    if held_lv is None:
        return to_check
    return [*to_check, unused(view, VerbCall(call.verb, {**call.args, "lv": held_lv["name"]}, {}))]


def _place_is_settled(view: View, call: VerbCall) -> Check:
    """A move at work has its source still, which would be forgotten as another LV's."""
    return lambda: checks.left_alone(checks.volume(view, call), ours=False)


def _lvm_knows_all(view: View, call: VerbCall) -> Check:
    """A device of this group that LVM has no volume for may lie where LVM sees nothing: its text
    about the group is older than the device (vgcfgrestore)."""

    def check() -> None:
        vg = call.args["vg"]
        lost = vacated_extents.unknown_to_lvm(view.host, call.expect["vg_uuid"], vg)
        if lost:
            raise Refusal(
                "in_use",
                f"{', '.join(lost)} of {vg} is in the kernel and LVM has no such volume: "
                "what LVM calls free may be its own.",
                "Get its volume back, or take it out of the kernel: the problems of this host say "
                "how. Then try again.",
                subject=space_subject(vg),
            )

    return check


CLEAR = Verb(
    name="volume.clear",
    title="Write zeros over what a volume left behind",
    arguments=arguments({"lv": names.lv_name, "volume_key": names.volume_key}, expects="lv_uuid"),
    commands=vacated_extents.volume_clear,
    identity=_identity,
    todo=_todo,
    state=_state,
    touches=lambda args: frozenset((lv_subject(args["vg"], args["lv"]), space_subject(args["vg"]))),
    # What was noted while an earlier try was cleared is left for the next one.
    settled=False,
    estimate=Estimate(4, 2, work=LongWork.ZERO_LEFT),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
        Trait.NEEDS_PLACE,
    ),
    boot_note=BootNote.LINKS,
)
