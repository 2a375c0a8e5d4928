"""Pages of the kernel's ring buffer, built by its documented format."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from storage.agent.kernel.trace_pages import PageFormat, event_format, page_format

HEADER_PAGE = """\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
NUMBER = 1042
FORMAT = f"""name: block_bio_queue
ID: {NUMBER}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[8];\toffset:28;\tsize:8;\tsigned:0;
\tfield:char comm[16];\toffset:36;\tsize:16;\tsigned:0;

print fmt: "%d,%d %s %llu + %u [%s]", ((unsigned int) ((REC->dev) >> 20)), REC->comm
"""
PAGE: PageFormat = page_format(HEADER_PAGE)
EVENT = event_format(FORMAT)
SHORTEST_DELTA = 1 << 27


@dataclass(frozen=True)
class Event:
    """An I/O, or another event (`number`); `delta_ns` after the one before. `form`: "short" has its
    length in its type, "long" in a word of its own, "discarded" was given up by its writer."""

    delta_ns: int
    device: int = 0
    sector: int = 0
    sectors: int = 8
    letters: bytes = b"R"
    number: int = NUMBER
    form: str = "short"
    is_absolute: bool = False


def body(event: Event) -> bytes:
    """What the event itself writes: 52 bytes."""
    head = struct.pack("<HBBi", event.number, 0, 0, 4711)
    place = struct.pack("<I4xQI", event.device, event.sector, event.sectors)
    return head + place + event.letters.ljust(8, b"\0") + b"qemu".ljust(16, b"\0")


def page(ns: int, events: Sequence[Event], *, missed: int | None = None) -> bytes:
    """`missed` events were lost before this page."""
    data = b""
    now_ns = ns
    for event in events:
        now_ns += event.delta_ns
        delta = event.delta_ns
        if event.is_absolute:
            stamp = now_ns & ((1 << 59) - 1)
            data += struct.pack("<II", 31 | (stamp & SHORTEST_DELTA - 1) << 5, stamp >> 27)
            delta = 0
        elif delta >= SHORTEST_DELTA:
            data += struct.pack("<II", 30 | (delta & SHORTEST_DELTA - 1) << 5, delta >> 27)
            delta = 0
        content = body(event)
        if event.form == "short":
            data += struct.pack("<I", len(content) // 4 | delta << 5) + content
        else:
            kind = {"long": 0, "discarded": 29}[event.form]
            delta = max(1, delta) if kind else delta
            data += struct.pack("<II", kind | delta << 5, len(content) + 4) + content
    commit = len(data)
    if missed is not None:
        commit |= 1 << 31 | 1 << 30
        data += struct.pack("<Q", missed)
    return (struct.pack("<QQ", ns, commit) + data).ljust(4096, b"\0")
