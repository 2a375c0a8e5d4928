"""Verb and arguments -> the exact commands, in order. Pure; nobody else builds commands.

A preview shows these very objects, so nothing here may depend on the state of the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Callable

from . import extension, retirement, vacated_extents
from .command import (
    CONGESTION,
    DATA_OFFSET_SECTORS,
    FORMAT_BCACHE,
    MADE_CSET,
    MADE_POOL,
    OURS,
    REGISTER,
    WIPE,
    ZEROING,
    Args,
    Command,
    device,
    volume_tag,
    zero,
)
from .command import lv_write as _lv_write
from .command import run as _run
from .command import tags as _tags
from .command import write as _write

METADATA_AREA = "16m"


def commands(verb: str, args: Args) -> tuple[Command, ...]:
    """The commands of a mutating verb; KeyError for any other verb."""
    return BUILDERS[verb](args)


def _lvcreate(
    args: Args, kind: Sequence[str], *, settings: Sequence[str] = (), tags: Sequence[str] = ()
) -> Command:
    """`kind` and `settings` around the name and the size; the PVs to lie on are always given."""
    words = ["lvcreate", "-y", *kind, "-n", args["name"], "-L", f"{args['size_bytes']}b"]
    words += [*settings, *_tags(OURS, volume_tag(args["volume_key"]), *tags), args["vg"]]
    return _run("create", *words, *(f"/dev/{pv}" for pv in args["pvs"]))


def _volume_create(args: Args) -> tuple[Command, ...]:
    vg, name = args["vg"], args["name"]
    tags = [ZEROING, FORMAT_BCACHE] if args["layout"] == "bcache" else [ZEROING]
    return (
        _lvcreate(args, WIPE, tags=tags),
        zero(device(vg, name)),
        _run("zeroed", "lvchange", "--deltag", ZEROING, f"{vg}/{name}"),
    )


def _volume_tag(args: Args) -> tuple[Command, ...]:
    tags = _tags(OURS, volume_tag(args["volume_key"]))
    return (_run("tag", "lvchange", *tags, f"{args['vg']}/{args['lv']}"),)


def _pool_create(args: Args) -> tuple[Command, ...]:
    chunk = ("--chunksize", f"{args['chunk_kib']}k")
    return (_lvcreate(args, ("--type", "cache-pool"), settings=chunk, tags=[MADE_POOL]),)


def _pool_remove(args: Args) -> tuple[Command, ...]:
    vg, pool = args["vg"], args["pool"]
    remove = _run("remove", "lvremove", "-y", f"{vg}/{pool}")
    if "lv" not in args:
        return (remove,)
    return (vacated_extents.note(vg, args["lv"], (f"{pool}_cdata", f"{pool}_cmeta")), remove)


def _threshold(args: Args) -> list[str]:
    if args.get("migration_threshold") is None:
        return []
    return ["--cachesettings", f"migration_threshold={args['migration_threshold']}"]


def _cache_attach(args: Args) -> tuple[Command, ...]:
    vg = args["vg"]
    return (
        _run(
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
            *_threshold(args),
            f"{vg}/{args['lv']}",
        ),
    )


def _cache_set(args: Args) -> tuple[Command, ...]:
    target = f"{args['vg']}/{args['lv']}"
    steps = []
    # The mode goes first: LVM flushes for it under the VG's lock, and once the cleaner policy is
    # gone the guest makes new dirty data.
    if args.get("mode") is not None:
        steps.append(_run("mode", "lvchange", "-y", "--cachemode", args["mode"], target))
    if args.get("policy") is not None:
        steps.append(_run("policy", "lvchange", "-y", "--cachepolicy", args["policy"], target))
    if _threshold(args):
        steps.append(_run("settings", "lvchange", "-y", *_threshold(args), target))
    return tuple(steps)


def _cache_flush(args: Args) -> tuple[Command, ...]:
    target = f"{args['vg']}/{args['lv']}"
    cleaner = ("lvchange", "-y", "--cachepolicy", "cleaner", target)
    flush = _run("cleaner", *cleaner, wait="flushed")
    if not _threshold(args):
        return (flush,)
    return (_run("settings", "lvchange", "-y", *_threshold(args), target), flush)


def _cache_detach(args: Args) -> tuple[Command, ...]:
    target, pool = f"{args['vg']}/{args['lv']}", f"{args['pool']}_cpool"
    return (
        vacated_extents.note(args["vg"], args["lv"], (f"{pool}_cdata", f"{pool}_cmeta")),
        _run("detach", "lvconvert", "-y", "--uncache", target, watch="flushed"),
    )


def _cache_drop(args: Args) -> tuple[Command, ...]:
    """The same words as for a cache that is there: LVM asks whether the lost one may go, and would
    refuse a writeback one without the force that this agent never uses."""
    return (_run("drop", "lvconvert", "-y", "--uncache", f"{args['vg']}/{args['lv']}"),)


def _ssd_prepare(args: Args) -> tuple[Command, ...]:
    """The usual metadata area, 1 MiB, is full with some 270 cached volumes, and never grows.
    Without `-y`: should there be a signature after all, LVM asks, gets no answer and stops."""
    path = f"/dev/{args['device']}"
    return (
        _run("create", "pvcreate", "--metadatasize", METADATA_AREA, path),
        _run("extend", "vgextend", args["vg"], path),
    )


def _cset_create(args: Args) -> tuple[Command, ...]:
    vg, name = args["vg"], args["name"]
    return (
        _lvcreate(args, WIPE, tags=[MADE_CSET]),
        _run("module", "modprobe", "bcache"),
        _run(
            "format",
            "make-bcache",
            "--cset-uuid",
            args["cset_uuid"],
            "--bucket",
            f"{args['bucket_kib']}k",
            "-C",
            device(vg, name),
        ),
        _write("register", REGISTER, device(vg, name), wait="cset_registered"),
    )


def _cset_remove(args: Args) -> tuple[Command, ...]:
    vg, name = args["vg"], args["name"]
    rest = (
        _run("wipe", "wipefs", "-a", "-t", "bcache", device(vg, name)),
        zero(device(vg, name)),
        _run("remove", "lvremove", "-y", f"{vg}/{name}"),
    )
    if args.get("cset_uuid") is None:
        return rest
    unregister = f"/sys/fs/bcache/{args['cset_uuid']}/unregister"
    return (_write("unregister", unregister, "1", wait="cset_gone"), *rest)


def _bcache_format(args: Args) -> tuple[Command, ...]:
    vg, lv = args["vg"], args["lv"]
    return (
        _run("module", "modprobe", "bcache"),
        _run(
            "format",
            "make-bcache",
            "--data-offset",
            str(DATA_OFFSET_SECTORS),
            "-B",
            device(vg, lv),
        ),
        _write("register", REGISTER, device(vg, lv), wait="backing_registered"),
        _run("formatted", "lvchange", "--deltag", FORMAT_BCACHE, f"{vg}/{lv}"),
    )


def _bcache_attach(args: Args) -> tuple[Command, ...]:
    # The set serves one volume on its own SSD space. By default bcache sends reads past a cache
    # that once took 2 ms, and the volume never warms up on a busy host.
    cset = f"/sys/fs/bcache/{args['cset_uuid']}"
    # The mode goes before the cache: one left from an earlier cache must not hold for one moment.
    return (
        *(_write(each, f"{cset}/{each}", "0") for each in CONGESTION),
        _lv_write(args, "cache_mode", args["cache_mode"]),
        _lv_write(args, "sequential_cutoff", str(args["sequential_cutoff_bytes"])),
        _lv_write(args, "attach", args["cset_uuid"], wait="attached"),
    )


def _bcache_detach(args: Args) -> tuple[Command, ...]:
    return (_lv_write(args, "detach", "1", wait="detached"),)


def _bcache_set(args: Args) -> tuple[Command, ...]:
    steps = []
    if args.get("cache_mode") is not None:
        steps.append(_lv_write(args, "cache_mode", args["cache_mode"]))
    if args.get("sequential_cutoff_bytes") is not None:
        cutoff = str(args["sequential_cutoff_bytes"])
        steps.append(_lv_write(args, "sequential_cutoff", cutoff))
    if args.get("writeback_percent") is not None:
        percent = str(args["writeback_percent"])
        steps.append(_lv_write(args, "writeback_percent", percent))
    return tuple(steps)


def _bcache_flush(args: Args) -> tuple[Command, ...]:
    """In writethrough the guest makes no new dirty data, and with writeback_percent 0 the kernel
    writes back without a brake; afterwards that is put back to what was wished. The mode is for
    bcache.set to put back."""
    percent = str(args["writeback_percent"])
    return (
        _lv_write(args, "cache_mode", "writethrough"),
        _lv_write(args, "writeback_percent", "0", name="unbrake"),
        _lv_write(args, "writeback_running", "1", wait="bcache_flushed"),
        _lv_write(args, "writeback_percent", percent),
    )


def _bcache_stop(args: Args) -> tuple[Command, ...]:
    return (_lv_write(args, "stop", "1", wait="stopped"),)


BUILDERS: Mapping[str, Callable[[Args], tuple[Command, ...]]] = {
    **retirement.BUILDERS,
    **extension.BUILDERS,
    "volume.create": _volume_create,
    "volume.tag": _volume_tag,
    "pool.create": _pool_create,
    "pool.remove": _pool_remove,
    "cache.attach": _cache_attach,
    "cache.set": _cache_set,
    "cache.flush": _cache_flush,
    "cache.detach": _cache_detach,
    "cache.drop": _cache_drop,
    "ssd.prepare": _ssd_prepare,
    "cset.create": _cset_create,
    "cset.remove": _cset_remove,
    "bcache.format": _bcache_format,
    "bcache.attach": _bcache_attach,
    "bcache.detach": _bcache_detach,
    "bcache.flush": _bcache_flush,
    "bcache.set": _bcache_set,
    "bcache.stop": _bcache_stop,
}
