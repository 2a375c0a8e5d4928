"""What is packed is unpacked again; what is no chunk is refused in words."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.metrics.samples.codec import NULL, BadChunk, Columns, pack, unpack

SMALLEST, GREATEST = -(2**63) + 1, 2**63 - 1
whole_numbers = st.one_of(
    st.integers(0, 300),
    st.integers(SMALLEST, GREATEST),
    st.sampled_from([0, -1, SMALLEST, GREATEST]),
    st.just(NULL),
)


@st.composite
def columns(draw: st.DrawFn) -> Columns:
    codes = sorted(draw(st.sets(st.integers(0, 65_535), max_size=12)))
    rows = draw(st.integers(0, 40))
    lines = []
    for _ in codes:
        line = draw(
            st.one_of(
                st.lists(whole_numbers, min_size=rows, max_size=rows),
                st.integers(0, 10**12).map(lambda each: [each] * rows),
                st.integers(1, 10**9).map(lambda each: [each * n for n in range(rows)]),
            )
        )
        lines.append(line)
    matrix = np.array(lines, np.int64).reshape(len(codes), rows)
    return Columns(np.array(codes, np.uint16), matrix)


@given(columns())
def test_what_is_packed_comes_back(packed: Columns) -> None:
    unpacked = unpack(pack(packed))
    assert unpacked.rows == packed.rows
    assert np.array_equal(unpacked.at(packed.codes), packed.matrix)
    assert not (unpacked.matrix == NULL).all(axis=1).any() or not packed.rows


@given(columns(), columns())
def test_a_column_that_a_chunk_lacks_is_not_known(packed: Columns, others: Columns) -> None:
    """One of a later version is passed over."""
    unpacked = unpack(pack(packed))
    asked = unpacked.at(others.codes)
    assert asked.shape == (len(others.codes), packed.rows)
    for code, line in zip(others.codes.tolist(), asked, strict=True):
        here = packed.codes.tolist()
        expected = packed.matrix[here.index(code)] if code in here else NULL
        assert (line == expected).all()


@given(st.binary(max_size=200))
def test_bytes_that_are_no_chunk_are_refused(data: bytes) -> None:
    with pytest.raises(BadChunk):
        unpack(data)


@given(st.binary(max_size=400))
def test_a_body_that_is_no_chunk_is_refused_or_has_the_shape_of_one(body: bytes) -> None:
    try:
        unpacked = unpack(zlib.compress(body))
    except BadChunk:
        return
    assert unpacked.matrix.shape == (len(unpacked.codes), unpacked.rows)


@given(columns(), st.data())
def test_a_chunk_with_a_changed_byte_is_refused(packed: Columns, data: st.DataObject) -> None:
    chunk = bytearray(pack(packed))
    at = data.draw(st.integers(0, len(chunk) - 1))
    chunk[at] ^= data.draw(st.integers(1, 255))
    try:
        unpacked = unpack(bytes(chunk))
    except BadChunk:
        return
    # What zlib does not heed, such as how hard it tried.
    assert np.array_equal(unpacked.at(packed.codes), packed.matrix)


def test_a_chunk_that_grows_without_end_is_refused() -> None:
    with pytest.raises(BadChunk, match="too early or too late"):
        unpack(zlib.compress(bytes(300 << 20), 1))


def test_a_column_that_never_changes_costs_only_its_entry() -> None:
    codes = np.arange(40, dtype=np.uint16)
    steady = np.full((40, 60), 60_000, np.int64)
    assert len(pack(Columns(codes, steady))) < 100


def test_what_rises_evenly_costs_only_its_entry() -> None:
    codes = np.array([0], np.uint16)
    times = np.arange(60, dtype=np.int64)[None] * 60_000_000 + 123_456
    assert len(pack(Columns(codes, times))) < 60


def test_a_column_that_follows_others_costs_only_its_entry() -> None:
    random = np.random.default_rng(1)
    reads, writes = random.integers(0, 30_000, (2, 288))
    two = Columns(np.arange(2, dtype=np.uint16), np.stack([reads, writes]))
    followers = np.stack([reads, writes, 4 * reads + 900, reads + writes])
    four = Columns(np.arange(4, dtype=np.uint16), followers)
    assert len(pack(four)) - len(pack(two)) < 40


@given(columns(), columns())
def test_columns_that_are_asked_for_are_those_of_the_whole_chunk(
    packed: Columns, others: Columns
) -> None:
    """Also where they are computed from columns that were not asked for."""
    chunk = pack(packed)
    asked = np.union1d(packed.codes[::2], others.codes).astype(np.uint16)
    part = unpack(chunk, asked)
    assert part.rows == packed.rows
    assert set(part.codes.tolist()) <= set(asked.tolist())
    assert np.array_equal(part.at(asked), unpack(chunk).at(asked))


def test_a_column_is_computed_from_one_that_is_not_asked_for() -> None:
    source = np.random.default_rng(1).integers(0, 10**6, 60)
    both = Columns(np.array([1, 2], np.uint16), np.vstack([source, 3 * source + 7]))
    part = unpack(pack(both), both.codes[1:])
    assert part.codes.tolist() == [2]
    assert np.array_equal(part.matrix, both.matrix[1:])
