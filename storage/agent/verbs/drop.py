"""cache.drop: removes the cache of a volume whose SSD is gone, if the cache held no dirty data."""

from __future__ import annotations

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands import provenance
from ..commands.command import Args, Command, run
from ..facts.inventory import cache_statuses
from ..facts.view import LOOK_AGAIN, Check, Facts, View, lv_subject
from ..kernel import dm
from . import checks
from .verb import NOTHING, Estimate, Frees, Trait, Verb

MISSING = "[unknown]"
RUNBOOK = "Do not force it. The volume's page in the panel has the runbook."


def _refusal(call: VerbCall, code: str, message: str, correction: str) -> Refusal:
    return Refusal(code, message, correction, subject=checks.subject(call))


def _todo(view: View, call: VerbCall) -> frozenset[str] | None:
    return NOTHING if checks.volume(view, call)["cache"] is None else None


def _right_pool(view: View, call: VerbCall) -> Check:
    def check() -> None:
        cache = checks.volume(view, call)["cache"]
        pool = cache["pool"]
        if pool != call.args["pool"]:
            message = f"The volume's cache is {pool}, not {call.args['pool']}."
            raise _refusal(call, "stale", message, LOOK_AGAIN)
        provenance.own_pool(view, cache)

    return check


def _only_caches_lost(view: View, call: VerbCall) -> Check:
    """PVs are missing, this cache lies on one of them, and no data of any volume does."""

    def check() -> None:
        vg, volume = view.vg(call.args["vg"]), checks.volume(view, call)
        if not vg["missing_pv_count"] or MISSING not in volume["cache"]["pvs"]:
            raise _refusal(
                call,
                "unsupported",
                f"No SSD under the cache {volume['cache']['pool']} is missing.",
                "Remove the cache in the ordinary way (cache.detach), which flushes it.",
            )
        for lv in view.facts["lvs"]:
            same = lv["vg_uuid"] == vg["uuid"]
            lost = any(MISSING in segment["pvs"] for segment in lv["segments"])
            if same and lost and not is_cache_part(lv):
                raise _refusal(
                    call,
                    "degraded",
                    f"The missing PV also carried data of {lv['vg_name']}/{lv['name']}.",
                    f"Bring the disk back. {RUNBOOK}",
                )

    return check


def is_cache_part(lv: Facts) -> bool:
    """A pool, its data or metadata, or the group's spare metadata: never a volume's own data."""
    role = set(lv["role"])
    part = "cache" in role and bool(role & {"data", "metadata"})
    return part or "spare" in role or lv["layout"][:2] == ["cache", "pool"]


def _nothing_in_it(view: View, call: VerbCall) -> Check:
    """`writethrough` alone does not prove it: a crash or a change of mode leaves dirty data. Nor
    does a missing figure: without the kernel's word the facts say zero."""

    def check() -> None:
        volume = checks.volume(view, call)
        cache = volume["cache"]
        name = f"The cache {cache['pool']}"
        status = cache_statuses(view.host, dm.dm_devices(view.host)).get(volume["uuid"])
        if status is None:
            message = f"{name}: the kernel does not say whether it held unwritten data."
            raise _refusal(call, "degraded", message, RUNBOOK)
        if cache["mode"] != "writethrough":
            message = f"{name} was in mode {cache['mode']}: new data may be in it alone."
            raise _refusal(call, "dirty", message, RUNBOOK)
        if cache["failed"] or cache["needs_check"]:
            message = f"{name} has failed: the kernel cannot tell whether it held unwritten data."
            raise _refusal(call, "degraded", message, RUNBOOK)
        if cache["dirty_bytes"]:
            message = f"{name} held {cache['dirty_bytes']} bytes that are not on the disk."
            raise _refusal(call, "dirty", message, RUNBOOK)

    return check


def _commands(args: Args) -> tuple[Command, ...]:
    """The same words as for a cache that is there: LVM asks whether the lost one may go, and would
    refuse a writeback one without the force that this agent never uses."""
    return (run("drop", "lvconvert", "-y", "--uncache", f"{args['vg']}/{args['lv']}"),)


DROP = Verb(
    name="cache.drop",
    title="Drop an LVM cache whose SSD is lost",
    arguments=arguments({"lv": names.lv_name, "pool": names.made("c")}, expects="lv_uuid"),
    commands=_commands,
    identity=lambda view, call: [
        checks.vg(view, call),
        checks.known_lv(view, call, call.args["lv"]),
        checks.active_lv(view, call),
    ],
    todo=_todo,
    state=lambda view, call: [
        checks.undisturbed(view, call),
        _right_pool(view, call),
        _only_caches_lost(view, call),
        _nothing_in_it(view, call),
    ],
    touches=lambda args: frozenset(
        [lv_subject(args["vg"], args["lv"]), lv_subject(args["vg"], args["pool"])]
    ),
    estimate=Estimate(2, 2, frees=Frees.CACHE),
    traits=(
        Trait.IRREVERSIBLE,
        Trait.NEEDS_PLACE,
    ),
)
