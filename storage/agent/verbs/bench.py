"""bench.run: one run of fio on scratch volumes that this very operation makes and removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..benchmark import fio_jobs, kept_results, profiles, scratch
from ..benchmark.cleanup import leftovers
from ..benchmark.profiles import BCACHE, CACHED, LVMCACHE, TAKES_OPTIONS
from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands import free_space
from ..commands.command import (
    BY_STOPS,
    CHECK_CACHE,
    CONGESTION,
    DATA_OFFSET_SECTORS,
    OURS,
    REGISTER,
    REMOVE_SCRATCH,
    WIPE,
    Args,
    Command,
    device,
    lv_write,
    run,
    tags,
    write,
)
from ..facts.view import Check, View, lv_subject, space_subject
from ..state.policy import AGENT
from . import checks
from .cset import LEAST_BUCKETS
from .verb import NOTHING, Estimate, LongWork, Trait, Verb

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
LEAST_DATA_BYTES = 16 * MIB
LEAST_SECONDS, MOST_SECONDS = 5, 24 * 3600
# A volume, and a cached one as of pool.create.
TEXT_BYTES = 2600
# Of the disks that a run lies on so much stays free beside it.
SPARED_PERCENT = 2
MODES = ("writethrough", "writeback", "writearound")
CHECK, JUNK, WARM, MEASURE, REMOVE = "check", "junk", "warm", "measure", "remove"
INSTALL = "As root on the host run: apt install fio (Debian, Ubuntu), or dnf install fio"


def _commands(args: Args) -> tuple[Command, ...]:
    vg, key, target = args["vg"], args["key"], args["target"]
    before, behind = _BACKING[target], _CACHES[target]
    path = device(vg, scratch.data_name(key))
    size, pvs = scratch.data_lv_bytes(args), scratch.data_pvs(args)
    create = _lvcreate("create", args, scratch.data_name(key), size, pvs, *WIPE)
    every = [create, *before(args), *_laid_out(args), *behind(args)]
    if args["state"] == profiles.JUNK:
        every.append(_fio(JUNK, fio_jobs.junk_argv(args), args))
    if args["state"] == profiles.WARMED:
        every.append(_fio(WARM, fio_jobs.warm_argv(args), args))
    if target in CACHED:
        shown = "dmsetup status --noflush --target cache"
        if target == BCACHE:
            shown = f"cat /sys/fs/bcache/{scratch.cset_uuid(key)}/cache0/priority_stats"
        every.append(Command(CHECK, (CHECK_CACHE, path), f"{shown} # it must be {args['state']}"))
    flush = run("flush", "blockdev", "--flushbufs", path)
    measure = _fio(MEASURE, fio_jobs.measure_argv(args, kept_results.run_folder(key)), args)
    return (*every, flush, measure, _remove(args))


def _laid_out(args: Args) -> list[Command]:
    """Nothing is read that was not written: a tree of files writes its own."""
    is_on_files = args["profile"] in profiles.ON_FILES
    every = []
    if not is_on_files or args["state"] == profiles.JUNK:
        every.append(_long("layout", fio_jobs.layout_argv(args), args))
    if is_on_files:
        every.append(_fio("mkfs", fio_jobs.mkfs_argv(args), args))
    if args["profile"] == profiles.SQL:
        every.append(_long("fill", fio_jobs.fill_argv(args), args))
    return every


def _long(name: str, words: tuple[str, ...], args: Args) -> Command:
    return replace(_fio(name, words, args), pace=BY_STOPS, watch="laid_out")


def _fio(name: str, words: tuple[str, ...], args: Args) -> Command:
    """Without the agent's lock on the VG: it may take a day."""
    made = run(name, *words, locked=False)
    shown = repr(fio_jobs.BCACHE_OF)[1:-1]
    shell = made.shell.replace(f"'--filename={shown}'", _top_word(args))
    return replace(made, shell=shell.replace(f"'{shown}'", f'"{fio_jobs.top_in_shell(args)}"'))


def _top_word(args: Args) -> str:
    return f'--filename="{fio_jobs.top_in_shell(args)}"'


def _lvcreate(
    step: str, args: Args, name: str, size_bytes: int, pvs: Sequence[str], *kind: str
) -> Command:
    words = ["lvcreate", "-y", *kind, "-n", name, "-L", f"{size_bytes}b"]
    words += [*tags(OURS, scratch.bench_tag(args["key"])), args["vg"]]
    return run(step, *words, *(f"/dev/{pv}" for pv in pvs))


