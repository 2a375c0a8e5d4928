"""volume.retire and volume.restore: deactivate and rename a volume, and the reverse.

`layout` is what the kernel has made of the volume: "cset" if its guest wrote a cache set into it
and the host registered that.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..calls import names
from ..calls.call import Validator, VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands.command import (
    MADE_CSET,
    MADE_PREFIX,
    NOW,
    OURS,
    REGISTER,
    Args,
    Command,
    device,
    lv_write,
    run,
    tags,
    volume_tag,
    write,
)
from ..commands.retirement import NAME_PREFIX, RETIRED_PREFIX, WIPING, Retired, retired
from ..facts.view import LOOK_AGAIN, Check, Facts, View, lv_subject
from ..guests.usage_checks import unused
from ..state import boot_state
from ..state.boot_state import BootNote
from ..state.undo_window import is_fresh
from . import checks
from .backing import hidden_from_lvm
from .verb import NOTHING, Estimate, Trait, Verb

WHOLE = frozenset(("linear", "striped", "mirror", "raid"))
"""Layouts of volumes that stand for themselves, by the first word of LVM's."""


_NAMES: Mapping[str, Validator] = {
    "lv": names.lv_name,
    "retired_name": names.made("del"),
    "volume_key": names.volume_key,
    "layout": names.choice("plain", "bcache", "cset"),
}


def _here(view: View, call: VerbCall) -> Facts:
    """The volume by the one name or the other: it may be renamed already."""
    vg, uuid = call.args["vg"], call.expect.get("lv_uuid")
    for name in (call.args["retired_name"], call.args["lv"]):
        volume = view.find_lv(vg, name)
        if volume is not None and uuid in (None, volume["uuid"]):
            return volume
    return view.lv(vg, call.args["lv"])


def _on_here(view: View, call: VerbCall) -> VerbCall:
    """The call about the name that the volume has now."""
    return VerbCall(call.verb, {**call.args, "lv": _here(view, call)["name"]}, call.expect)


def known(view: View, call: VerbCall, name: str) -> list[Check]:
    """The volume is the one that was meant, ours, and stands for itself."""
    return [
        checks.vg(view, call),
        checks.vg_whole(view, call),
        checks.known_lv(view, call, name),
        checks.not_hosts_own(view, call, name),
        _this_volume(view, call, name),
        _whole(view, call, name),
    ]


def _this_volume(view: View, call: VerbCall, name: str) -> Check:
    def check() -> None:
        volume = view.lv(call.args["vg"], name)
        if not {OURS, volume_tag(call.args["volume_key"])} <= set(volume["tags"]):
            raise Refusal(
                "not_ours",
                f"{volume['vg_name']}/{name} does not carry the tag of this volume.",
                "Put it under management first (volume.tag).",
                subject=lv_subject(call.args["vg"], name),
            )
        made = [tag for tag in volume["tags"] if tag.startswith(MADE_PREFIX)]
        if made:
            # It carries the key of the volume that it was made for.
            raise Refusal(
                "not_ours",
                f"{volume['vg_name']}/{name} carries the tag {made[0]}: Tiercel made it for "
                "another volume.",
                "Remove the cache of that volume, or finish its growth, instead.",
                subject=lv_subject(call.args["vg"], name),
            )

    return check


def _whole(view: View, call: VerbCall, name: str) -> Check:
    """It stands for itself: nothing hangs on it, and LVM would take nothing else with it."""

    def check() -> None:
        volume = view.lv(call.args["vg"], name)
        snapshots = {"origin", "snapshot", "thickorigin", "thinorigin"} & set(volume["role"])
        subject = lv_subject(call.args["vg"], name)
        if volume["cache"] is not None:
            raise Refusal(
                "in_use",
                f"{volume['vg_name']}/{name} has the cache {volume['cache']['pool']}.",
                "Detach the cache first (cache.detach).",
                subject=subject,
            )
        checks.left_alone(volume, ours=False)
        if volume["snapshots"]:
            raise Refusal(
                "occupied",
                f"{volume['vg_name']}/{name} has the snapshot {', '.join(volume['snapshots'])}.",
                "Wait until the snapshot is removed, or remove it.",
            )
        if snapshots or volume["layout"][:1] == [] or volume["layout"][0] not in WHOLE:
            what = ", ".join(sorted(snapshots)) or ", ".join(volume["layout"])
            raise Refusal(
                "unsupported",
                f"{volume['vg_name']}/{name} is not a plain volume ({what}).",
                "Remove its snapshots, or end it on the host by hand.",
                subject=subject,
            )

    return check


