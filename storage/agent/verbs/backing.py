"""bcache.format, attach, detach, set, flush, stop: a volume as a bcache backing device."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ..calls import names
from ..calls.call import VerbCall, arguments, dirty_limit
from ..calls.refusals import Refusal
from ..commands.command import (
    CONGESTION,
    DATA_OFFSET_SECTORS,
    FORMAT_BCACHE,
    OURS,
    REGISTER,
    ZEROING,
    Args,
    Command,
    device,
    lv_write,
    run,
    write,
)
from ..facts.view import Check, Facts, View, cset_subject, lv_subject
from ..guests import hiding
from ..guests.usage_checks import unused
from ..kernel import bcache_sysfs
from ..kernel.dm import text
from ..kernel.local_host import MissingTool, TimedOut
from ..state.boot_state import BootNote
from . import checks
from .verb import NOTHING, Estimate, LongWork, Trait, Verb

# The kernel takes 0 to 40 (bch_cutoff_writeback).
_writeback_percent = names.integer(0, 40)
_mode = names.choice("writethrough", "writeback", "writearound", "none")


def _identity(view: View, call: VerbCall) -> list[Check]:
    return [
        checks.vg(view, call),
        checks.known_lv(view, call, call.args["lv"]),
        checks.active_lv(view, call),
    ]


def _touches(args: Args) -> frozenset[str]:
    subjects = {lv_subject(args["vg"], args["lv"])}
    if "cset_uuid" in args:
        subjects.add(cset_subject(args["cset_uuid"]))
    return frozenset(subjects)


def signatures(view: View, vg: str, lv: str) -> list[str]:
    """Types of what libblkid finds on the volume."""
    command = ("wipefs", "-nJ", device(vg, lv))
    try:
        result = view.host.run(command, timeout=10.0)
    except (MissingTool, TimedOut):
        raise Refusal(
            "missing_tool",
            "wipefs of util-linux is needed and did not answer.",
            "Install the package util-linux; look at `dmesg` if it is there.",
            argv=command,
        ) from None
    if result.rc != 0:
        raise Refusal(
            "cmd_failed",
            f"wipefs could not read {vg}/{lv}.",
            "Look at `dmesg` for I/O errors.",
            argv=command,
            rc=result.rc,
            stderr=result.stderr,
        )
    if not result.stdout.strip():
        return []
    document: Any = json.loads(result.stdout)
    return [str(signature.get("type")) for signature in document["signatures"]]


def _format_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    volume = checks.volume(view, call)
    tagged = FORMAT_BCACHE in volume["tags"]
    if volume["bcache"] is not None:
        return frozenset(("formatted",)) if tagged else NOTHING
    if tagged and signatures(view, call.args["vg"], call.args["lv"]) == ["bcache"]:
        return frozenset(("module", "register", "formatted"))
    return None


def _not_fresh(call: VerbCall, message: str, correction: str) -> Refusal:
    subject = checks.subject(call)
    return Refusal("not_fresh", message, correction, subject=subject)


def _born_for_it(view: View, call: VerbCall) -> Check:
    def check() -> None:
        volume = checks.volume(view, call)
        if FORMAT_BCACHE not in volume["tags"]:
            raise _not_fresh(
                call,
                f"{volume['name']} was not made as a bcache volume, or was formatted before.",
                "Only a volume made with layout bcache is formatted: copy the data to a new one.",
            )
        if ZEROING in volume["tags"]:
            raise _not_fresh(
                call,
                f"{volume['name']} is not zeroed to its end yet.",
                "Finish volume.create first: repeat it.",
            )

    return check


def _empty(view: View, call: VerbCall) -> Check:
    def check() -> None:
        volume = checks.volume(view, call)
        if volume["bcache"] is not None:
            return
        types = signatures(view, call.args["vg"], call.args["lv"])
        if types not in ([], ["bcache"]):
            raise _not_fresh(
                call,
                f"{volume['name']} already carries {', '.join(types)}.",
                "A volume with data is never formatted. Create a new one.",
            )

    return check


def _format_state(view: View, call: VerbCall) -> list[Check]:
    to_check = [_born_for_it(view, call), _empty(view, call)]
    if checks.volume(view, call)["bcache"] is None:
        to_check = [unused(view, call), *to_check, hidden_from_lvm(view)]
    return to_check


def hidden_from_lvm(view: View) -> Check:
    """LVM on this host looks away from what a guest writes to a bcache volume."""
    return lambda: hiding.demand_hiding(view.host)


def _format_commands(args: Args) -> tuple[Command, ...]:
    vg, lv = args["vg"], args["lv"]
    return (
        run("module", "modprobe", "bcache"),
        run(
            "format",
            "make-bcache",
            "--data-offset",
            str(DATA_OFFSET_SECTORS),
            "-B",
            device(vg, lv),
        ),
        write("register", REGISTER, device(vg, lv), wait="backing_registered"),
        # Without its tag the volume is never registered again, unless it is noted.
        replace(run("formatted", "lvchange", "--deltag", FORMAT_BCACHE, f"{vg}/{lv}"), noted=True),
    )


FORMAT = Verb(
    name="bcache.format",
    title="Format a fresh volume for bcache",
    arguments=arguments({"lv": names.lv_name}, expects="lv_uuid"),
    commands=_format_commands,
    identity=lambda view, call: [*_identity(view, call), checks.vg_whole(view, call)],
    todo=_format_todo,
    state=_format_state,
    touches=_touches,
    estimate=Estimate(2, 0),
    traits=(Trait.SPARES_HOST,),
    boot_note=BootNote.FORMATTED,
)


def _differing(backing: Facts, args: Args) -> set[str]:
    """Names of the commands for the settings in `args` that are not so already."""
    todo = set()
    if args.get("cache_mode") not in (None, backing["cache_mode"]):
        todo.add("cache_mode")
    if args.get("sequential_cutoff_bytes") not in (None, backing["sequential_cutoff_bytes"]):
        todo.add("sequential_cutoff")
    if args.get("writeback_percent") not in (None, backing["writeback_percent"]):
        todo.add("writeback_percent")
    return todo


def _attach_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    backing = checks.backing(view, call)
    if backing["cset_uuid"] is None:
        # A mode that differs only once a cache is there still has to be written.
        return None
    if backing["cset_uuid"] != call.args["cset_uuid"]:
        raise Refusal(
            "already_exists",
            f"The volume already uses the cache set {backing['cset_uuid']}.",
            "Detach it first (bcache.detach).",
            subject=checks.subject(call),
        )
    cset = f"{bcache_sysfs.FS}/{backing['cset_uuid']}"
    braked = {name for name in CONGESTION if text(view.host, f"{cset}/{name}") != "0"}
    return frozenset(_differing(backing, call.args) | braked)


def _cset_there(view: View, call: VerbCall) -> Check:
    def check() -> None:
        cset = checks.cset(view, call.args["cset_uuid"])
        lv = view.lv_by_uuid(cset["lv_uuid"] or "")
        if lv is None or lv["vg_name"] != call.args["vg"] or OURS not in lv["tags"]:
            raise Refusal(
                "not_ours",
                f"The cache set {cset['uuid']} is on no cache device of ours in VG "
                f"{call.args['vg']}.",
                "Use a cache set that Tiercel made in this VG (cset.create).",
            )

    return check


def _has_device(view: View, call: VerbCall) -> Check:
    """The bcacheN of the volume runs."""

    def check() -> None:
        backing = checks.backing(view, call)
        if backing["state"] == "inconsistent" or backing["device"] is None:
            raise Refusal(
                "degraded",
                f"{call.args['lv']} is registered, but its bcache device does not run "
                f"(state {backing['state']}).",
                "Its former cache set is missing: bring that SSD back, or see the runbook.",
                subject=checks.subject(call),
            )

    return check


def _redundant_set(view: View, call: VerbCall, uuid: str | None) -> Check:
    """Where writeback is asked for, the cache set `uuid` lies on redundant SSDs."""

    def check() -> None:
        if call.args.get("cache_mode") != "writeback" or uuid is None:
            return
        cset = view.cset(uuid)
        lv = None if cset is None else view.lv_by_uuid(cset["lv_uuid"] or "")
        if cset is not None and lv is None:
            raise Refusal(
                "not_redundant",
                f"The cache set {uuid} is on no volume of this host's VGs.",
                "Use writethrough, or a cache set on a volume on redundant SSDs.",
            )
        checks.redundant(view, cset_subject(uuid), lv, f"the cache set {uuid}")

    return check


def _attach_commands(args: Args) -> tuple[Command, ...]:
    # The set serves one volume on its own SSD space. By default bcache sends reads past a cache
    # that once took 2 ms, and the volume never warms up on a busy host.
    cset = f"/sys/fs/bcache/{args['cset_uuid']}"
    # The mode goes before the cache: one left from an earlier cache must not hold for one moment.
    return (
        *(write(each, f"{cset}/{each}", "0") for each in CONGESTION),
        lv_write(args, "cache_mode", args["cache_mode"]),
        lv_write(args, "sequential_cutoff", str(args["sequential_cutoff_bytes"])),
        lv_write(args, "attach", args["cset_uuid"], wait="attached"),
    )


ATTACH = Verb(
    name="bcache.attach",
    title="Attach a bcache cache to a volume",
    arguments=arguments(
        {
            "lv": names.lv_name,
            "cset_uuid": names.uuid,
            "cache_mode": _mode,
            "sequential_cutoff_bytes": names.cutoff_bytes,
        },
        expects="lv_uuid",
    ),
    commands=_attach_commands,
    identity=_identity,
    todo=_attach_todo,
    state=lambda view, call: [
        checks.not_hosts_own(view, call, call.args["lv"]),
        _has_device(view, call),
        _cset_there(view, call),
        _redundant_set(view, call, call.args["cset_uuid"]),
    ],
    touches=_touches,
    estimate=Estimate(1, 0),
    traits=(
        Trait.SWITCHES_CACHE,
        Trait.SPARES_HOST,
    ),
    boot_note=BootNote.SETTINGS,
)


def _detach_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    backing = checks.backing(view, call)
    return NOTHING if backing["cset_uuid"] is None else None


def _right_cset(view: View, call: VerbCall) -> Check:
    def check() -> None:
        backing = checks.backing(view, call)
        if backing["cset_uuid"] != call.args["cset_uuid"]:
            raise Refusal(
                "stale",
                f"The volume uses the cache set {backing['cset_uuid']}, not "
                f"{call.args['cset_uuid']}.",
                "Read the host's facts again and plan again.",
                subject=checks.subject(call),
            )

    return check


def _detach_commands(args: Args) -> tuple[Command, ...]:
    return (lv_write(args, "detach", "1", wait="detached"),)


DETACH = Verb(
    name="bcache.detach",
    title="Detach the bcache cache of a volume",
    arguments=arguments({"lv": names.lv_name, "cset_uuid": names.uuid}, expects="lv_uuid"),
    commands=_detach_commands,
    identity=_identity,
    todo=_detach_todo,
    state=lambda view, call: [_right_cset(view, call)],
    touches=_touches,
    estimate=Estimate(1, 0, work=LongWork.FLUSH),
    traits=(
        Trait.LASTING,
        Trait.SWITCHES_CACHE,
    ),
)


def _stop_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    return NOTHING if checks.volume(view, call)["bcache"] is None else None


def _clean(view: View, call: VerbCall) -> Check:
    def check() -> None:
        backing = checks.backing(view, call)
        if backing["dirty_bytes"] or backing["state"] not in ("no cache", "clean"):
            raise Refusal(
                "dirty",
                f"The cache still holds {backing['dirty_bytes']} bytes that are not on the "
                f"disk (state {backing['state']}).",
                "Detach the cache first (bcache.detach).",
                subject=checks.subject(call),
            )

    return check


def _stop_commands(args: Args) -> tuple[Command, ...]:
    return (lv_write(args, "stop", "1", wait="stopped"),)


STOP = Verb(
    name="bcache.stop",
    title="Stop the bcache device of a volume",
    arguments=arguments({"lv": names.lv_name}, expects="lv_uuid"),
    commands=_stop_commands,
    identity=_identity,
    todo=_stop_todo,
    state=lambda view, call: [unused(view, call), _clean(view, call)],
    touches=_touches,
    estimate=Estimate(1, 0),
)


def _settings_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    return frozenset(_differing(checks.backing(view, call), call.args))


def _set_redundant(view: View, call: VerbCall) -> Check:
    """A mode written while no cache is there would hold for the next one: it is refused."""

    def check() -> None:
        backing = checks.backing(view, call)
        if backing["cset_uuid"] is None and call.args.get("cache_mode") == "writeback":
            raise Refusal(
                "not_redundant",
                "writeback can only be set while a cache is attached.",
                "Attach the cache first and give the mode there.",
                subject=checks.subject(call),
            )
        _redundant_set(view, call, backing["cset_uuid"])()

    return check


def _set_commands(args: Args) -> tuple[Command, ...]:
    steps = []
    if args.get("cache_mode") is not None:
        steps.append(lv_write(args, "cache_mode", args["cache_mode"]))
    if args.get("sequential_cutoff_bytes") is not None:
        cutoff = str(args["sequential_cutoff_bytes"])
        steps.append(lv_write(args, "sequential_cutoff", cutoff))
    if args.get("writeback_percent") is not None:
        percent = str(args["writeback_percent"])
        steps.append(lv_write(args, "writeback_percent", percent))
    return tuple(steps)


SET = Verb(
    name="bcache.set",
    title="Change the settings of a bcache cache",
    arguments=arguments(
        {"lv": names.lv_name},
        {
            "cache_mode": _mode,
            "sequential_cutoff_bytes": names.cutoff_bytes,
            "writeback_percent": _writeback_percent,
        },
        expects="lv_uuid",
        any_of=("cache_mode", "sequential_cutoff_bytes", "writeback_percent"),
    ),
    commands=_set_commands,
    identity=_identity,
    todo=_settings_todo,
    state=lambda view, call: [_set_redundant(view, call)],
    touches=_touches,
    estimate=Estimate(1, 0),
    traits=(Trait.SWITCHES_CACHE,),
    boot_note=BootNote.SETTINGS,
)


def _flush_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    backing = checks.backing(view, call)
    if backing["dirty_bytes"] > call.args["dirty_limit_bytes"]:
        return None
    return frozenset(_differing(backing, call.args))


def _flush_commands(args: Args) -> tuple[Command, ...]:
    """In writethrough the guest makes no new dirty data, and with writeback_percent 0 the kernel
    writes back without a brake; afterwards that is put back to what was wished. The mode is for
    bcache.set to put back."""
    percent = str(args["writeback_percent"])
    return (
        lv_write(args, "cache_mode", "writethrough"),
        lv_write(args, "writeback_percent", "0", name="unbrake"),
        lv_write(args, "writeback_running", "1", wait="bcache_flushed"),
        lv_write(args, "writeback_percent", percent),
    )


# The guest may have made new dirty data by the time it is over.
FLUSH = Verb(
    name="bcache.flush",
    title="Flush a bcache cache",
    arguments=arguments(
        {
            "lv": names.lv_name,
            "dirty_limit_bytes": dirty_limit,
            "writeback_percent": _writeback_percent,
        },
        expects="lv_uuid",
    ),
    commands=_flush_commands,
    identity=_identity,
    todo=_flush_todo,
    state=lambda view, call: [_has_device(view, call)],
    touches=_touches,
    settled=False,
    estimate=Estimate(1, 0, work=LongWork.FLUSH),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
        Trait.FLUSHES,
    ),
)