def _remove(args: Args) -> Command:
    """Whatever of it there is by then: what each way of removing it does."""
    vg, key, target = args["vg"], args["key"], args["target"]
    data, cache = f"{vg}/{scratch.data_name(key)}", f"{vg}/{scratch.cache_name(key)}"
    lines = [f"lvremove -y {data}"]
    if target == BCACHE:
        stop = f"/sys/block/$(basename $(realpath /dev/{data}))/bcache/stop"
        lines = [
            f"echo 1 > {stop}",
            f"wipefs -a -t bcache /dev/{data}",
            *lines,
            f"echo 1 > /sys/fs/bcache/{scratch.cset_uuid(key)}/unregister",
            f"wipefs -a -t bcache /dev/{cache}",
            f"lvremove -y {cache}",
        ]
    return Command(REMOVE, (REMOVE_SCRATCH, data), " && ".join(lines), locked=False)


def _no_commands(args: Args) -> list[Command]:
    return []


def _pool(args: Args) -> list[Command]:
    """The pool is never a guest's, so that nothing of it needs zeroing."""
    vg, pool = args["vg"], scratch.cache_name(args["key"])
    kind = ("--type", "cache-pool", "--chunksize", f"{args.get('chunk_kib', 64)}k")
    pvs = scratch.cache_pvs(args)
    return [
        _lvcreate("pool", args, pool, args["cache_bytes"], pvs, *kind),
        run(
            "attach",
            "lvconvert",
            "-y",
            "--type",
            "cache",
            "--cachepool",
            f"{vg}/{pool}",
            "--cachemode",
            args.get("mode", "writethrough"),
            "--cachepolicy",
            "smq",
            f"{vg}/{scratch.data_name(args['key'])}",
        ),
    ]


def _backing(args: Args) -> list[Command]:
    path = device(args["vg"], scratch.data_name(args["key"]))
    offset = ("--data-offset", str(DATA_OFFSET_SECTORS))
    register = write("register", REGISTER, path, wait="backing_registered")
    return [
        run("module", "modprobe", "bcache"),
        run("format", "make-bcache", *offset, "-B", path),
        replace(register, about=_about(args)),
    ]


def _about(args: Args, name: str = "") -> Args:
    lv = name or scratch.data_name(args["key"])
    return {"lv": lv, "cset_uuid": scratch.cset_uuid(args["key"])}


def _cset(args: Args) -> list[Command]:
    key, name = args["key"], scratch.cache_name(args["key"])
    uuid, path = scratch.cset_uuid(key), device(args["vg"], name)
    bucket = f"{args.get('chunk_kib', 512)}k"
    cutoff = str(args.get("sequential_cutoff_kib", 4096) * KIB)
    named, about = {**args, "lv": scratch.data_name(key)}, _about(args)
    register = write("register-cache", REGISTER, path, wait="cset_registered")
    attached = [
        lv_write(named, "cache_mode", args.get("mode", "writethrough")),
        lv_write(named, "sequential_cutoff", cutoff),
        lv_write(named, "attach", uuid, wait="attached"),
    ]
    pvs = scratch.cache_pvs(args)
    return [
        _lvcreate("create-cache", args, name, args["cache_bytes"], pvs, *WIPE),
        run("format-cache", "make-bcache", "--cset-uuid", uuid, "--bucket", bucket, "-C", path),
        replace(register, about=_about(args, name)),
        *(write(each, f"/sys/fs/bcache/{uuid}/{each}", "0") for each in CONGESTION),
        *(replace(each, about=about) for each in attached),
    ]


_BACKING = {**dict.fromkeys(profiles.TARGETS, _no_commands), BCACHE: _backing}
_CACHES = {**dict.fromkeys(profiles.TARGETS, _no_commands), LVMCACHE: _pool, BCACHE: _cset}


def _bad(message: str) -> Refusal:
    return Refusal("bad_request", message, "Correct the run and order it anew.")