def is_cache_device(view: View, lv: Facts) -> bool:
    """A cache set is registered on it: a guest wrote one into its volume."""
    return any(cset["lv_uuid"] == lv["uuid"] for cset in view.facts["csets"])


def _uses_our_set(view: View, backing: Facts | None) -> bool:
    cset = None if backing is None else view.cset(backing["cset_uuid"] or "")
    lv = None if cset is None else view.lv_by_uuid(cset["lv_uuid"] or "")
    return lv is not None and {OURS, MADE_CSET} <= set(lv["tags"])


def _both(args: Args) -> frozenset[str]:
    return frozenset(lv_subject(args["vg"], args[key]) for key in ("lv", "retired_name"))


def marks_of(volume: Facts) -> Retired | None:
    """Since when it is retired, and its name before; None for a volume in service."""
    return retired(volume["tags"])


def _retire_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    volume = _here(view, call)
    marks = marks_of(volume)
    if marks is not None and volume["name"] == call.args["retired_name"]:
        return NOTHING
    todo = {"rename"}
    if marks is None:
        todo.add("mark")
    if volume["bcache"] is not None:
        todo.add("stop")
    if is_cache_device(view, volume):
        todo.add("unregister")
    if volume["active"]:
        todo.add("deactivate")
    return frozenset(todo)


def _free(view: View, call: VerbCall, key: str) -> Check:
    """No other volume has the name that the volume is to get."""

    def check() -> None:
        vg, name = call.args["vg"], call.args[key]
        other = view.find_lv(vg, name)
        if other is not None and other["uuid"] != _here(view, call)["uuid"]:
            raise Refusal(
                "already_exists",
                f"Another volume is called {vg}/{name} now.",
                f"Rename or remove that one first: lvrename {vg} {name} NEWNAME",
                subject=lv_subject(vg, name),
            )

    return check


def _let_go(view: View, call: VerbCall) -> Check:
    """Nothing holds it or its bcache device, no cache is on it, no other name is noted on it."""

    def check() -> None:
        volume = _here(view, call)
        marks = marks_of(volume)
        if marks is not None and marks.name != call.args["lv"]:
            raise Refusal(
                "stale",
                f"{volume['vg_name']}/{volume['name']} is marked as retired under the name "
                f"{marks.name}.",
                LOOK_AGAIN,
                subject=checks.subject(call),
            )
        backing = volume["bcache"]
        is_cset = is_cache_device(view, volume)
        ours = {each.lv_uuid for each in boot_state.load_boot_state(view.host)}
        layout = "cset" if is_cset else "bcache" if backing is not None else ""
        if layout not in ("", call.args["layout"]) or (is_cset and volume["uuid"] in ours):
            raise Refusal(
                "unsupported",
                f"{volume['vg_name']}/{volume['name']} is a registered bcache device.",
                LOOK_AGAIN,
                subject=checks.subject(call),
            )
        # What the cache of a guest's own bcache holds matters to that guest alone.
        is_ours = volume["uuid"] in ours or _uses_our_set(view, backing)
        dirty = backing is not None and (backing["state"] != "no cache" or backing["dirty_bytes"])
        if backing is not None and dirty and is_ours:
            raise Refusal(
                "in_use",
                f"{volume['vg_name']}/{volume['name']} has a bcache cache (state "
                f"{backing['state']}).",
                "Detach the cache first (bcache.detach).",
                subject=checks.subject(call),
            )
        if volume["active"]:
            _marked_lately(view, call, volume, marks)
        unused(view, _on_here(view, call))()

    return check


def _marked_lately(view: View, call: VerbCall, volume: Facts, marks: Retired | None) -> None:
    """A volume that was marked and stayed in service must not be off with its window over: the
    mark would date from before what its guest wrote last."""
    if marks is not None and not is_fresh(view.host, marks, volume["uuid"]):
        raise Refusal(
            "unsupported",
            f"{volume['vg_name']}/{volume['name']} was marked as retired long ago and is still in "
            "service: its undo window would be over too early.",
            "Restore it, which takes the old mark away; then retire it again.",
            subject=checks.subject(call),
        )


def let_go_commands(args: Args) -> tuple[Command, ...]:
    """bcache gives the volume back. A set is not named: its uuid is what a guest wrote."""
    if args["layout"] == "bcache":
        return (lv_write(args, "stop", "1", wait="stopped"),)
    if args["layout"] == "cset":
        return (lv_write(args, "set/unregister", "1", wait="stopped", name="unregister"),)
    return ()


