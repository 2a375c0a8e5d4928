"""Columns of whole numbers as few bytes: what a chunk of samples is made of. Pure.

A column is stored as what its values, or their differences, are above the least of them, divided by
what divides all of them, in as few bytes as the greatest needs; the first bytes of all values lie
side by side, then the second ones. A column that never changes, or repeats another one, costs
nothing but its entry. zlib takes what is left. Many columns are taken apart or put together at
once, so that reading costs microseconds a chunk.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint16]

NULL: Final = int(np.iinfo(np.int64).min)
"""Stands for "not known" in a matrix; no value of a counter or a size is as low."""
LEVEL: Final = 6
HEAD: Final = np.dtype([("rows", "<u4"), ("columns", "<u2")])
PARAMETERS: Final = 3
MOST_ROWS: Final = 100_000
MOST_COLUMNS: Final = 4096
MOST_BYTES: Final = 256 << 20
"""No chunk is ever as large: what claims to be is no chunk."""
WIDTH: Final = 0x0F
IS_DELTA: Final = 0x10
HAS_NULLS: Final = 0x20
IS_COPY: Final = 0x40


class BadChunk(ValueError):
    """These bytes are no chunk; the message says why."""


@dataclass(frozen=True, slots=True)
class Columns:
    """`matrix[i]` are the values of the column with the number `codes[i]`; no number comes twice,
    and they ascend. A value that is not known is `NULL`."""

    codes: Codes
    matrix: Matrix

    @property
    def rows(self) -> int:
        return int(self.matrix.shape[1])

    def at(self, codes: Codes) -> Matrix:
        """The columns with these numbers, which ascend; a column that is not here has no value
        that is known."""
        if np.array_equal(codes, self.codes):
            return self.matrix
        here = np.searchsorted(self.codes, codes)
        here[here == len(self.codes)] = 0
        matrix = np.full((len(codes), self.rows), NULL, np.int64)
        if len(self.codes):
            known = self.codes[here] == codes
            matrix[known] = self.matrix[here[known]]
        return matrix


def pack(columns: Columns) -> bytes:
    """The bytes of these columns; those without any value that is known are left out."""
    known = (columns.matrix != NULL).any(axis=1) if columns.rows else np.zeros(0, bool)
    codes = columns.codes[known] if columns.rows else columns.codes[:0]
    matrix = columns.matrix[known] if columns.rows else columns.matrix[:0]
    head = np.array([(columns.rows, len(codes))], HEAD).tobytes()
    if not len(codes):
        return zlib.compress(head, LEVEL)
    nulls = matrix == NULL
    with_nulls = nulls.any(axis=1)
    if with_nulls.any():
        matrix = matrix.copy()
        for row in np.flatnonzero(with_nulls):
            matrix[row] = _filled(matrix[row], nulls[row])
    modes, parameters, values = _reduced(matrix)
    _mark_copies(matrix, modes, parameters)
    modes[with_nulls] |= HAS_NULLS
    parts = [
        head,
        np.diff(codes, prepend=np.uint16(0)).astype("<u2").tobytes(),
        modes.tobytes(),
        np.ascontiguousarray(_planes(parameters.reshape(-1)).T).tobytes(),
        np.packbits(nulls[with_nulls], axis=1).tobytes(),
    ]
    widths = np.where(modes & IS_COPY, 0, modes & WIDTH)
    for width in range(1, 9):
        chosen = values[widths == width]
        if len(chosen):
            planes = _planes(chosen)[:, :, :width]
            parts.append(np.ascontiguousarray(planes.transpose(0, 2, 1)).tobytes())
    return zlib.compress(b"".join(parts), LEVEL)


def unpack(data: bytes) -> Columns:
    """What `pack` was given, but for columns that had no value. Raises `BadChunk`."""
    body = _Body(_inflated(data))
    rows, count = (int(each) for each in body.take(1, HEAD)[0].tolist())
    if rows > MOST_ROWS or count > MOST_COLUMNS:
        raise BadChunk(f"a chunk of {rows} rows and {count} columns is too large")
    codes = np.cumsum(body.take(count, np.dtype("<u2")), dtype=np.uint16)
    if count > 1 and not (codes[1:] > codes[:-1]).all():
        raise BadChunk("the columns are out of order")
    modes = body.take(count, np.dtype(np.uint8))
    parameters = _from_planes(
        body.take(PARAMETERS * count * 8, np.dtype(np.uint8)).reshape(8, PARAMETERS * count).T
    ).reshape(PARAMETERS, count)
    with_nulls = np.flatnonzero(modes & HAS_NULLS)
    line = -(-rows // 8)
    bits = body.take(len(with_nulls) * line, np.dtype(np.uint8)).reshape(len(with_nulls), line)
    widths = np.where(modes & IS_COPY, 0, modes & WIDTH)
    if (widths > 8).any():
        raise BadChunk("a column is wider than its numbers can be")
    values = np.zeros((count, rows, 8), np.uint8)
    for width in range(1, 9):
        chosen = np.flatnonzero(widths == width)
        if len(chosen):
            planes = body.take(len(chosen) * width * rows, np.dtype(np.uint8))
            values[chosen, :, :width] = planes.reshape(len(chosen), width, rows).transpose(0, 2, 1)
    body.end()
    matrix = _restored(values.view("<u8").reshape(count, rows), modes, parameters)
    if len(with_nulls):
        nulls = np.unpackbits(bits, axis=1, count=rows).astype(bool)
        matrix[with_nulls] = np.where(nulls, NULL, matrix[with_nulls])
    return Columns(codes, matrix)


def _reduced(matrix: Matrix) -> tuple[npt.NDArray[np.uint8], Matrix, npt.NDArray[np.uint64]]:
    """How each column is stored, its first value, what is added and by what is multiplied, and
    what is left of its values. All in modular arithmetic: nothing overflows."""
    plain_base = matrix.min(axis=1)
    plain, plain_divisor = _divided(_less(matrix, plain_base))
    if matrix.shape[1] > 1:
        steps = np.diff(matrix, axis=1)
        step_base = steps.min(axis=1)
        above, step_divisor = _divided(_less(steps, step_base))
        delta = np.concatenate([np.zeros((len(matrix), 1), np.uint64), above], axis=1)
        is_delta = _bits(delta) < _bits(plain)
    else:
        delta, step_base, step_divisor = plain, plain_base, plain_divisor
        is_delta = np.zeros(len(matrix), bool)
    values = np.where(is_delta[:, None], delta, plain)
    modes = _widths(values.max(axis=1)) | np.where(is_delta, IS_DELTA, 0).astype(np.uint8)
    parameters = np.stack(
        [
            np.where(is_delta, matrix[:, 0], 0),
            np.where(is_delta, step_base, plain_base),
            np.where(is_delta, step_divisor, plain_divisor).astype(np.int64),
        ]
    )
    return modes, parameters, values


def _restored(
    values: npt.NDArray[np.uint64], modes: npt.NDArray[np.uint8], parameters: Matrix
) -> Matrix:
    first, base, divisor = (each[:, None].view(np.uint64) for each in parameters)
    whole = (values * divisor + base).view(np.int64)
    is_delta = np.flatnonzero(modes & IS_DELTA)
    if len(is_delta) and whole.shape[1]:
        steps = whole[is_delta]
        steps[:, 0] = first[is_delta, 0].view(np.int64)
        whole[is_delta] = np.cumsum(steps, axis=1)
    copies = np.flatnonzero(modes & IS_COPY)
    if len(copies):
        sources = parameters[1, copies]
        if (sources < 0).any() or (sources >= copies).any() or (modes[sources] & IS_COPY).any():
            raise BadChunk("a column repeats one that is not there")
        whole[copies] = whole[sources]
    restored: Matrix = whole
    return restored


def _mark_copies(matrix: Matrix, modes: npt.NDArray[np.uint8], parameters: Matrix) -> None:
    """A column that repeats an earlier one names it instead."""
    seen: dict[bytes, int] = {}
    for row in np.flatnonzero(modes & WIDTH):
        source = seen.setdefault(matrix[row].tobytes(), int(row))
        if source != row:
            modes[row] = IS_COPY
            parameters[:, row] = (0, source, 0)


def _less(matrix: Matrix, base: Matrix) -> npt.NDArray[np.uint64]:
    difference: npt.NDArray[np.uint64] = matrix.view(np.uint64) - base[:, None].view(np.uint64)
    return difference


def _divided(
    values: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    divisor = np.maximum(np.gcd.reduce(values, axis=1), np.uint64(1))
    return values // divisor[:, None], divisor


def _bits(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """About how many bits the values of each column need together."""
    total: npt.NDArray[np.float64] = np.log2(values + 1.0).sum(axis=1)
    return total


def _widths(most: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """How many bytes a value needs; none where all are zero."""
    limits = np.array([0] + [(1 << 8 * width) - 1 for width in range(1, 8)], np.uint64)
    return np.searchsorted(limits, most).astype(np.uint8)


def _planes(values: npt.NDArray[np.uint64] | Matrix) -> npt.NDArray[np.uint8]:
    """The bytes of each value, the lowest first, along a new last axis."""
    little = np.ascontiguousarray(values).astype("<u8", copy=False)
    return little.view(np.uint8).reshape(*values.shape, 8)


def _from_planes(planes: npt.NDArray[np.uint8]) -> Matrix:
    little: Matrix = np.ascontiguousarray(planes).view("<i8").astype(np.int64, copy=False)
    return little.reshape(planes.shape[:-1])


def _filled(values: Matrix, nulls: npt.NDArray[np.bool_]) -> Matrix:
    """The last value that is known in place of one that is not: nearly no bytes."""
    last = np.maximum.accumulate(np.where(nulls, -1, np.arange(len(values))))
    filled: Matrix = values[np.where(last < 0, np.argmin(nulls), last)]
    return filled


def _inflated(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        body = inflater.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise BadChunk(f"zlib: {error}") from error
    if not inflater.eof or inflater.unused_data:
        raise BadChunk("the bytes end too early or too late")
    return body


class _Body:
    """The bytes of a chunk, taken from the front."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
        until = self._at + count * kind.itemsize
        if until > len(self._data):
            raise BadChunk("the bytes end too early")
        part = np.frombuffer(self._data, kind, count, self._at)
        self._at = until
        return part

    def end(self) -> None:
        if self._at != len(self._data):
            raise BadChunk("there are bytes after the last column")