def _coherent(view: View, call: VerbCall) -> Check:
    """The arguments fit each other."""

    def check() -> None:
        args = call.args
        target, is_cached = args["target"], args["target"] in CACHED
        if is_cached != bool(args["cache_bytes"]) or is_cached != ("mode" in args):
            raise _bad("cache_bytes and mode belong to lvmcache and bcache, and to nothing else.")
        if not scratch.data_pvs(args) or (is_cached and not scratch.cache_pvs(args)):
            raise _bad("slow_pvs and fast_pvs must name the disks that the target lies on.")
        if set(args.get("slow_pvs", ())) & set(args.get("fast_pvs", ())):
            raise _bad("One disk cannot be both slow and fast.")
        if target != BCACHE and (args.get("mode") == MODES[2] or "sequential_cutoff_kib" in args):
            raise _bad("writearound and sequential_cutoff_kib belong to bcache.")
        if args["state"] == profiles.JUNK and not is_cached:
            raise _bad("Only a cache can be full of junk.")
        if (args["state"] == profiles.WARMED) != ("warm_seconds" in args):
            raise _bad("warm_seconds belongs to the state warmed, and to no other.")
        if (args["profile"] in TAKES_OPTIONS) != ("options" in args):
            raise _bad("options belong to the profiles own and heat, and to no other.")
        if profiles.zoned_bytes(args.get("options", ())) > args["data_bytes"]:
            raise _bad("The zones of the requests are larger than the data.")
        if args["data_bytes"] < args["block_bytes"] * args["iodepth"]:
            raise _bad("The data must be larger than all requests under way.")
        _check_chunks(args)

    return check


def _check_chunks(args: Args) -> None:
    chunk = args.get("chunk_kib", 64 if args["target"] == LVMCACHE else 512)
    if args["target"] == LVMCACHE:
        if chunk % 32 or args["cache_bytes"] % (chunk * KIB):
            raise _bad("The chunks of an LVM cache are multiples of 32 KiB, and fill it wholly.")
        if args["cache_bytes"] // (chunk * KIB) > free_space.MAX_CHUNKS:
            raise _bad(
                f"A cache pool has at most {free_space.MAX_CHUNKS} chunks: take larger ones."
            )
    if args["target"] == BCACHE:
        if chunk & (chunk - 1) or not 4 <= chunk <= 16384:
            raise _bad("The buckets of bcache are a power of two from 4 to 16384 KiB.")
        if args["cache_bytes"] // (chunk * KIB) <= LEAST_BUCKETS:
            raise _bad(f"A bcache cache needs more than {LEAST_BUCKETS} buckets.")


