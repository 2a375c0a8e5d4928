"""Reuse times are exact for what is tracked, and what is tracked stands for all."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from storage.agent.heat.reuse_table import COLD, TRACKED_LIMIT, UNTRACKED, ReuseTable

salts = st.integers(0, (1 << 63) - 1)


@given(salts, st.lists(st.tuples(st.integers(0, 500), st.integers(0, 9)), max_size=500))
def test_a_table_with_room_gives_every_reuse_time(
    salt: int, touches: list[tuple[int, int]]
) -> None:
    table, last, clock = ReuseTable(salt), dict[int, int](), 0
    for chunk, passed in touches:
        clock += passed
        expected = max(1, clock - last[chunk]) if chunk in last else COLD
        assert table.touch(chunk, clock) == expected
        last[chunk] = clock
    assert (len(table), table.weight) == (len(last), 1)


@given(salts, st.lists(st.integers(0, 900), max_size=800))
def test_a_full_table_tracks_fewer_chunks_and_those_exactly(salt: int, chunks: list[int]) -> None:
    table, last = ReuseTable(salt, 64), dict[int, int]()
    for clock, chunk in enumerate(chunks):
        reuse = table.touch(chunk, clock)
        if reuse != UNTRACKED:
            # A chunk that is tracked now always was.
            assert reuse == (clock - last[chunk] if chunk in last else COLD)
        last[chunk] = clock
        assert len(table) <= 64
    assert table.weight & (table.weight - 1) == 0


def test_what_is_tracked_stands_for_all() -> None:
    order = random.Random(7)
    table, total = ReuseTable(order.getrandbits(63)), 0
    for clock in range(100_000):
        chunk = 64 * order.randrange(order.choice([1000, 40_000]))
        if table.touch(chunk, clock) != UNTRACKED:
            total += table.weight
    assert table.weight > 1
    assert TRACKED_LIMIT // 3 < len(table) <= TRACKED_LIMIT
    assert abs(total / 100_000 - 1) < 0.1
