"""volume.count and cache.warm: a new cache is filled with what is read most of its volume.

Neither fails where it cannot do that: a cold cache is no error. What became of it is said in the
output.
"""

from __future__ import annotations

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..commands.command import BY_READS, COUNT_READS, WARM, Args, Command, device
from ..facts.view import View
from ..state import hot_map_files
from . import checks
from .verb import NOTHING, Estimate, LongWork, Trait, Verb

LEAST_WARM_SECONDS, MOST_WARM_SECONDS = 60, 3600


def _count_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    mark = hot_map_files.mark_of(view.host, checks.volume(view, call)["uuid"])
    return NOTHING if mark is not None and mark.cache == call.args["cache"] else None


def _count_commands(args: Args) -> tuple[Command, ...]:
    path = device(args["vg"], args["lv"])
    return (Command("count", (COUNT_READS, path), f"count which parts of {path} are read"),)


COUNT = Verb(
    name="volume.count",
    title="Count what is read most of a volume",
    arguments=arguments({"lv": names.lv_name, "cache": names.lv_name}, expects="lv_uuid"),
    commands=_count_commands,
    identity=lambda view, call: [
        checks.vg(view, call),
        checks.known_lv(view, call, call.args["lv"]),
    ],
    todo=_count_todo,
    state=lambda view, call: [],
    touches=lambda args: frozenset(),
    settled=False,
    estimate=Estimate(1, 0),
    traits=(Trait.OPTIONAL,),
)


def _warm_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    mark = hot_map_files.mark_of(view.host, checks.volume(view, call)["uuid"])
    return NOTHING if mark is None else None


def _warm_commands(args: Args) -> tuple[Command, ...]:
    path = device(args["vg"], args["lv"])
    shell = f"read what is read most of {path}, past the page cache, writing nothing"
    return (Command("warm", (WARM, path), shell, locked=False, pace=BY_READS),)


WARM_CACHE = Verb(
    name="cache.warm",
    title="Fill a new cache with what is read most",
    arguments=arguments(
        {
            "lv": names.lv_name,
            "limit_seconds": names.integer(LEAST_WARM_SECONDS, MOST_WARM_SECONDS),
        },
        expects="lv_uuid",
    ),
    commands=_warm_commands,
    identity=lambda view, call: [
        checks.vg(view, call),
        checks.known_lv(view, call, call.args["lv"]),
        checks.active_lv(view, call),
    ],
    todo=_warm_todo,
    state=lambda view, call: [],
    # A preview shows it behind the step that brings the cache.
    touches=checks.touches_volume,
    settled=False,
    estimate=Estimate(10, 0, work=LongWork.WARM),
    traits=(Trait.LASTING, Trait.ABORTABLE, Trait.OPTIONAL),
)
