"""The options that a job file of an operator's own may have, and what each of them may be.

The list is closed. The lab chooses the device, the logs and the output, so that nothing here names
a file, a device, a command or another machine. Each value is written anew: a number or a word of a
list leaves, never the text that came in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from storage.byte_sizes import GIB, KIB, MIB

Check = Callable[[str], str]

DAY_S: Final = 86_400
LARGEST_BLOCK: Final = 16 * MIB
SMALLEST_BLOCK: Final = 512
BLOCK_SIZES: Final = 32
MOST_JOBS: Final = 32
DEEPEST: Final = 1024

_SIZE = re.compile(r"(\d{1,12})([kmg]?)b?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": KIB, "m": MIB, "g": GIB}
_TIME = re.compile(r"(\d{1,9})(us|ms|s|m|h|d)?", re.IGNORECASE)
_MICROSECONDS: Final = {
    "us": 1,
    "ms": 1000,
    "s": 10**6,
    "m": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": DAY_S * 10**6,
}
_DECIMAL = re.compile(r"\d{1,3}(\.\d{1,6})?")


class OptionError(ValueError):
    """Why a value is refused."""


def whole_number(least: int, most: int) -> Check:
    """A whole number."""

    def check(text: str) -> str:
        if not re.fullmatch(r"[0-9]{1,18}", text) or not least <= int(text) <= most:
            raise OptionError(f"must be a whole number from {least} to {most}")
        return str(int(text))

    return check


def flag(text: str) -> str:
    """On without a value."""
    if text not in ("", "0", "1"):
        raise OptionError("must be 0 or 1")
    return text or "1"


def choice(*words: str) -> Check:
    """One of some words."""

    def check(text: str) -> str:
        if text not in words:
            raise OptionError(f"must be one of {', '.join(words)}")
        return text

    return check


def size_bytes(text: str) -> int:
    """Bytes. fio reads "Ki" as 1000 and "k" as 1024, so that only "k" is clear."""
    match = _SIZE.fullmatch(text)
    if not match:
        raise OptionError("must be a size such as 4k or 1m (not Ki: fio reads that as 1000)")
    return int(match[1]) * _UNITS[match[2].lower()]


def block(text: str) -> int:
    """The bytes of one I/O."""
    value = size_bytes(text)
    if not SMALLEST_BLOCK <= value <= LARGEST_BLOCK or value % SMALLEST_BLOCK:
        raise OptionError("must be a multiple of 512 bytes, at most 16m")
    return value


def for_each_direction(one: Callable[[str], object]) -> Check:
    """Up to three values with commas: reads, writes, trims."""

    def check(text: str) -> str:
        parts = text.split(",")
        if len(parts) > 3:
            raise OptionError("has more than three values")
        return ",".join(str(one(part.strip())) for part in parts)

    return check


def block_range(text: str) -> str:
    """From a least size to a largest one."""
    ends = [block(part) for part in text.split("-")]
    if len(ends) != 2 or ends[0] > ends[1]:
        raise OptionError("must be a range such as 4k-64k")
    return f"{ends[0]}-{ends[1]}"


def split(text: str) -> str:
    """Sizes with their shares: 4k/60:64k/40."""
    parts = [part.split("/") for part in text.split(":")]
    if len(parts) > BLOCK_SIZES or any(len(part) != 2 for part in parts):
        raise OptionError("must be sizes with shares such as 4k/60:64k/40")
    shares = [(block(length), int(whole_number(0, 100)(share))) for length, share in parts]
    if sum(share for _, share in shares) != 100:
        raise OptionError("must have shares that make 100")
    return ":".join(f"{length}/{share}" for length, share in shares)


def volume_share(least: int, most: int) -> Check:
    """A share of the volume."""

    def check(text: str) -> str:
        if not text.endswith("%"):
            raise OptionError("must be a share of the volume such as 50%: the lab chooses its size")
        return f"{whole_number(least, most)(text[:-1])}%"

    return check


def duration(most_s: int, unit: str = "s", least: int = 0) -> Check:
    """A time. Written as seconds, those of thinking as microseconds."""

    def check(text: str) -> str:
        match = _TIME.fullmatch(text)
        if not match:
            raise OptionError("must be a time such as 30 or 10m")
        microseconds = int(match[1]) * _MICROSECONDS[(match[2] or unit).lower()]
        if microseconds > most_s * 10**6:
            raise OptionError(f"must be at most {most_s} s")
        value, rest = divmod(microseconds, _MICROSECONDS[unit])
        if rest or value < least:
            raise OptionError(f"must be at least {least} {unit}, without a fraction")
        return str(value)

    return check


def rate(text: str) -> int:
    """Bytes a second."""
    value = size_bytes(text)
    if not 1 <= value <= 1024 * GIB:
        raise OptionError("must be a rate such as 10m")
    return value


def distribution(text: str) -> str:
    """How often each block is chosen."""
    kind, _, value = text.partition(":")
    if text == "random":
        return text
    if kind == "zoned" and re.fullmatch(r"\d{1,3}/\d{1,3}(:\d{1,3}/\d{1,3}){0,31}", value):
        zones = [tuple(map(int, zone.split("/"))) for zone in value.split(":")]
        if sum(zone[0] for zone in zones) == sum(zone[1] for zone in zones) == 100:
            return text
        raise OptionError("must have zones whose shares make 100")
    limits = {"zipf": (0.0, 10.0), "pareto": (0.0, 1.0), "normal": (0.0, 100.0)}
    if kind in limits and _DECIMAL.fullmatch(value):
        low, high = limits[kind]
        if low < float(value) <= high and not (kind == "zipf" and float(value) == 1):
            return f"{kind}:{float(value):g}"
    raise OptionError("must be random, zipf:1.2, pareto:0.9, normal:50 or zoned:90/10:10/90")


ALIASES: Final = {
    "readwrite": "rw",
    "blocksize": "bs",
    "blocksize_range": "bsrange",
    "wait_for_previous": "stonewall",
}

ALLOWED: Final[Mapping[str, Check]] = {
    "rw": choice("read", "write", "randread", "randwrite", "rw", "readwrite", "randrw"),
    "bs": for_each_direction(block),
    "bsrange": for_each_direction(block_range),
    "bssplit": for_each_direction(split),
    "iodepth": whole_number(1, DEEPEST),
    "iodepth_batch": whole_number(1, DEEPEST),
    "iodepth_batch_submit": whole_number(1, DEEPEST),
    "iodepth_batch_complete": whole_number(0, DEEPEST),
    "iodepth_low": whole_number(1, DEEPEST),
    "numjobs": whole_number(1, MOST_JOBS),
    "rwmixread": whole_number(0, 100),
    "rwmixwrite": whole_number(0, 100),
    "percentage_random": for_each_direction(whole_number(0, 100)),
    "random_distribution": distribution,
    "random_generator": choice("tausworthe", "lfsr", "tausworthe64"),
    "randrepeat": flag,
    "allrandrepeat": flag,
    "randseed": whole_number(0, 2**53),
    "norandommap": flag,
    "rw_sequencer": choice("sequential", "identical"),
    "size": volume_share(1, 100),
    "offset": volume_share(0, 99),
    "runtime": duration(DAY_S, least=1),
    "ramp_time": duration(3600),
    "startdelay": duration(DAY_S),
    "time_based": flag,
    "rate": for_each_direction(rate),
    "rate_iops": for_each_direction(whole_number(1, 10**8)),
    "rate_process": choice("linear", "poisson"),
    "thinktime": duration(3600, "us"),
    "thinktime_spin": duration(3600, "us"),
    "thinktime_blocks": whole_number(1, 10**9),
    "fsync": whole_number(0, 10**9),
    "fdatasync": whole_number(0, 10**9),
    "end_fsync": flag,
    "sync": choice("0", "1", "none", "sync", "dsync"),
    "ioengine": choice("libaio", "io_uring", "psync", "sync"),
    "direct": flag,
    "buffered": flag,
    "invalidate": flag,
    "buffer_compress_percentage": whole_number(0, 100),
    "buffer_compress_chunk": lambda text: str(block(text)),
    "dedupe_percentage": whole_number(0, 100),
    "refill_buffers": flag,
    "zero_buffers": flag,
    "scramble_buffers": flag,
    "stonewall": flag,
    "new_group": flag,
    "group_reporting": flag,
}
"""By fio's name; a check returns the value as it is written for fio."""

