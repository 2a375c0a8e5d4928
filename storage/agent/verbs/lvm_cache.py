"""cache.attach, cache.set, cache.flush, cache.detach: LVM's cache in front of a volume."""

from __future__ import annotations

from typing import Any

from ..calls import names
from ..calls.call import VerbCall, arguments, dirty_limit
from ..calls.refusals import Refusal
from ..commands import provenance, vacated_extents
from ..commands.command import MADE_POOL, Args, Command, run, volume_tag
from ..facts.view import LOOK_AGAIN, Check, Facts, View, lv_subject, space_subject
from . import checks
from .clear import noted
from .pool import demand_zeroed
from .verb import NOTHING, Estimate, Frees, LongWork, Trait, Verb

MIB = 1 << 20
MODE_DIRTY_LIMIT = 64 * MIB
CLEANER = "cleaner"
_mode = names.choice("writethrough", "writeback")
_threshold_sectors = names.integer(0, 1 << 31)


def _cache(view: View, call: VerbCall) -> dict[str, Any]:
    cache = checks.volume(view, call)["cache"]
    if cache is None:
        raise Refusal(
            "not_found",
            f"{call.args['vg']}/{call.args['lv']} has no cache.",
            LOOK_AGAIN,
            subject=checks.subject(call),
        )
    return dict(cache)


def _threshold_differs(cache: dict[str, Any], args: Args) -> bool:
    """The kernel raises a threshold below 8 chunks to 8 chunks."""
    sectors = args.get("migration_threshold")
    if sectors is None:
        return False
    floor = 8 * cache["chunk_bytes"] // 512
    return bool(max(sectors, floor) != max(cache["migration_threshold_sectors"], floor))


def _attach_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    cache = checks.volume(view, call)["cache"]
    if cache is None:
        return None
    same = cache["pool"] == call.args["pool"] and cache["mode"] == call.args["mode"]
    if same and not _threshold_differs(cache, call.args):
        return NOTHING
    raise Refusal(
        "already_exists",
        f"{call.args['vg']}/{call.args['lv']} already has the cache {cache['pool']} "
        f"({cache['mode']}).",
        "Change it with cache.set, or detach it first.",
        subject=checks.subject(call),
    )


def _pool_fits(view: View, call: VerbCall) -> Check:
    def check() -> None:
        pool = view.lv(call.args["vg"], call.args["pool"])
        subject = lv_subject(call.args["vg"], call.args["pool"])
        if not checks.is_idle_pool(pool) or MADE_POOL not in pool["tags"]:
            raise Refusal(
                "not_ours",
                f"{pool['name']} is no idle cache pool of ours.",
                LOOK_AGAIN,
                subject=subject,
            )
        checks.no_cache_of(view, pool)
        demand_zeroed(pool)
        _of_same_volume(view, call, pool)
        sizes = {pv["name"]: pv["logical_sector_bytes"] for pv in view.facts["pvs"]}
        under = view.pvs_under(checks.volume(view, call)) + view.pvs_under(pool)
        if len({sizes[name] for name in under if name in sizes}) > 1:
            raise Refusal(
                "unsupported",
                "The cache device has another sector size than the volume's disk: "
                "file systems inside the volume would no longer fit.",
                "Use an SSD (or its format) with the same logical sector size.",
            )

    return check


def _of_same_volume(view: View, call: VerbCall, pool: Facts) -> None:
    """Raises Refusal(not_ours) for another volume's pool: its data must not reach this volume."""
    keys = {each for each in pool["tags"] if each.startswith(volume_tag(""))}
    volume = checks.volume(view, call)
    if not keys or not keys <= set(volume["tags"]):
        raise Refusal(
            "not_ours",
            f"{pool['name']} was not made for {volume['vg_name']}/{volume['name']}.",
            LOOK_AGAIN,
            subject=checks.subject(call),
        )


def _redundant(view: View, call: VerbCall, mode: str | None, pool: str) -> Check:
    def check() -> None:
        if mode == "writeback":
            vg = call.args["vg"]
            pool_lv = view.find_lv(vg, pool) or view.find_lv(vg, f"{pool}_cpool")
            checks.redundant(view, lv_subject(vg, pool), pool_lv, f"the cache {pool}")

    return check


def _threshold_words(args: Args) -> list[str]:
    if args.get("migration_threshold") is None:
        return []
    return ["--cachesettings", f"migration_threshold={args['migration_threshold']}"]


