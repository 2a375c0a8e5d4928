"""The kernel's filter lets through what the sampler needs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.agent.heat.trace_filter import (
    CHUNK_SECTORS,
    LARGE_SECTORS,
    LENGTH_LIMIT,
    PAGE_SECTORS,
    SHARE,
    trace_filter,
)

residues = st.integers(0, SHARE - 1)


def passes(text: str, dev: int, sector: int, nr_sector: int) -> bool:
    """The kernel's rules: `&` asks whether any bit is set, and binds tightest."""
    python = text.replace("&&", " and ").replace("||", " or ")
    python = re.sub(r"sector & (0x[0-9a-f]+)", r"(sector & \1 != 0)", python).replace("!(", "not (")
    known = {"dev": dev, "sector": sector, "nr_sector": nr_sector}
    return bool(eval(python.replace(" & ", " & "), {}, known))  # noqa: S307


@given(residues, st.integers(0, 1 << 40), st.integers(0, 300))
def test_it_lets_through_what_may_touch_an_observed_chunk(
    residue: int, sector: int, sectors: int
) -> None:
    begins_in = sector // CHUNK_SECTORS % SHARE
    expected = (
        begins_in == residue
        or (begins_in == (residue - 1) % SHARE and sectors > PAGE_SECTORS)
        or sectors > LARGE_SECTORS
        or sectors == 0
    )
    assert passes(trace_filter(residue, [7]), 7, sector, sectors) == expected


@given(residues, st.integers(0, 1 << 36), st.integers(1, 512))
def test_no_io_on_an_observed_chunk_is_unseen(residue: int, page: int, pages: int) -> None:
    sector, sectors = page * PAGE_SECTORS, pages * PAGE_SECTORS
    chunks = range(sector // CHUNK_SECTORS, (sector + sectors - 1) // CHUNK_SECTORS + 1)
    if any(chunk % SHARE == residue for chunk in chunks):
        assert passes(trace_filter(residue, [7]), 7, sector, sectors)


@given(st.sets(st.integers(0, 40), min_size=1), st.integers(0, 41))
def test_only_the_volumes_devices_are_observed(devices: set[int], dev: int) -> None:
    text = trace_filter(5, devices)
    assert passes(text, dev, 5 * CHUNK_SECTORS, 8) == (dev in devices)


def test_a_device_may_be_seen_whole() -> None:
    text = trace_filter(5, [3, 4], [4])
    assert passes(text, 4, 0, 8) and not passes(text, 3, 0, 8)
    assert passes(trace_filter(5, [], [4]), 4, 0, 8)


def test_it_is_never_longer_than_the_kernel_takes() -> None:
    assert len(trace_filter(63, range(0, 256, 2))) < LENGTH_LIMIT
    assert len(trace_filter(63, range(0, 10_000))) < 400
    with pytest.raises(ValueError, match="one filter"):
        trace_filter(63, range(0, 10_000, 2))
    with pytest.raises(ValueError, match="one filter"):
        trace_filter(63, [])