def _permitted(view: View, call: VerbCall) -> Check:
    """Root has allowed benchmarks, and as much space for them; one at work goes on."""

    def check() -> None:
        if _is_at_work(view, call) or kept_results.has_ended(view.host, call.args["key"]):
            return
        most, needed = view.policy.benchmark_bytes, _bytes(call.args)
        gib = max(1, -(-needed // GIB))
        if not most:
            raise Refusal(
                "vg_not_allowed",
                "This host does not let the panel run benchmarks.",
                f"As root on the host run: {AGENT} allow-benchmarks {gib}",
            )
        if needed > most:
            raise Refusal(
                "vg_not_allowed",
                f"The run needs {needed / GIB:.1f} GiB, and root allows {most / GIB:.1f} GiB to "
                "benchmarks.",
                f"Take less, or as root on the host run: {AGENT} allow-benchmarks {gib}",
            )

    return check


def _is_at_work(view: View, call: VerbCall) -> bool:
    """Its volume is there: what this very operation has made. What an earlier one left under the
    key is removed before the checks that count."""
    lv = view.find_lv(call.args["vg"], scratch.data_name(call.args["key"]))
    return lv is not None and scratch.key_of(lv) == call.args["key"]


def _bytes(args: Args) -> int:
    return scratch.data_lv_bytes(args) + int(args["cache_bytes"])


def _names_are_free(view: View, call: VerbCall) -> Check:
    """Neither name is taken by anything but what an earlier try of this run left."""

    def check() -> None:
        vg, key = call.args["vg"], call.args["key"]
        for name in (scratch.data_name(key), scratch.cache_name(key)):
            lv = view.find_lv(vg, name)
            if lv is not None and scratch.key_of(lv) != key:
                raise Refusal(
                    "already_exists",
                    f"{vg}/{name} exists, and no benchmark made it.",
                    "Nothing was touched. Find out who made it, then order the run again.",
                    subject=lv_subject(vg, name),
                )

    return check


def _todo(view: View, call: VerbCall) -> frozenset[str] | None:
    """Whatever became of a run, it is not run again under its key."""
    if not kept_results.has_ended(view.host, call.args["key"]):
        return None
    left = [lv for lv in leftovers(view.facts) if scratch.key_of(lv) == call.args["key"]]
    return frozenset((REMOVE,)) if left else NOTHING


def _has_fio(view: View) -> Check:
    def check() -> None:
        if not view.host.has_tool("fio"):
            raise Refusal("unsupported", "fio is not installed on this host.", INSTALL)

    return check


def _has_room_for_results(view: View, call: VerbCall) -> Check:
    def check() -> None:
        kept = kept_results.ended_runs(view.host)
        if len(kept) >= kept_results.KEPT_LIMIT and not _is_at_work(view, call):
            raise Refusal(
                "busy",
                f"This host keeps {kept_results.KEPT_LIMIT} results that no panel has taken.",
                "The panel takes them by itself. Of another panel they are below "
                f"{kept_results.FOLDER} on the host.",
            )

    return check


def _space(view: View, call: VerbCall) -> Check:
    """Both tiers have room. What earlier runs left is removed before anything is made."""

    def check() -> None:
        args = call.args
        if _is_at_work(view, call):
            return
        extent = view.vg(args["vg"])["extent_bytes"]
        needed = {tuple(scratch.data_pvs(args)): scratch.data_lv_bytes(args)}
        if args["target"] in CACHED:
            chunk = args.get("chunk_kib", 64) * KIB
            is_pool = args["target"] == LVMCACHE
            more = free_space.pool_overhead(args["cache_bytes"], chunk, extent, 0) if is_pool else 0
            needed[tuple(scratch.cache_pvs(args))] = args["cache_bytes"] + more
        for pvs, size_bytes in needed.items():
            named = view.pvs(args["vg"], pvs)
            free = sum(pv["free_bytes"] for pv in named) + _left_bytes(view, pvs)
            # Customers' volumes grow meanwhile.
            free -= sum(pv["size_bytes"] for pv in named) * SPARED_PERCENT // 100
            if free < -(-size_bytes // extent) * extent:
                raise Refusal(
                    "no_space",
                    f"{size_bytes / MIB:.0f} MiB are needed on {', '.join(pvs)}, "
                    f"{max(0, free) / MIB:.0f} MiB may be taken: {SPARED_PERCENT} % of the disks "
                    "stay free.",
                    "Take less data or a smaller cache, or other disks.",
                    subject=space_subject(args["vg"]),
                )

    return check


def _left_bytes(view: View, pvs: Sequence[str]) -> int:
    """What earlier runs left on these disks, hidden parts too."""
    parts: set[str] = set()
    for lv in leftovers(view.facts):
        parts |= {lv["uuid"], *lv["parts"]}
    return sum(
        lv["size_bytes"]
        for lv in view.facts["lvs"]
        if lv["uuid"] in parts
        and lv["layout"] == ["linear"]
        and set(view.pvs_under(lv)) <= set(pvs)
    )


def _subjects(args: Args) -> frozenset[str]:
    vg, key = args["vg"], args["key"]
    made = (scratch.data_name(key), scratch.cache_name(key))
    return frozenset((*(lv_subject(vg, name) for name in made), space_subject(vg)))


RUN = Verb(
    name="bench.run",
    title="Run a benchmark on scratch volumes",
    arguments=arguments(
        {
            "key": names.volume_key,
            "target": names.choice(*profiles.TARGETS),
            "data_bytes": names.integer(LEAST_DATA_BYTES, names.MAX_BYTES, MIB),
            "cache_bytes": names.integer(0, names.MAX_BYTES, 32 * KIB),
            "state": names.choice(*profiles.STATES),
            "profile": names.choice(*profiles.PROFILES),
            "seconds": names.integer(LEAST_SECONDS, MOST_SECONDS),
            "seed": names.integer(1, (1 << 31) - 1),
            "jobs": names.integer(1, 16),
            "iodepth": names.integer(1, 256),
            "block_bytes": names.integer(512, 4 * MIB, 512),
        },
        {
            "slow_pvs": names.devices,
            "fast_pvs": names.devices,
            "mode": names.choice(*MODES),
            "chunk_kib": names.integer(4, 1 << 20),
            "sequential_cutoff_kib": names.integer(0, 1 << 20),
            "warm_seconds": names.integer(1, MOST_SECONDS),
            "options": profiles.own_options,
        },
    ),
    commands=_commands,
    identity=lambda view, call: [
        _coherent(view, call),
        checks.vg(view, call),
        checks.vg_whole(view, call),
        _permitted(view, call),
        _names_are_free(view, call),
    ],
    todo=_todo,
    state=lambda view, call: [
        _has_fio(view),
        _has_room_for_results(view, call),
        _space(view, call),
        free_space.described(view, call, TEXT_BYTES),
    ],
    touches=_subjects,
    estimate=Estimate(10, 4, work=LongWork.BENCHMARK),
    traits=(Trait.LASTING, Trait.ABORTABLE),
    text_bytes=TEXT_BYTES,
)