def _attach_commands(args: Args) -> tuple[Command, ...]:
    vg = args["vg"]
    return (
        run(
            "attach",
            "lvconvert",
            "-y",
            "--type",
            "cache",
            "--cachepool",
            f"{vg}/{args['pool']}",
            "--cachemode",
            args["mode"],
            "--cachepolicy",
            "smq",
            *_threshold_words(args),
            f"{vg}/{args['lv']}",
        ),
    )


ATTACH = Verb(
    name="cache.attach",
    title="Attach a cache pool to a volume",
    arguments=arguments(
        {"lv": names.lv_name, "pool": names.made("c"), "mode": _mode},
        {"migration_threshold": _threshold_sectors},
        expects="lv_uuid",
    ),
    commands=_attach_commands,
    identity=checks.usable_volume,
    todo=_attach_todo,
    state=lambda view, call: [
        checks.not_hosts_own(view, call, call.args["lv"]),
        checks.undisturbed(view, call),
        checks.plain_volume(view, call),
        _pool_fits(view, call),
        _redundant(view, call, call.args["mode"], call.args["pool"]),
    ],
    touches=lambda args: frozenset(
        [lv_subject(args["vg"], args["lv"]), lv_subject(args["vg"], args["pool"])]
    ),
    estimate=Estimate(2, 2),
    traits=(
        Trait.SWITCHES_CACHE,
        Trait.NEEDS_PLACE,
        Trait.SPARES_HOST,
    ),
    programs=("cache_check",),
)


def _set_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    cache = _cache(view, call)
    todo = set()
    if call.args.get("policy") not in (None, cache["policy"]):
        todo.add("policy")
    if _threshold_differs(cache, call.args):
        todo.add("settings")
    if call.args.get("mode") not in (None, cache["mode"]):
        todo.add("mode")
    return frozenset(todo)


def _working(view: View, call: VerbCall) -> Check:
    def check() -> None:
        cache = _cache(view, call)
        if cache["failed"] or cache["needs_check"]:
            raise Refusal(
                "degraded",
                f"The cache {cache['pool']} has failed or needs a check.",
                "Stop the guest and run: lvchange -an, lvconvert --repair, lvchange -ay.",
                subject=checks.subject(call),
            )
        if not cache["dirty_known"]:
            raise Refusal(
                "degraded",
                f"The kernel does not say how much of the cache {cache['pool']} is not on the "
                "disk yet.",
                "Look at `dmsetup status` and the last lines of `dmesg` on the host.",
                subject=checks.subject(call),
            )

    return check


def _clean(view: View, call: VerbCall, limit: int) -> Check:
    """LVM flushes what is left under the lock of the whole VG: no other command of that VG could
    run meanwhile, no guest start."""

    def check() -> None:
        dirty = _cache(view, call)["dirty_bytes"]
        if dirty > limit:
            raise Refusal(
                "dirty",
                f"{dirty / MIB:.1f} MiB of the cache are not on the disk yet, "
                f"{limit / MIB:.1f} MiB are allowed.",
                "Flush the cache first (cache.flush), then try again.",
                subject=checks.subject(call),
            )

    return check


def _no_removal_begun(view: View, call: VerbCall) -> Check:
    """LVM empties a cache by a flag beside its policy. Killed half-way it leaves the flag on, and
    `lvchange --cachepolicy` succeeds and changes nothing: only a removal that ends, or a change of
    mode, takes it off. No command is at it now: the VG would be locked."""

    def check() -> None:
        cache = _cache(view, call)
        begun = cache["policy"] == CLEANER and cache["lvm_policy"] not in ("", CLEANER)
        if begun and call.args.get("policy") not in (None, CLEANER):
            raise Refusal(
                "degraded",
                f"A removal of the cache {cache['pool']} was interrupted: it only empties itself, "
                "and LVM cannot put that back.",
                "Finish it: remove the cache (cache.detach), then add one again.",
                subject=checks.subject(call),
            )

    return check


def _set_state(view: View, call: VerbCall) -> list[Check]:
    to_check = [checks.undisturbed(view, call), _working(view, call)]
    mode, cache = call.args.get("mode"), checks.volume(view, call)["cache"]
    if mode is not None and cache is not None and mode != cache["mode"]:
        to_check.append(_clean(view, call, MODE_DIRTY_LIMIT))
        to_check.append(_redundant(view, call, mode, cache["pool"]))
    else:
        to_check.append(_no_removal_begun(view, call))
    return to_check


