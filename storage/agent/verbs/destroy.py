"""volume.destroy: zeroes a whole retired volume, then removes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands.command import Args, Command, device, run, tags, zero
from ..commands.retirement import WIPING
from ..facts.view import LOOK_AGAIN, Check, View, lv_subject, space_subject
from ..guests.usage_checks import unused
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from ..state.boot_state import BootNote
from ..state.policy import AGENT, PATH
from ..state.undo_window import over
from . import checks
from .backing import signatures
from .pool import gone
from .retire import is_cache_device, known, let_go_commands, marks_of, register_commands
from .verb import NOTHING, Estimate, LongWork, Trait, Verb

HOUR_NS = 3600 * 1_000_000_000


def _destroy_identity(view: View, call: VerbCall) -> list[Check]:
    if gone(view, call, call.args["lv"]):
        return [checks.vg(view, call), checks.vg_whole(view, call)]
    return [*known(view, call, call.args["lv"]), _same_uuid(view, call), _is_retired(view, call)]


def _same_uuid(view: View, call: VerbCall) -> Check:
    """The uuid in the command is the one that was checked: lvremove finds the volume by it."""

    def check() -> None:
        volume = checks.volume(view, call)
        if (volume["uuid"], volume["size_bytes"]) != (
            call.args["lv_uuid"],
            call.args["size_bytes"],
        ):
            raise Refusal(
                "stale",
                f"{volume['vg_name']}/{volume['name']} is another volume than was meant.",
                LOOK_AGAIN,
                subject=checks.subject(call),
            )

    return check


def _is_retired(view: View, call: VerbCall) -> Check:
    def check() -> None:
        volume = checks.volume(view, call)
        if marks_of(volume) is None:
            raise Refusal(
                "not_retired",
                f"{volume['vg_name']}/{volume['name']} is not retired.",
                "Retire it first (volume.retire): a volume that may be in use is never destroyed.",
                subject=checks.subject(call),
            )

    return check


def _destroy_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    """All of it, but for the bcache part once an earlier try has cleared the superblock."""
    if gone(view, call, call.args["lv"]):
        return NOTHING
    volume = checks.volume(view, call)
    cleared = (
        call.args["layout"] == "bcache"
        and volume["active"]
        and volume["bcache"] is None
        and "bcache" not in signatures(view, call.args["vg"], call.args["lv"])
    )
    todo = {"activate", "zero", "remove"}
    if call.args["layout"] == "bcache" and not cleared:
        todo |= {"module", "register", "stop", "unsign"}
    if call.args["layout"] == "cset":
        todo |= {"unsign"} | ({"unregister"} if is_cache_device(view, volume) else set())
    if WIPING not in volume["tags"]:
        todo.add("doom")
    return frozenset(todo)


def _window(view: View, call: VerbCall) -> Check:
    def check() -> None:
        volume = checks.volume(view, call)
        marks = marks_of(volume)
        if marks is not None:
            subject = checks.subject(call)
            over(view.host, view.policy, marks, volume["uuid"], subject)

    return check


def within_quota(view: View, call: VerbCall) -> Check:
    """Fewer than `destroy_per_hour` other volumes were destroyed, or were begun to be, within the
    hour before this one was asked for: so of many at once only so many pass, and what was let
    through stays so however long it takes. A repeated destroy of the same volume counts once."""

    def check() -> None:
        allowed = view.policy.destroy_per_hour
        done = len(_destroyed_lately(view, call))
        if done >= allowed:
            raise Refusal(
                "quota",
                f"{done} volumes were destroyed within the last hour; this host allows {allowed}.",
                f"Wait, or raise destroy_per_hour in {PATH} on the host as root "
                f"(`{AGENT} policy` shows it).",
            )

    return check


def _destroyed_lately(view: View, call: VerbCall) -> set[str]:
    host, own = view.host, call.expect.get("lv_uuid")
    boot = text(host, "/proc/sys/kernel/random/boot_id")
    destroyed = [
        (record["call"]["expect"]["lv_uuid"], _age_ns(host, record, boot))
        for record in (host.op_load(op) for op in host.op_ids())
        if record is not None and record["call"]["verb"] == DESTROY.name and _counts(record)
    ]
    asked_ns = max((age for lv_uuid, age in destroyed if lv_uuid == own), default=0)
    return {lv_uuid for lv_uuid, age in destroyed if asked_ns <= age < asked_ns + HOUR_NS} - {own}


def _counts(record: dict[str, Any]) -> bool:
    """It may yet destroy, or a command of it was begun: one that was refused or stopped before
    that destroyed nothing, and let nothing through for later."""
    begun = any(command["started_ns"] is not None for command in record["commands"])
    return begun or (record["state"] == "running" and bool(record["commands"]))


def _age_ns(host: LocalHost, record: dict[str, Any], boot: str) -> int:
    """By the boot clock; after a restart at least as old as this boot, whatever the wall clock
    says."""
    if record["boot_id"] == boot:
        return int(host.boottime_ns() - record["started_boottime_ns"])
    return int(max(host.boottime_ns(), host.wall_ns() - record["started_ns"]))


def _commands(args: Args) -> tuple[Command, ...]:
    """Zeros over all of it, then the removal of what has this uuid and nothing else. A udev rule
    may register a bcache superblock as soon as the volume is active: it is registered on purpose,
    stopped, and the superblock cleared, so that nothing holds the volume any more. Whether an
    earlier try has cleared it already can only be seen once the volume is active."""
    vg, lv = args["vg"], args["lv"]
    path = device(vg, lv)
    opened: tuple[Command, ...] = ()
    if args["layout"] != "plain":
        unsign = run("unsign", "wipefs", "-a", "-t", "bcache", path)
        opened = (*register_commands(args), *let_go_commands(args), unsign)
    return (
        run("doom", "lvchange", *tags(WIPING), f"{vg}/{lv}"),
        replace(run("activate", "lvchange", "-ay", "-K", f"{vg}/{lv}"), reveals=bool(opened)),
        *opened,
        zero(path),
        run("remove", "lvremove", "-y", "-S", f"lv_uuid={args['lv_uuid']}", f"{vg}/{lv}"),
    )


DESTROY = Verb(
    name="volume.destroy",
    title="Destroy a retired volume",
    arguments=arguments(
        {
            "lv": names.made("del"),
            "lv_uuid": names.lvm_uuid,
            "size_bytes": names.size_bytes,
            "volume_key": names.volume_key,
            "layout": names.choice("plain", "bcache", "cset"),
        },
        expects="lv_uuid",
    ),
    commands=_commands,
    identity=_destroy_identity,
    todo=_destroy_todo,
    state=lambda view, call: [
        _window(view, call),
        within_quota(view, call),
        unused(view, call),
    ],
    touches=lambda args: frozenset([lv_subject(args["vg"], args["lv"]), space_subject(args["vg"])]),
    estimate=Estimate(3, 1, work=LongWork.ZERO_WHOLE),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
        Trait.IRREVERSIBLE,
        Trait.NEEDS_PLACE,
        Trait.SPARES_HOST,
    ),
    boot_note=BootNote.GONE,
)