_PLACES: Final = (
    "names-a-place",
    "it names a file, a directory or a device: the lab chooses the volume",
)
_COMMANDS: Final = ("runs-a-command", "it runs or loads something else on the host")
_LOGS: Final = ("writes-files", "it writes files on the host: the lab keeps the logs")
_OTHERS: Final = ("reaches-others", "it reaches another machine")
_HOST: Final = ("changes-the-host", "it changes the host or the identity that fio runs as")
_UNKNOWN: Final = ("option-unknown", "it is not on the list of options that the lab accepts")
_FORBIDDEN: Final = (
    (r"filename(_format)?|directory|opendir|include|aux.path|nrfiles|openfiles|filesize", _PLACES),
    (r"read_iolog|replay_.*|merge_blktrace.*|mem|iomem|verify_state.*|spdk.*|.*_?file", _PLACES),
    (r"exec_.*|trigger.*|profile|kernel|script|unlink.*|pre_read|create_.*|allow_.*", _COMMANDS),
    (r"write_.*|log_.*|per_job_logs|output.*|status.interval|dump.*|bandwidth.log", _LOGS),
    (r"server|client|remote.*|hostname|port|listen|daemonize|protocol|interface", _OTHERS),
    (r"uid|gid|cgroup.*|ioscheduler|nice|prio.*|cpus.*|cpumask|numa.*|lockmem|disk_util", _HOST),
)


def why_refused(option: str) -> tuple[str, str]:
    """A code and the reason why an option is not on the list."""
    for pattern, reason in _FORBIDDEN:
        if re.fullmatch(pattern, option):
            return reason
    return _UNKNOWN
