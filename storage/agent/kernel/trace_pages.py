"""What ftrace hands over of its ring buffer: pages in binary, and the two files that describe them.
Pure.

A page of `trace_pipe_raw` is `struct buffer_data_page`: the time of its first event, the number of
bytes that follow (`commit`, with flags in its high bits), then events. Each begins with 32 bits: 5
of its kind and length, 27 of the time that passed since the event before
(include/linux/ring_buffer.h). Offsets come from `events/header_page` and from the `format` of the
event, since they differ between kernels.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

LONGEST_SHORT, PADDING, TIME_EXTEND, TIME_STAMP = 28, 29, 30, 31
DELTA_BITS = 27
# An absolute time has 59 bits: the upper ones are those of the time before.
STAMP_MASK = (1 << 59) - 1
# Flags of `commit`: events before this page were lost, and their number stands behind its events.
MISSED = 1 << 31
COMMIT_MASK = (1 << 30) - 1

TracedIo = tuple[int, int, int, int, bytes]
"""(time in ns, device as `major << 20 | minor`, first sector, number of sectors, the first two
letters of what kind of I/O it is)."""

_FIELD = re.compile(
    r"field:\s*(?P<declared>[^;]+);\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);"
)
_ID = re.compile(r"(?m)^ID:\s*(\d+)\s*$")
_HEADER = struct.Struct("<I")
_LONG_HEADER = struct.Struct("<II")
_FIELDS = ("common_type", "dev", "sector", "nr_sector", "rwbs")
_CODES = {"common_type": ("H", 2), "dev": ("I", 4), "sector": ("Q", 8), "nr_sector": ("I", 4)}


@dataclass(frozen=True)
class PageFormat:
    """Where the parts of a page are. `size_bytes` is that of a whole page."""

    commit: struct.Struct
    commit_offset: int
    data_offset: int
    size_bytes: int


@dataclass(frozen=True)
class EventFormat:
    """The number of the event, and its fields in the order of `TracedIo`."""

    number: int
    fields: struct.Struct


def page_format(text: str) -> PageFormat:
    """From `events/header_page`. Raises ValueError for what is not understood."""
    fields = _fields(text)
    try:
        (stamp_offset, stamp_size), commit, data = (
            fields[name] for name in ("timestamp", "commit", "data")
        )
    except KeyError as missing:
        raise ValueError(f"header_page has no field {missing}") from None
    if (stamp_offset, stamp_size) != (0, 8) or commit[1] not in (4, 8):
        raise ValueError("header_page has fields of another size")
    layout = struct.Struct("<Q" if commit[1] == 8 else "<I")
    return PageFormat(layout, commit[0], data[0], data[0] + data[1])


def event_format(text: str) -> EventFormat:
    """From `events/block/block_bio_queue/format`. Raises ValueError for what is not understood."""
    number, fields = _ID.search(text), _fields(text)
    missing = [name for name in _FIELDS if name not in fields]
    if number is None or missing:
        raise ValueError(f"the format of block_bio_queue lacks {', '.join(missing) or 'its ID'}")
    layout, end = "<", 0
    for name in _FIELDS:
        offset, size_bytes = fields[name]
        code, expected = _CODES.get(name, ("2s", 2))
        if offset < end or size_bytes < expected or (name in _CODES and size_bytes != expected):
            raise ValueError(f"the field {name} of block_bio_queue is at another place")
        layout += f"{offset - end}x{code}"
        end = offset + expected
    return EventFormat(int(number.group(1)), struct.Struct(layout))


def _fields(text: str) -> dict[str, tuple[int, int]]:
    """Name -> (offset, size)."""
    places: dict[str, tuple[int, int]] = {}
    for match in _FIELD.finditer(text):
        name = match["declared"].split()[-1].partition("[")[0]
        places.setdefault(name, (int(match["offset"]), int(match["size"])))
    return places


def events_of(page: bytes, form: PageFormat, event: EventFormat, into: list[TracedIo]) -> bool:
    """Append the events of a page to `into`; whether events before it were lost. Raises ValueError
    for a page that contradicts the format."""
    (ns,) = struct.unpack_from("<Q", page)
    (commit,) = form.commit.unpack_from(page, form.commit_offset)
    at, end = form.data_offset, form.data_offset + (commit & COMMIT_MASK)
    if end > len(page):
        raise ValueError("a page of the ring buffer is longer than it can be")
    header_at, fields_at, long_at = _HEADER.unpack_from, event.fields.unpack_from, _LONG_HEADER
    number, least_bytes, append = event.number, event.fields.size, into.append
    while at < end:
        (header,) = header_at(page, at)
        kind, delta = header & 31, header >> 5
        if 0 < kind <= LONGEST_SHORT:
            data, size_bytes = at + 4, 4 + 4 * kind
        else:
            if kind == PADDING and not delta:
                break
            if at + 8 > end:
                raise ValueError("an event of the ring buffer is cut")
            word = long_at.unpack_from(page, at)[1]
            if kind == TIME_EXTEND:
                ns, at = ns + delta + (word << DELTA_BITS), at + 8
                continue
            if kind == TIME_STAMP:
                ns, at = (ns & ~STAMP_MASK) | (delta + (word << DELTA_BITS)) & STAMP_MASK, at + 8
                continue
            # A long event, or one that was discarded: the word counts itself.
            data, size_bytes = at + 8, 4 + word
        if size_bytes < 8 or at + size_bytes > end:
            raise ValueError("an event of the ring buffer is cut")
        ns += delta
        if kind != PADDING and at + size_bytes - data >= least_bytes:
            type_number, device, sector, sectors, rwbs = fields_at(page, data)
            if type_number == number:
                append((ns, device, sector, sectors, rwbs))
        at += size_bytes
    return bool(commit & MISSED)
