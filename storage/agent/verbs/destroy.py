"""volume.destroy: zeros over all of a retired volume, then its removal."""

from __future__ import annotations

from ..calls.refusals import Refusal
from ..commands.retirement import WIPING
from ..facts.view import LOOK_AGAIN, Check, View, lv_subject, space_subject
from ..guests.usage_checks import unused
from ..state.quota import destroys
from ..state.undo_window import over
from ..wire.protocol import VerbCall
from . import checks
from .backing import signatures
from .pool import gone
from .retire import is_cache_device, known, marks_of
from .verb import NOTHING, Verb


def _destroy_identity(view: View, call: VerbCall) -> list[Check]:
    if gone(view, call, call.args["lv"]):
        return [checks.vg(view, call), checks.vg_whole(view, call)]
    return [*known(view, call, call.args["lv"]), _same_uuid(view, call), _is_retired(view, call)]


def _same_uuid(view: View, call: VerbCall) -> Check:
    """The uuid in the command is the one that was checked: lvremove finds the volume by it."""

    def check() -> None:
        found = view.lv(call.args["vg"], call.args["lv"])
        if (found["uuid"], found["size_bytes"]) != (call.args["lv_uuid"], call.args["size_bytes"]):
            raise Refusal(
                "stale",
                f"{found['vg_name']}/{found['name']} is another volume than was meant.",
                LOOK_AGAIN,
                subject=lv_subject(call.args["vg"], call.args["lv"]),
            )

    return check


def _is_retired(view: View, call: VerbCall) -> Check:
    def check() -> None:
        found = view.lv(call.args["vg"], call.args["lv"])
        if marks_of(found) is None:
            raise Refusal(
                "not_retired",
                f"{found['vg_name']}/{found['name']} is not retired.",
                "Retire it first (volume.retire): a volume that may be in use is never destroyed.",
                subject=lv_subject(call.args["vg"], call.args["lv"]),
            )

    return check


def _destroy_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    """All of it, but for the bcache part once an earlier try has cleared the superblock."""
    if gone(view, call, call.args["lv"]):
        return NOTHING
    found = view.lv(call.args["vg"], call.args["lv"])
    cleared = (
        call.args["layout"] == "bcache"
        and found["active"]
        and found["bcache"] is None
        and "bcache" not in signatures(view, call.args["vg"], call.args["lv"])
    )
    todo = {"activate", "zero", "remove"}
    if call.args["layout"] == "bcache" and not cleared:
        todo |= {"module", "register", "stop", "unsign"}
    if call.args["layout"] == "cset":
        todo |= {"unsign"} | ({"unregister"} if is_cache_device(view, found) else set())
    if WIPING not in found["tags"]:
        todo.add("doom")
    return frozenset(todo)


def _window(view: View, call: VerbCall) -> Check:
    def check() -> None:
        found = view.lv(call.args["vg"], call.args["lv"])
        marks = marks_of(found)
        if marks is not None:
            subject = lv_subject(call.args["vg"], call.args["lv"])
            over(view.host, view.policy, marks, found["uuid"], subject)

    return check


DESTROY = Verb(
    identity=_destroy_identity,
    todo=_destroy_todo,
    state=lambda view, call: [
        _window(view, call),
        destroys(view, call),
        unused(view, call),
    ],
    touches=lambda args: frozenset([lv_subject(args["vg"], args["lv"]), space_subject(args["vg"])]),
)
