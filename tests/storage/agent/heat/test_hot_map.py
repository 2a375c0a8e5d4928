"""What is read most of a volume is counted by chunk, in a table of bounded size."""

from __future__ import annotations

from itertools import pairwise

import pytest

from storage.agent.heat.hot_map import CHUNK_SECTORS, HotMap
from storage.agent.kernel.trace_pages import TracedIo
from storage.agent.state.hot_chunks import CHUNK_BYTES, HotChunk, hot_chunks

PAGE, MIB_SECTORS = 8, 2048


def read(sector: int, sectors: int = PAGE, letters: bytes = b"R") -> TracedIo:
    return (0, 1, sector, sectors, letters)


def counted(hot: HotMap) -> list[HotChunk]:
    return hot_chunks(hot.to_bytes())


def test_the_hottest_chunk_comes_first_with_the_pages_that_were_read() -> None:
    hot = HotMap()
    hot.add([read(5 * CHUNK_SECTORS), *[read(7 * CHUNK_SECTORS + 3 * PAGE)] * 2])
    assert counted(hot) == [(2, 7, 0b1000), (1, 5, 1)]
    assert hot.reads == 3


def test_a_read_over_two_chunks_counts_for_both() -> None:
    hot = HotMap()
    hot.add([read(2 * CHUNK_SECTORS - PAGE, 3 * PAGE)])
    assert sorted(counted(hot)) == [(1, 1, 1 << 15), (1, 2, 0b11)]


def test_writes_discards_and_flushes_are_no_reads() -> None:
    hot = HotMap()
    hot.add([read(0, PAGE, b"WS"), read(0, PAGE, b"D"), read(0, 0, b"R")])
    assert counted(hot) == [] and hot.reads == 0


def test_a_long_sequential_run_is_not_for_a_cache() -> None:
    hot = HotMap()
    hot.add([read(n * MIB_SECTORS, MIB_SECTORS) for n in range(64)])
    assert len(counted(hot)) == 3 * MIB_SECTORS // CHUNK_SECTORS, "up to the cutoff of 4 MiB"


def test_what_is_read_most_stays_known_where_more_is_read_than_is_kept() -> None:
    hot = HotMap(limit=64)
    hot.add([read(chunk * CHUNK_SECTORS) for _ in range(40) for chunk in range(8)])
    hot.add([read(chunk * CHUNK_SECTORS) for chunk in range(1000, 3000, 2)])
    found = counted(hot)
    assert {entry.chunk for entry in found[:8]} == set(range(8))
    assert len(found) <= 64


def test_chunks_of_one_count_do_not_come_in_the_order_of_their_addresses() -> None:
    hot = HotMap()
    hot.add([read(chunk * CHUNK_SECTORS) for chunk in range(0, 400, 2)])
    chunks = [entry.chunk for entry in counted(hot)]
    following = sum(b - a == 2 for a, b in pairwise(chunks))
    assert following < 20


def test_neighbouring_pages_are_one_read() -> None:
    entry = HotChunk(1, 3, 0b1000000000000110)
    assert list(entry.runs()) == [
        (3 * CHUNK_BYTES + 4096, 8192),
        (3 * CHUNK_BYTES + 15 * 4096, 4096),
    ]
    assert list(HotChunk(1, 0, 0xFFFF).runs()) == [(0, CHUNK_BYTES)]


def test_a_map_that_is_not_whole_says_nothing() -> None:
    assert hot_chunks(HotMap().to_bytes()[:-1]) == []
    assert hot_chunks(b"") == []


def test_a_map_is_taken_up_without_a_look_at_each_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    before = HotMap()
    before.add([read(chunk * CHUNK_SECTORS) for chunk in range(0, 4000, 2)])
    with monkeypatch.context() as counting:
        counting.delattr(HotMap, "_touch")
        hot = HotMap(known=before.to_bytes(), reads=before.reads)
    hot.add([read(chunk * CHUNK_SECTORS) for chunk in range(0, 8000, 2)])
    assert sum(each.times for each in counted(hot)) == hot.reads == 6000
    assert len(counted(hot)) == 4000


@pytest.mark.parametrize("slots", [1, 1024, 1000, 1 << 20])
def test_what_is_no_table_is_not_taken_up(slots: int) -> None:
    """A table without a free slot would be searched for ever."""
    hot = HotMap(known=b"\x01" * 10 * slots)
    hot.add([read(CHUNK_SECTORS)])
    assert counted(hot) == [(1, 1, 1)]
