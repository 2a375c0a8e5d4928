"""The command lines of fio. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from ..commands.command import device
from ..state.policy import AGENT
from . import scratch
from .profiles import BCACHE, ON_FILES, PROFILES, TAKES_OPTIONS, Option
from .scratch import Args

LOADER, MKFS = "python3", "mkfs.ext4"
LOADS = frozenset(("fio", LOADER))
LAYOUT_BLOCK = 1 << 20
# Rows of a log, for each job: the logs of a day are not longer than those of two hours.
ROWS, HISTOGRAM_ROWS = 14_400, 3_600
LEAST_MS, LEAST_HISTOGRAM_MS = 500, 1000
PERCENTILES = "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99"
# No job needs longer to fill a cache that it will ever fill.
MOST_JUNK_SECONDS = 3600
# Stands for the bcacheN of the run's volume, which is known when it runs.
BCACHE_OF = "<bcache of the run>"


def top_path(args: Args) -> str:
    """What fio opens."""
    is_bcache = args["target"] == BCACHE
    return BCACHE_OF if is_bcache else device(args["vg"], scratch.data_name(args["key"]))


def top_in_shell(args: Args) -> str:
    path = device(args["vg"], scratch.data_name(args["key"]))
    if args["target"] != BCACHE:
        return path
    below = f"/sys/block/$(basename $(realpath {path}))"
    return f"/dev/$(basename $(readlink {below}/bcache/dev))"


def _words(options: Iterable[Option]) -> tuple[str, ...]:
    return ("fio", *(f"--{name}={value}" for name, value in options))


def _of_every(name: str, args: Args) -> list[Option]:
    """Threads, not processes: a signal to the one program reaches all of it."""
    return [
        ("name", name),
        ("filename", top_path(args)),
        ("thread", "1"),
        ("ioengine", "libaio"),
        ("direct", "1"),
        ("invalidate", "1"),
        ("randrepeat", "0"),
        ("allrandrepeat", "0"),
        ("randseed", str(args["seed"])),
    ]


def _on_files(name: str, args: Args, *more: Option) -> tuple[str, ...]:
    """The agent itself (file_loads.py), with fio's names of options."""
    every = [
        ("name", name),
        ("profile", args["profile"]),
        ("filename", top_path(args)),
        ("randseed", str(args["seed"])),
        ("size", str(args["data_bytes"])),
        ("numjobs", str(args["jobs"])),
        *more,
    ]
    return (LOADER, AGENT, "benchmark-load", *(f"--{name}={value}" for name, value in every))


def fill_argv(args: Args) -> tuple[str, ...]:
    """Fills a database, before a cache is there."""
    return _on_files("fill", args)


def mkfs_argv(args: Args) -> tuple[str, ...]:
    """On the data alone, without the region of junk."""
    later = ("-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1")
    size = f"{args['data_bytes'] >> 10}k"
    return (MKFS, "-q", "-F", "-m", "0", "-b", "4096", *later, top_path(args), size)


def layout_argv(args: Args) -> tuple[str, ...]:
    """Writes all data once, before a cache is there."""
    size = args["data_bytes"] + scratch.junk_bytes(args)
    return _words(
        [
            *_of_every("layout", args),
            ("rw", "write"),
            ("bs", str(LAYOUT_BLOCK)),
            ("iodepth", "4"),
            ("output-format", "terse"),
            ("size", str(size)),
        ]
    )


def junk_argv(args: Args) -> tuple[str, ...]:
    """Reads at random behind the data, until the cache is full: it is stopped then. Each read
    takes one chunk, or what bcache would not let pass."""
    block = min(args.get("chunk_kib", 64) << 10, 65536)
    return _words(
        [
            *_of_every("junk", args),
            ("rw", "randread"),
            ("norandommap", "0"),
            ("bs", str(block)),
            ("iodepth", "8"),
            ("offset", str(args["data_bytes"])),
            ("size", str(scratch.junk_bytes(args))),
            ("time_based", "1"),
            ("runtime", str(MOST_JUNK_SECONDS)),
        ]
    )


def _profile(args: Args) -> list[Option]:
    profile = args["profile"]
    options = args.get("options", ()) if profile in TAKES_OPTIONS else PROFILES[profile].options
    return [
        *((str(name), str(value)) for name, value in options),
        ("bs", str(args["block_bytes"])),
        ("iodepth", str(args["iodepth"])),
        ("numjobs", str(args["jobs"])),
        ("size", str(args["data_bytes"])),
        ("time_based", "1"),
    ]


def warm_argv(args: Args) -> tuple[str, ...]:
    """The same as is measured: with another seed other blocks would be hot."""
    seconds = ("runtime", str(args.get("warm_seconds", 0)))
    if args["profile"] in ON_FILES:
        return _on_files("warm", args, seconds)
    return _words([*_of_every("warm", args), *_profile(args), seconds])


def log_ms(args: Args) -> int:
    """Between two rows of the log of IOPS, and of our own."""
    return max(LEAST_MS, -(-int(args["seconds"]) * 1000 // ROWS))


def histogram_ms(args: Args) -> int:
    rows = HISTOGRAM_ROWS // int(args["jobs"])
    return max(LEAST_HISTOGRAM_MS, -(-int(args["seconds"]) // rows) * 1000)


def measure_argv(args: Args, folder: str) -> tuple[str, ...]:
    here = PurePosixPath(folder)
    if args["profile"] in ON_FILES:
        return _on_files(
            "measured",
            args,
            ("runtime", str(args["seconds"])),
            ("log_avg_msec", str(log_ms(args))),
            ("write_iops_log", str(here / "iops")),
            ("output", str(here / "fio.json")),
        )
    return _words(
        [
            *_of_every("measured", args),
            *_profile(args),
            ("runtime", str(args["seconds"])),
            ("log_avg_msec", str(log_ms(args))),
            ("write_iops_log", str(here / "iops")),
            ("log_hist_msec", str(histogram_ms(args))),
            ("write_hist_log", str(here / "hist")),
            ("percentile_list", PERCENTILES),
            ("output-format", "json+"),
            ("output", str(here / "fio.json")),
        ]
    )
