"""What fio does in a run, and the options that a job of one's own may have. Pure: the panel shows
and checks the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HDD, SSD, LVMCACHE, BCACHE = "hdd", "ssd", "lvmcache", "bcache"
TARGETS = (HDD, SSD, LVMCACHE, BCACHE)
CACHED = frozenset((LVMCACHE, BCACHE))
NEW, WARMED, JUNK = "new", "warmed", "junk"
STATES = (NEW, WARMED, JUNK)
OWN, HEAT = "own", "heat"
TAKES_OPTIONS = frozenset((OWN, HEAT))
FILE_TREE, SQL = "file_tree", "sql"
ON_FILES = frozenset((FILE_TREE, SQL))
OPTIONS_LIMIT = 24
ZONES_LIMIT = 100

Option = tuple[str, str]


@dataclass(frozen=True)
class FioProfile:
    """`title` and `about` are for people, and so are the `limits` of what it shows. `options` are
    fio's, beside those that every run has. So much of what it does are writes, 0 to 1, at most;
    `block_bytes` is the usual size of a request."""

    name: str
    title: str
    about: str
    options: tuple[Option, ...] = ()
    limits: str = ""
    write_share: float = 0.0
    block_bytes: int = 4096


PROFILES: Mapping[str, FioProfile] = {
    profile.name: profile
    for profile in (
        FioProfile(
            "zipf_read",
            "hot random reads (zipf 1.2)",
            "A few blocks are read often, many rarely: the load that a cache is for, and that of "
            "the published comparison.",
            (("rw", "randread"), ("random_distribution", "zipf:1.2"), ("norandommap", "1")),
        ),
        FioProfile(
            "mixed",
            "mixed, 70 % reads (zipf 1.2)",
            "The same, and 30 % of the requests write.",
            (
                ("rw", "randrw"),
                ("rwmixread", "70"),
                ("random_distribution", "zipf:1.2"),
                ("norandommap", "1"),
            ),
            write_share=0.3,
        ),
        FioProfile(
            "sequential_read",
            "sequential reads",
            "Large reads one after the other, as a backup makes them. Most caches bypass them.",
            (("rw", "read"),),
            block_bytes=1 << 20,
        ),
        FioProfile(
            "sequential_write",
            "sequential writes",
            "Large writes one after the other, as a restore makes them.",
            (("rw", "write"),),
            write_share=1.0,
            block_bytes=1 << 20,
        ),
        FioProfile(
            "sync_write",
            "database log (synced writes)",
            "Small random writes, each confirmed by the disk before the next, as a database "
            "commits.",
            (("rw", "randwrite"), ("fdatasync", "1"), ("norandommap", "1")),
            write_share=1.0,
        ),
        FioProfile(
            FILE_TREE,
            "tree of small files",
            "Files as large as git's own are written as by a clone, then read in random order as "
            "by a search. A request is a file.",
            limits="Files on an ext4, of the sizes of a git tree; a request is a whole file. They "
            "are written for at most half of the time, through the host's memory, then read again "
            "and again in random order, each time without what memory held. A warmed tree is only "
            "read. Depth and block size have no effect.",
            write_share=0.5,
        ),
        FioProfile(
            SQL,
            "SQL transactions",
            "SQLite reads, changes and adds rows as pgbench does. A request is a transaction.",
            limits="As of pgbench (SQLite, WAL, synchronous=FULL): an account is read and changed, "
            "a line is written. SQLite has one writer at a time, and reads what the host's memory "
            "holds from there. Depth and block size have no effect.",
            write_share=1.0,
        ),
        FioProfile(
            HEAT,
            "heat of a volume, replayed",
            "Blocks are as hot as those of a volume of yours, so that a cache of each size hits as "
            "often as it would there.",
            limits="The order in time is not kept: no loop over many blocks, no phases of day and "
            "night, no blocks read one after the other.",
            write_share=1.0,
        ),
        FioProfile(
            OWN,
            "fio job of your own",
            "One job of a job file, with options from a list of safe ones.",
            write_share=1.0,
        ),
    )
}

_RW = r"(?:read|write|randread|randwrite|rw|readwrite|randrw)"
_NUMBER, _FLAG, _PERCENT = r"[0-9]{1,9}", r"[01]", r"(?:100|[0-9]{1,2})"
_SIZE = r"[0-9]{1,9}[kKmM]?"
_EACH = rf"{_NUMBER}(?:,{_NUMBER}){{0,2}}"
_REAL = r"[0-9]{1,4}(?:\.[0-9]{1,6})?"
_SPLIT = rf"{_SIZE}/{_PERCENT}?(?::{_SIZE}/{_PERCENT}?){{0,15}}"
_SHARE, _EXTENT = rf"{_PERCENT}/{_PERCENT}", rf"{_PERCENT}/[0-9]{{1,15}}"
_MORE = f"{{0,{ZONES_LIMIT - 1}}}"
_ZONED = rf"zoned:{_SHARE}(?::{_SHARE}){_MORE}|zoned_abs:{_EXTENT}(?::{_EXTENT}){_MORE}"
_DISTRIBUTION = rf"(?:random|(?:zipf|pareto|normal):{_REAL}(?::{_REAL})?|{_ZONED})"

ALLOWED: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "rw": _RW,
        "rwmixread": _PERCENT,
        "rwmixwrite": _PERCENT,
        "random_distribution": _DISTRIBUTION,
        "percentage_random": rf"{_PERCENT}(?:,{_PERCENT}){{0,2}}",
        "random_generator": r"(?:tausworthe|lfsr|tausworthe64)",
        "norandommap": _FLAG,
        "bssplit": rf"{_SPLIT}(?:,{_SPLIT}){{0,1}}",
        "rate_iops": _EACH,
        "rate_process": r"(?:linear|poisson)",
        "rate": rf"{_SIZE}(?:,{_SIZE}){{0,2}}",
        "fsync": _NUMBER,
        "fdatasync": _NUMBER,
        "end_fsync": _FLAG,
        "sync": _FLAG,
        "thinktime": _NUMBER,
        "thinktime_blocks": _NUMBER,
        "iodepth_batch_submit": _NUMBER,
        "iodepth_batch_complete_min": _NUMBER,
        "iodepth_batch_complete_max": _NUMBER,
        "refill_buffers": _FLAG,
        "zero_buffers": _FLAG,
        "buffer_compress_percentage": _PERCENT,
        "dedupe_percentage": _PERCENT,
    }.items()
}
"""Options of a job of one's own, with their values. None names a file, a program or a device, or
says how long: that is for the run."""


def own_options(value: Any) -> tuple[list[str], ...]:
    """Pairs of name and value, each of ALLOWED and each once, `rw` among them. They are lists, as
    JSON gives them back."""
    expected = "a list of pairs of a fio option and its value, rw among them"
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= OPTIONS_LIMIT:
        raise ValueError(expected)
    pairs = []
    for item in value:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise ValueError(expected)
        pairs.append(_checked(item[0], item[1]))
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names) or "rw" not in names:
        raise ValueError(expected)
    return tuple([name, value] for name, value in pairs)


def _checked(name: Any, value: Any) -> Option:
    pattern = ALLOWED.get(name) if isinstance(name, str) else None
    if pattern is None:
        raise ValueError(f"without the option {str(name)[:40]!r}, which a run may not have")
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise ValueError(f"with a usable value of {name}, not {str(value)[:40]!r}")
    if name == "random_distribution" and not _is_whole(zones_of(value)):
        raise ValueError("with zones that are reached by 100 % of the requests, none by 0 %")
    return str(name), value


def zones_of(distribution: str) -> list[tuple[int, int]]:
    """The accesses in percent and the size of each zone, in percent or, of `zoned_abs`, in bytes;
    [] where it has none."""
    kind, _, zones = distribution.partition(":")
    if not kind.startswith("zoned"):
        return []
    pairs = [zone.split("/") for zone in zones.split(":")]
    return [(int(percent), int(size)) for percent, size in pairs]


def _is_whole(zones: Sequence[tuple[int, int]]) -> bool:
    """fio takes a size of 0 for what the other zones leave."""
    every = [number for zone in zones for number in zone]
    return not zones or (0 not in every and sum(percent for percent, _ in zones) == 100)


def zoned_bytes(options: Sequence[Sequence[str]]) -> int:
    """What zones of `zoned_abs` take together; 0 without any."""
    value = next((value for name, value in options if name == "random_distribution"), "")
    return sum(size for _, size in zones_of(value)) if value.startswith("zoned_abs") else 0


@dataclass(frozen=True)
class OwnJob:
    """A job file as a run takes it: jobs, depth and block size, and the other options."""

    jobs: int
    iodepth: int
    block_bytes: int
    options: tuple[Option, ...]


_SIZED = re.compile(r"([0-9]{1,9})([kKmM]?)[iI]?[bB]?")
_GIVEN = frozenset(
    (
        "direct",
        "filename",
        "group_reporting",
        "invalidate",
        "ioengine",
        "name",
        "randrepeat",
        "runtime",
        "size",
        "thread",
        "time_based",
    )
)
"""Options that each run sets by itself: a job file may have them, and they count for nothing."""
_ALIASES = {"readwrite": "rw", "blocksize": "bs"}


def read_job_file(text: str) -> OwnJob:
    """The one job of a fio job file. Raises ValueError with a sentence for people."""
    values: dict[str, str] = {}
    jobs = 0
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split(";")[0].strip()
        if not words:
            continue
        if words.startswith("[") and words.endswith("]"):
            jobs += words.lower() != "[global]"
            if jobs > 1:
                raise ValueError(f"Line {number} begins a second job: a run has one.")
            continue
        name, equals, value = (part.strip() for part in words.partition("="))
        name = _ALIASES.get(name, name)
        # fio takes an option without a value for "1".
        values[name] = value if equals else "1"
        if name not in ALLOWED and name not in _GIVEN and name not in ("bs", "iodepth", "numjobs"):
            raise ValueError(f"Line {number}: a run may not have the option {name[:40]}.")
    if "rw" not in values:
        raise ValueError("The job does not say what it does (rw).")
    try:
        options = own_options([pair for pair in values.items() if pair[0] in ALLOWED])
    except ValueError as error:
        raise ValueError(f"The job must be {error}.") from None
    return OwnJob(
        _bounded(values, "numjobs", 1, 16),
        _bounded(values, "iodepth", 1, 256),
        _bytes(values.get("bs", "4k")),
        tuple((name, value) for name, value in options),
    )


def _bounded(values: Mapping[str, str], name: str, least: int, most: int) -> int:
    text = values.get(name, "1")
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}.")
    return int(text)


def _bytes(text: str) -> int:
    match = _SIZED.fullmatch(text)
    size = int(match.group(1)) << {"": 0, "k": 10, "m": 20}[match.group(2).lower()] if match else 0
    if not 512 <= size <= 4 << 20 or size % 512:
        raise ValueError("bs must be one size from 512 bytes to 4 MiB, a multiple of 512.")
    return size
