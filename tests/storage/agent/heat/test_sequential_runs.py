"""Runs are found as bcache's kernel code finds them."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from storage.agent.heat.sequential_runs import CUTOFF_BYTES, SequentialRuns

SECOND_NS = 1_000_000_000


class KernelRule:
    """check_should_bypass, word by word: 128 recent I/Os, the oldest of which is reused."""

    def __init__(self) -> None:
        self.recent: OrderedDict[int, tuple[int, int, int]] = OrderedDict(
            (n, (-1, 0, 0)) for n in range(128)
        )

    def bypasses(self, ns: int, sector: int, sectors: int) -> bool:
        slot = next(
            (n for n, (last, until, _) in self.recent.items() if last == sector and ns < until),
            next(iter(self.recent)),
        )
        last, until, sequential = self.recent[slot]
        found = last == sector and ns < until
        sequential = (sequential if found else 0) + sectors * 512
        self.recent[slot] = (sector + sectors, ns + 5 * SECOND_NS, sequential)
        self.recent.move_to_end(slot)
        return sequential >= CUTOFF_BYTES


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from([8, 256, 1024, 2048]), st.integers(0, 3)),
        max_size=400,
    )
)
def test_many_streams_are_judged_as_the_kernel_judges_them(
    steps: list[tuple[int, int, int]],
) -> None:
    runs, rule, ends, ns = SequentialRuns(is_sampled=False), KernelRule(), dict[int, int](), 0
    for stream, sectors, passed in steps:
        ns += passed * SECOND_NS
        sector = ends.get(stream, stream << 40)
        ends[stream] = sector + sectors
        expected = rule.bypasses(ns, sector, sectors)
        assert runs.bypasses(ns, sector, sectors) == expected


def test_a_run_of_small_reads_is_found_though_one_chunk_in_64_is_seen() -> None:
    runs, found = SequentialRuns(is_sampled=True), []
    for n in range(0, 8 * 64 * 128, 32):
        if n // 128 % 64 == 37:
            found.append(runs.bypasses(n * 1000, n, 32))
    assert found[:4] == [False] * 4
    assert all(found[4:])


def test_single_reads_of_far_chunks_are_no_run() -> None:
    runs = SequentialRuns(is_sampled=True)
    far = range(37 * 128, 64 * 128 * 200, 64 * 128)
    assert not any(runs.bypasses(n, sector, 32) for n, sector in enumerate(far))


def test_a_whole_trace_is_judged_by_what_is_seen_alone() -> None:
    runs = SequentialRuns(is_sampled=False)
    for n in range(4):
        runs.bypasses(n, 37 * 128 + 32 * n, 32)
    assert not runs.bypasses(5, (37 + 64) * 128, 32)
