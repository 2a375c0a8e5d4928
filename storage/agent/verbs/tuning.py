"""bcache.set and bcache.flush: how a volume's bcache writes."""

from __future__ import annotations

from ..calls import names
from ..calls.arguments import arguments, dirty_limit
from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..commands.command import Args, Command, lv_write
from ..facts.view import Check, View
from ..state.boot_state import BootNote
from . import checks
from .backing import cache_mode_name, differing, has_device, identity, redundant_set, touches
from .verb import Estimate, LongWork, Trait, Verb

# The kernel takes 0 to 40 (bch_cutoff_writeback).
_writeback_percent = names.integer(0, 40)


def _set_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    return frozenset(differing(checks.backing(view, call), call.args))


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
        redundant_set(view, call, backing["cset_uuid"])()

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
            "cache_mode": cache_mode_name,
            "sequential_cutoff_bytes": names.cutoff_bytes,
            "writeback_percent": _writeback_percent,
        },
        expects="lv_uuid",
        any_of=("cache_mode", "sequential_cutoff_bytes", "writeback_percent"),
    ),
    commands=_set_commands,
    identity=identity,
    todo=_set_todo,
    state=lambda view, call: [_set_redundant(view, call)],
    touches=touches,
    estimate=Estimate(1, 0),
    traits=(Trait.SWITCHES_CACHE,),
    boot_note=BootNote.SETTINGS,
)


def _flush_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    backing = checks.backing(view, call)
    if backing["dirty_bytes"] > call.args["dirty_limit_bytes"]:
        return None
    return frozenset(differing(backing, call.args))


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
    identity=identity,
    todo=_flush_todo,
    state=lambda view, call: [has_device(view, call)],
    touches=touches,
    settled=False,
    estimate=Estimate(1, 0, work=LongWork.FLUSH),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
        Trait.FLUSHES,
    ),
)