def register_commands(args: Args) -> tuple[Command, ...]:
    if args["layout"] != "bcache":
        return ()
    path = device(args["vg"], args["lv"])
    return (
        run("module", "modprobe", "bcache"),
        write("register", REGISTER, path, wait="backing_registered"),
    )


def _retire_commands(args: Args) -> tuple[Command, ...]:
    """The mark comes first: whatever happens after it, the next look sees what was begun. A volume
    that is skipped at activation stays off over a reboot."""
    vg, lv = args["vg"], args["lv"]
    marks = tags(f"{NAME_PREFIX}{lv}", f"{RETIRED_PREFIX}{NOW}")
    return (
        run("mark", "lvchange", *marks, "--setactivationskip", "y", f"{vg}/{lv}"),
        *let_go_commands(args),
        run("deactivate", "lvchange", "-an", f"{vg}/{lv}"),
        run("rename", "lvrename", vg, lv, args["retired_name"]),
    )


RETIRE = Verb(
    name="volume.retire",
    title="Retire a volume",
    arguments=arguments(_NAMES, expects="lv_uuid"),
    commands=_retire_commands,
    identity=lambda view, call: known(view, call, _here(view, call)["name"]),
    todo=_retire_todo,
    state=lambda view, call: [_free(view, call, "retired_name"), _let_go(view, call)],
    touches=_both,
    estimate=Estimate(3, 1),
    traits=(
        Trait.NEEDS_PLACE,
        Trait.SPARES_HOST,
    ),
    boot_note=BootNote.LINKS,
)


def _restore_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    volume = _here(view, call)
    todo = set()
    if volume["name"] != call.args["lv"]:
        todo.add("rename")
    if not volume["active"]:
        todo.add("activate")
    if call.args["layout"] == "bcache" and (volume["bcache"] or {}).get("device") is None:
        todo |= {"module", "register"}
    if marks_of(volume) is not None:
        todo.add("unmark")
    return frozenset(todo)


def _as_marked(view: View, call: VerbCall) -> Check:
    """It is retired, since when and from which name the plan says."""

    def check() -> None:
        volume = _here(view, call)
        marks = marks_of(volume)
        if WIPING in volume["tags"]:
            raise Refusal(
                "unsupported",
                f"The wipe of {volume['vg_name']}/{volume['name']} has begun: its data is not "
                "whole any more.",
                "Finish the destruction, and restore the data from a backup.",
                subject=lv_subject(call.args["vg"], call.args["retired_name"]),
            )
        if marks is not None and marks != Retired(call.args["retired_at"], call.args["lv"]):
            raise Refusal(
                "stale",
                f"{volume['vg_name']}/{volume['name']} was called {marks.name} and is retired "
                f"since {marks.at}, which is not what was meant.",
                LOOK_AGAIN,
                subject=lv_subject(call.args["vg"], call.args["retired_name"]),
            )

    return check


def _restore_state(view: View, call: VerbCall) -> list[Check]:
    to_check = [_free(view, call, "lv"), _as_marked(view, call)]
    return [*to_check, hidden_from_lvm(view)] if call.args["layout"] == "bcache" else to_check


def _restore_commands(args: Args) -> tuple[Command, ...]:
    """The marks go last: until then the volume counts as retired, and a broken restore goes on."""
    vg, lv = args["vg"], args["lv"]
    marks = (f"{NAME_PREFIX}{lv}", f"{RETIRED_PREFIX}{args['retired_at']}")
    unmark = [word for mark in marks for word in ("--deltag", mark)]
    return (
        run("rename", "lvrename", vg, args["retired_name"], lv),
        run("activate", "lvchange", "-ay", "-K", f"{vg}/{lv}"),
        *register_commands(args),
        run("unmark", "lvchange", *unmark, "--setactivationskip", "n", f"{vg}/{lv}"),
    )


RESTORE = Verb(
    name="volume.restore",
    title="Restore a retired volume",
    arguments=arguments({**_NAMES, "retired_at": names.integer(0, 1 << 40)}, expects="lv_uuid"),
    commands=_restore_commands,
    identity=lambda view, call: known(view, call, _here(view, call)["name"]),
    todo=_restore_todo,
    state=_restore_state,
    touches=_both,
    estimate=Estimate(3, 1),
    boot_note=BootNote.LINKS,
)
