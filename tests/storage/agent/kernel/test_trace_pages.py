"""Pages of the kernel's ring buffer are read as its format says."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.agent.kernel.trace_pages import TracedIo, event_format, events_of, page_format
from tests.storage.agent.heat.pages import (
    EVENT,
    FORMAT,
    HEADER_PAGE,
    NUMBER,
    PAGE,
    Event,
    page,
)

RECORDED = Path(__file__).parents[3] / "data" / "agent" / "trace-page.json"


def read(content: bytes) -> tuple[list[TracedIo], bool]:
    into: list[TracedIo] = []
    return into, events_of(content, PAGE, EVENT, into)


events = st.builds(
    Event,
    st.one_of(st.integers(0, 1 << 20), st.integers(1 << 27, 1 << 50)),
    st.integers(0, (1 << 32) - 1),
    st.integers(0, (1 << 63) - 1),
    st.integers(0, (1 << 32) - 1),
    st.sampled_from([b"R", b"W", b"WS", b"FW", b"D"]),
    st.sampled_from([NUMBER, NUMBER, NUMBER + 1]),
    st.sampled_from(["short", "short", "long", "discarded"]),
    st.booleans(),
)


@given(st.integers(1 << 40, 1 << 58), st.lists(events, max_size=50))
def test_each_io_is_read_with_its_time_whatever_stands_between(
    ns: int, written: list[Event]
) -> None:
    expected, now_ns = [], ns
    for event in written:
        delta_ns = event.delta_ns
        if event.form == "discarded" and delta_ns == 0 and not event.is_absolute:
            delta_ns = 1
        now_ns += delta_ns
        if event.form != "discarded" and event.number == NUMBER:
            letters = event.letters.ljust(2, b"\0")[:2]
            expected.append((event.device, event.sector, event.sectors, letters))
    ios, missed = read(page(ns, written))
    assert [io[1:] for io in ios] == expected
    assert not missed
    assert sorted(ios, key=lambda io: io[0]) == ios
    if ios and written[-1].form != "discarded" and written[-1].number == NUMBER:
        # A discarded event has at least 1 ns.
        assert 0 <= ios[-1][0] - now_ns <= len(written)


def test_a_page_of_a_real_kernel_holds_the_ios_that_were_done() -> None:
    recorded = json.loads(RECORDED.read_text())
    form, event = page_format(recorded["header_page"]), event_format(recorded["format"])
    ios: list[TracedIo] = []
    for text in recorded["pages"]:
        content = zlib.decompress(base64.b64decode(text)).ljust(form.size_bytes, b"\0")
        assert not events_of(content, form, event, ios)
    *moved, flush = ios
    assert [[s, n, int(kind[:1] == b"W")] for _, _, s, n, kind in moved] == recorded["ios"]
    assert {io[1] for io in ios} == {recorded["device"]}
    assert flush[3:] == (0, b"FW")
    # Two pauses of 0.3 s are longer than 27 bits of nanoseconds.
    times = [io[0] for io in ios]
    pauses = [after - before for before, after in pairwise(times)]
    assert sum(pause >= 300_000_000 for pause in pauses) == 2


def test_a_page_says_that_events_before_it_were_lost() -> None:
    ios, missed = read(page(5, [Event(1, sector=7)], missed=3))
    assert missed
    assert [io[2] for io in ios] == [7]


def test_padding_ends_a_page() -> None:
    content = bytearray(page(5, [Event(1, sector=7), Event(1, sector=8)]))
    struct.pack_into("<I", content, 16 + 56, 29)
    assert [io[2] for io in read(bytes(content))[0]] == [7]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: struct.pack_into("<Q", content, 8, 1 << 20),
        lambda content: struct.pack_into("<Q", content, 8, 20),
        lambda content: struct.pack_into("<II", content, 16, 0, 1 << 30),
        lambda content: struct.pack_into("<II", content, 16, 0, 0),
    ],
)
def test_a_page_that_contradicts_itself_is_refused(spoil: object) -> None:
    content = bytearray(page(5, [Event(1)]))
    spoil(content)  # type: ignore[operator]
    with pytest.raises(ValueError, match="ring buffer"):
        read(bytes(content))


def test_other_kernels_have_the_fields_elsewhere() -> None:
    later = FORMAT.replace("rwbs[8];\toffset:28;\tsize:8", "rwbs[10];\toffset:28;\tsize:10")
    assert event_format(later).fields.size == EVENT.fields.size
    large = page_format(HEADER_PAGE.replace("size:4080", "size:65520"))
    assert large.size_bytes == 65536


@pytest.mark.parametrize("gone", ["sector_t sector", "ID: ", "size:4;\tsigned:0;\n\tfield:sector"])
def test_a_format_that_is_not_understood_is_refused(gone: str) -> None:
    with pytest.raises(ValueError, match="block_bio_queue"):
        event_format(
            FORMAT.replace(gone, gone.replace("e", "x").replace("D", "x").replace("4", "2"))
        )
    with pytest.raises(ValueError, match="header_page"):
        page_format(HEADER_PAGE.replace("commit", "other"))