def _set_commands(args: Args) -> tuple[Command, ...]:
    target = f"{args['vg']}/{args['lv']}"
    steps = []
    # The mode goes first: LVM flushes for it under the VG's lock, and once the cleaner policy is
    # gone the guest makes new dirty data.
    if args.get("mode") is not None:
        steps.append(run("mode", "lvchange", "-y", "--cachemode", args["mode"], target))
    if args.get("policy") is not None:
        steps.append(run("policy", "lvchange", "-y", "--cachepolicy", args["policy"], target))
    if _threshold_words(args):
        steps.append(run("settings", "lvchange", "-y", *_threshold_words(args), target))
    return tuple(steps)


SET = Verb(
    name="cache.set",
    title="Change the settings of an LVM cache",
    arguments=arguments(
        {"lv": names.lv_name},
        {"mode": _mode, "policy": names.choice("smq"), "migration_threshold": _threshold_sectors},
        expects="lv_uuid",
        any_of=("mode", "policy", "migration_threshold"),
    ),
    commands=_set_commands,
    identity=checks.usable_volume,
    todo=_set_todo,
    state=_set_state,
    touches=checks.touches_volume,
    estimate=Estimate(2, 2, work=LongWork.FLUSH_FOR_MODE),
    traits=(
        Trait.SWITCHES_CACHE,
        Trait.NEEDS_PLACE,
    ),
)


def _flush_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    cache = _cache(view, call)
    clean = cache["dirty_known"] and cache["dirty_bytes"] <= call.args["dirty_limit_bytes"]
    return NOTHING if clean and cache["policy"] == CLEANER else None


def _flush_commands(args: Args) -> tuple[Command, ...]:
    target = f"{args['vg']}/{args['lv']}"
    cleaner = ("lvchange", "-y", "--cachepolicy", "cleaner", target)
    flush = run("cleaner", *cleaner, wait="flushed")
    if not _threshold_words(args):
        return (flush,)
    return (run("settings", "lvchange", "-y", *_threshold_words(args), target), flush)


FLUSH = Verb(
    name="cache.flush",
    title="Flush an LVM cache",
    arguments=arguments(
        {"lv": names.lv_name, "dirty_limit_bytes": dirty_limit},
        {"migration_threshold": _threshold_sectors},
        expects="lv_uuid",
    ),
    commands=_flush_commands,
    identity=checks.usable_volume,
    todo=_flush_todo,
    state=lambda view, call: [checks.undisturbed(view, call), _working(view, call)],
    touches=checks.touches_volume,
    settled=False,
    estimate=Estimate(2, 1, work=LongWork.FLUSH),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
        Trait.FLUSHES,
        Trait.NEEDS_PLACE,
    ),
)


def _detach_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    if checks.volume(view, call)["cache"] is None:
        return NOTHING
    return frozenset(("detach",)) | noted(view, call)


def _right_pool(view: View, call: VerbCall) -> Check:
    def check() -> None:
        cache = _cache(view, call)
        if cache["pool"] != call.args["pool"]:
            raise Refusal(
                "stale",
                f"The volume's cache is {cache['pool']}, not {call.args['pool']}.",
                LOOK_AGAIN,
                subject=checks.subject(call),
            )
        provenance.own_pool(view, cache)

    return check


def _detach_commands(args: Args) -> tuple[Command, ...]:
    target, pool = f"{args['vg']}/{args['lv']}", f"{args['pool']}_cpool"
    return (
        vacated_extents.note_vacated(args["vg"], args["lv"], (f"{pool}_cdata", f"{pool}_cmeta")),
        run("detach", "lvconvert", "-y", "--uncache", target, watch="flushed"),
    )


DETACH = Verb(
    name="cache.detach",
    title="Detach an LVM cache and remove its pool",
    arguments=arguments(
        {"lv": names.lv_name, "pool": names.made("c"), "dirty_limit_bytes": dirty_limit},
        expects="lv_uuid",
    ),
    commands=_detach_commands,
    identity=checks.usable_volume,
    todo=_detach_todo,
    state=lambda view, call: [
        checks.undisturbed(view, call),
        _right_pool(view, call),
        _working(view, call),
        _clean(view, call, call.args["dirty_limit_bytes"]),
    ],
    touches=lambda args: frozenset(
        [
            lv_subject(args["vg"], args["lv"]),
            lv_subject(args["vg"], args["pool"]),
            space_subject(args["vg"]),
        ]
    ),
    estimate=Estimate(3, 2, work=LongWork.FLUSH_REST, frees=Frees.CACHE),
    traits=(
        Trait.ABORTABLE,
        Trait.SWITCHES_CACHE,
        Trait.LEAVES_DATA,
        Trait.NEEDS_PLACE,
    ),
)
