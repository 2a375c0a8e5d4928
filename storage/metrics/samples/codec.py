"""Columns of whole numbers as few bytes: what a chunk of samples is made of. Pure.

A column is first reduced to what its values are above the least of them, divided by what divides
all of them. Figures follow one another (who reads twice as often moves twice the sectors), so what
is written of a column is how far it is from one or two columns before it, each times the weight
that fits best; or from the value before; or from its own middle; whichever takes the fewest bits.
What is left is small and written in Golomb-Rice code: the low bits of each value as they are, and
how often their range fits into it as so many zeros before a one. A column that never changes, or
repeats another one, costs nothing but its entry. zlib takes what is left.

Many columns are taken apart or put together at once, so that reading costs microseconds a chunk.
All in modular arithmetic: nothing overflows.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.uint64]
Codes = npt.NDArray[np.uint16]
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.intp]

NULL: Final = int(np.iinfo(np.int64).min)
"""Stands for "not known" in a matrix; no value of a counter or a size is as low."""
LEVEL: Final = 6
HEAD: Final = np.dtype([("rows", "<u4"), ("columns", "<u2"), ("quotients", "<u4")])
MOST_ROWS: Final = 100_000
MOST_COLUMNS: Final = 4096
MOST_BYTES: Final = 256 << 20
"""No chunk is ever as large: what claims to be is no chunk."""
PLAIN, AROUND, DELTA, LINEAR = range(4)
"""What is written: the reduced values; how far they are from their middle; the steps between them;
how far they are from other columns."""
FORM: Final = 0x0F
HAS_NULLS: Final = 0x20
PARAMETERS: Final = 8
BASE, DIVISOR, MIDDLE, FIRST, SOURCE, WEIGHT, OTHER_SOURCE, OTHER_WEIGHT = range(PARAMETERS)
EXTRA_BITS: Final = {PLAIN: 0, AROUND: 16, DELTA: 32, LINEAR: 64}
"""About what the entry of a column takes."""
WEIGHT_SHIFT: Final = 20
HEAVIEST: Final = float(1 << 30)
FLAT: Final = 64
"""Instead of how many low bits there are: nothing is left to write."""


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


class _Written(NamedTuple):
    """One way to write columns: the values, and how many low bits of them and all bits there
    are."""

    values: Unsigned
    depths: Bytes
    bits: npt.NDArray[np.float64]


def pack(columns: Columns) -> bytes:
    """The bytes of these columns; those without any value that is known are left out."""
    known = (columns.matrix != NULL).any(axis=1) if columns.rows else np.zeros(0, bool)
    codes = columns.codes[known] if columns.rows else columns.codes[:0]
    matrix = columns.matrix[known] if columns.rows else columns.matrix[:0]
    nulls = matrix == NULL
    with_nulls = nulls.any(axis=1)
    if with_nulls.any():
        matrix = matrix.copy()
        for row in np.flatnonzero(with_nulls):
            matrix[row] = _filled(matrix[row], nulls[row])
    forms, depths, table, values = _reduced(matrix)
    forms[with_nulls] |= HAS_NULLS
    quotients, low = _rice_code(values[depths < FLAT], depths[depths < FLAT])
    packer = zlib.compressobj(LEVEL)
    parts = [
        np.array([(columns.rows, len(codes), len(quotients))], HEAD).tobytes(),
        np.diff(codes, prepend=np.uint16(0)).astype("<u2").tobytes(),
        forms.tobytes(),
        depths.tobytes(),
        *_short(table),
        np.packbits(nulls[with_nulls], axis=1).tobytes(),
        quotients,
    ]
    body = [packer.compress(b"".join(parts))]
    # Low bits are noise: in a block of their own they do not spoil what can be compressed.
    body += [packer.flush(zlib.Z_PARTIAL_FLUSH), packer.compress(low), packer.flush()]
    return b"".join(body)


def unpack(data: bytes, wanted: Codes | None = None) -> Columns:
    """What `pack` was given, but for columns that had no value; of the `wanted` numbers alone,
    which costs less. Raises `BadChunk`."""
    body = _Body(_inflated(data))
    rows, count, quotients = (int(each) for each in body.take(1, HEAD)[0].tolist())
    if rows > MOST_ROWS or count > MOST_COLUMNS or rows * count > MOST_BYTES // 8:
        raise BadChunk(f"a chunk of {rows} rows and {count} columns is too large")
    codes = np.cumsum(body.take(count, np.dtype("<u2")), dtype=np.uint16)
    if count > 1 and not (codes[1:] > codes[:-1]).all():
        raise BadChunk("the columns are out of order")
    forms, depths = body.bytes(count), body.bytes(count)
    if (forms & FORM > LINEAR).any() or (depths > FLAT).any():
        raise BadChunk("a column is written in no known way")
    table = _from_short(body, PARAMETERS * count).reshape(PARAMETERS, count)
    with_nulls = np.flatnonzero(forms & HAS_NULLS)
    line = -(-rows // 8)
    bits = body.bytes(len(with_nulls) * line).reshape(len(with_nulls), line)
    coded = np.flatnonzero(depths < FLAT)
    values = np.zeros((count, rows), np.uint64)
    values[coded] = _from_rice_code(body, quotients, depths[coded], rows)
    body.end()
    forms = np.bitwise_and(forms, FORM, dtype=np.uint8)
    linear = np.flatnonzero(forms == LINEAR)
    sources = table[[[SOURCE], [OTHER_SOURCE]], linear]
    if (sources < 0).any() or (sources >= linear).any():
        raise BadChunk("a column is computed from one that does not come before it")
    is_wanted = np.ones(count, bool) if wanted is None else _are_among(codes, wanted)
    if not is_wanted.all():
        # Columns that are not needed stay as they were read.
        forms[~_needed(is_wanted, linear, sources)] = PLAIN
    matrix = _restored(values, forms, table)
    if len(with_nulls):
        nulls = np.unpackbits(bits, axis=1, count=rows).astype(bool)
        matrix[with_nulls] = np.where(nulls, NULL, matrix[with_nulls])
    if not is_wanted.all():
        codes, matrix = codes[is_wanted], matrix[is_wanted]
    return Columns(codes, matrix)


def _are_among(codes: Codes, others: Codes) -> npt.NDArray[np.bool_]:
    """Which of the codes are; both ascend."""
    if not len(others):
        return np.zeros(len(codes), bool)
    at = np.minimum(np.searchsorted(others, codes), len(others) - 1)
    is_among: npt.NDArray[np.bool_] = others[at] == codes
    return is_among


def _reduced(matrix: Matrix) -> tuple[Bytes, Bytes, Matrix, Unsigned]:
    """Of each column how it is written, how many low bits its values have, its parameters, and the
    values."""
    count, rows = matrix.shape
    table = np.zeros((PARAMETERS, count), np.int64)
    forms, depths = np.zeros(count, np.uint8), np.full(count, FLAT, np.uint8)
    values = np.zeros((count, rows), np.uint64)
    if not rows or not count:
        return forms, depths, table, values
    table[BASE] = matrix.min(axis=1)
    above = matrix.view(np.uint64) - table[BASE][:, None].view(np.uint64)
    divisors = np.maximum(np.gcd.reduce(above, axis=1), np.uint64(1))
    table[DIVISOR] = divisors.view(np.int64)
    varying = np.flatnonzero(above.any(axis=1))
    reduced = (above[varying] // divisors[varying, None]).view(np.int64)
    best, best_forms, parameters = _best(reduced, rows)
    # Other columns are named by their place among all.
    for source in (SOURCE, OTHER_SOURCE):
        parameters[source] = np.where(best_forms == LINEAR, varying[parameters[source]], 0)
    table[MIDDLE:, varying] = parameters[MIDDLE:]
    forms[varying], depths[varying], values[varying] = best_forms, best.depths, best.values
    return forms, depths, table, values


def _best(reduced: Matrix, rows: int) -> tuple[_Written, Bytes, Matrix]:
    """The way to write each column that takes the fewest bits, which it is, and its parameters."""
    count = len(reduced)
    best = _written(reduced.view(np.uint64), PLAIN)
    forms, table = np.full(count, PLAIN, np.uint8), np.zeros((PARAMETERS, count), np.int64)
    for form, parameters, left in _ways(reduced, rows):
        parameters[MIDDLE] = np.sort(left, axis=1)[:, rows // 2]
        far = left - parameters[MIDDLE][:, None]
        if form == DELTA:
            far[:, 0] = 0
        other = _written(_folded(far), form)
        is_less = other.bits < best.bits
        forms[is_less] = form
        table[:, is_less] = parameters[:, is_less]
        best = _Written(
            np.where(is_less[:, None], other.values, best.values),
            np.where(is_less, other.depths, best.depths),
            np.where(is_less, other.bits, best.bits),
        )
    return best, forms, table


def _ways(reduced: Matrix, rows: int) -> list[tuple[int, Matrix, Matrix]]:
    """Ways to write the columns: each with parameters and what is left of the columns."""
    count = len(reduced)
    empty = np.zeros((PARAMETERS, count), np.int64)
    ways = [(AROUND, empty.copy(), reduced)]
    if rows > 1:
        steps = empty.copy()
        steps[FIRST] = reduced[:, 0]
        ways.append((DELTA, steps, np.diff(reduced, axis=1, prepend=reduced[:, :1])))
    if rows > 2 and count > 1:
        for weights in _weights(reduced):
            ways.append((LINEAR, weights, reduced - _predicted(reduced, weights)))
    return ways


def _weights(reduced: Matrix) -> tuple[Matrix, Matrix]:
    """For each column the one column before it that predicts most of it, and that with another one
    that predicts most of what is left; with the weights of least squares."""
    count = len(reduced)
    each = np.arange(count)
    is_before = each[None, :] < each[:, None]
    centred = reduced - reduced.mean(axis=1, keepdims=True)
    # Without BLAS, whose threads would take more than they give.
    products = np.einsum("ik,jk->ij", centred, centred)
    squares = np.maximum(np.diag(products), 1e-9)
    explained = np.where(is_before, products / np.sqrt(squares), 0.0)
    first = np.abs(explained).argmax(axis=1)
    weight = np.where(is_before[each, first], products[each, first] / squares[first], 0.0)
    left = products - weight[:, None] * products[first]
    apart = squares[None, :] - products[first] ** 2 / squares[first][:, None]
    is_apart = is_before & (apart > 1e-9 * squares[None, :])
    explained = np.where(is_apart, left / np.sqrt(np.where(is_apart, apart, 1.0)), 0.0)
    second = np.abs(explained).argmax(axis=1)
    other = np.where(is_apart[each, second], left[each, second], 0.0)
    other = other / np.where(is_apart[each, second], apart[each, second], 1.0)
    of_both = weight - other * products[first, second] / squares[first]
    alone, both = (np.zeros((PARAMETERS, count), np.int64) for _ in range(2))
    alone[SOURCE], alone[WEIGHT] = first, _fixed(weight)
    both[SOURCE], both[WEIGHT] = first, _fixed(of_both)
    both[OTHER_SOURCE], both[OTHER_WEIGHT] = second, _fixed(other)
    return alone, both


def _fixed(weight: npt.NDArray[np.float64]) -> Matrix:
    limited = np.clip(np.nan_to_num(weight), -HEAVIEST, HEAVIEST)
    fixed: Matrix = np.rint(limited * (1 << WEIGHT_SHIFT)).astype(np.int64)
    return fixed


def _predicted(reduced: Matrix, parameters: Matrix) -> Matrix:
    """Each column as predicted from others."""
    source, weight, other_source, other_weight = parameters[SOURCE:]
    predicted: Matrix = reduced[source]
    predicted *= weight[:, None]
    if other_weight.any():
        predicted += reduced[other_source] * other_weight[:, None]
    predicted += 1 << (WEIGHT_SHIFT - 1)
    predicted >>= WEIGHT_SHIFT
    return predicted


def _written(values: Unsigned, form: int) -> _Written:
    """The number of low bits that makes the columns shortest."""
    rows = values.shape[1]
    usual = np.log2(np.maximum(values.mean(axis=1) * np.log(2), 1.0)).astype(np.int64)
    best, depths = np.full(len(values), np.inf), np.zeros(len(values), np.uint8)
    for aside in (-1, 0, 1):
        depth = np.clip(usual + aside, 0, FLAT - 1)
        quotients = values >> depth[:, None].astype(np.uint64)
        bits = quotients.sum(axis=1, dtype=np.float64) + rows * (depth + 1.0)
        depths[bits < best] = depth[bits < best]
        best = np.minimum(bits, best)
    is_flat = ~values.any(axis=1)
    depths[is_flat] = FLAT
    return _Written(values, depths, np.where(is_flat, 0.0, best) + EXTRA_BITS[form])


def _restored(values: Unsigned, forms: Bytes, table: Matrix) -> Matrix:
    reduced = values.view(np.int64)
    folded = np.flatnonzero(forms != PLAIN)
    reduced[folded] = _unfolded(values[folded]) + table[MIDDLE, folded, None]
    steps = np.flatnonzero(forms == DELTA)
    if len(steps) and reduced.shape[1]:
        reduced[steps, 0] = table[FIRST, steps]
        reduced[steps] = np.cumsum(reduced[steps], axis=1)
    linear = np.flatnonzero(forms == LINEAR)
    in_turn = _in_turn(linear, table[[[SOURCE], [OTHER_SOURCE]], linear])
    parameters = table[:, [column for columns in in_turn for column in columns]]
    at = 0
    for columns in in_turn:
        reduced[columns] += _predicted(reduced, parameters[:, at : at + len(columns)])
        at += len(columns)
    reduced *= table[DIVISOR][:, None]
    reduced += table[BASE][:, None]
    return reduced


def _needed(
    is_wanted: npt.NDArray[np.bool_], linear: Places, sources: Matrix
) -> npt.NDArray[np.bool_]:
    """The columns that are wanted, and those that they are computed from."""
    needed = is_wanted.tolist()
    for column, *origins in zip(*(each[::-1].tolist() for each in (linear, *sources)), strict=True):
        if needed[column]:
            for source in origins:
                needed[source] = True
    return np.array(needed, bool)


def _in_turn(columns: Places, sources: Matrix) -> list[list[int]]:
    """The columns in groups, each computed from earlier groups and other columns alone."""
    turns: dict[int, int] = {}
    groups: list[list[int]] = []
    for column, *origins in zip(columns.tolist(), *sources.tolist(), strict=True):
        turn = max(turns.get(source, -1) for source in origins) + 1
        turns[column] = turn
        if turn == len(groups):
            groups.append([])
        groups[turn].append(column)
    return groups


def _rice_code(values: Unsigned, depths: Bytes) -> tuple[bytes, bytes]:
    """The quotients of the columns, and their low bits: first whole bytes, the lowest first, of the
    columns that have so many, then single bits."""
    zeros = (values >> depths[:, None].astype(np.uint64)).astype(np.int64).reshape(-1)
    ends = np.cumsum(zeros + 1) - 1
    bits = np.zeros(int(ends[-1]) + 1 if len(ends) else 0, np.uint8)
    bits[ends] = 1
    planes = np.ascontiguousarray(values).astype("<u8", copy=False).view(np.uint8)
    planes = planes.reshape(*values.shape, 8)
    low = [planes[chosen, :, at].tobytes() for chosen, at in _whole_bytes(depths)]
    for chosen, places, bit in _single_bits(depths):
        low.append(np.packbits((planes[chosen, :, places] >> np.uint8(bit)) & 1).tobytes())
    return np.packbits(bits).tobytes(), b"".join(low)


def _from_rice_code(body: _Body, quotients: int, depths: Bytes, rows: int) -> Unsigned:
    # Of truth values it looks for the next one many at a time.
    ends = np.flatnonzero(np.unpackbits(body.bytes(quotients)).view(np.bool_))
    if len(ends) != len(depths) * rows:
        raise BadChunk("there are more or fewer values than columns have")
    zeros = ends.copy()
    zeros[1:] -= ends[:-1] + 1
    shifts = depths[:, None].astype(np.uint64)
    values: Unsigned = zeros.view(np.uint64).reshape(len(depths), rows) << shifts
    for chosen, at in _whole_bytes(depths):
        low = body.bytes(len(chosen) * rows).reshape(len(chosen), rows).astype(np.uint64)
        values[chosen] |= low << np.uint64(8 * at)
    single = np.zeros((len(depths), rows), np.uint8)
    for chosen, _places, bit in _single_bits(depths):
        count = len(chosen) * rows
        bits = np.unpackbits(body.bytes(-(-count // 8)), count=count).reshape(len(chosen), rows)
        single[chosen] |= bits << np.uint8(bit)
    values |= single.astype(np.uint64) << (shifts & ~np.uint64(7))
    return values


def _whole_bytes(depths: Bytes) -> list[tuple[Places, int]]:
    """Which columns have a low byte at which place."""
    return [
        (np.flatnonzero(depths >= 8 * at + 8), at) for at in range(int(max(depths, default=0)) // 8)
    ]


def _single_bits(depths: Bytes) -> list[tuple[Places, Places, int]]:
    """Which columns have a low bit besides, in which byte and at which place."""
    chosen = [(np.flatnonzero(depths % 8 > bit), bit) for bit in range(7)]
    return [(each, (depths[each] // 8).astype(np.intp), bit) for each, bit in chosen if len(each)]


def _short(numbers: Matrix) -> tuple[bytes, bytes]:
    """How many bytes each number takes, and those bytes."""
    folded = _folded(numbers.reshape(-1)).astype("<u8", copy=False)
    limits = np.array([0] + [(1 << 8 * width) - 1 for width in range(1, 8)], np.uint64)
    widths = np.searchsorted(limits, folded).astype(np.uint8)
    planes = folded.view(np.uint8).reshape(-1, 8)
    return widths.tobytes(), planes[np.arange(8) < widths[:, None]].tobytes()


def _from_short(body: _Body, count: int) -> Matrix:
    widths = body.bytes(count)
    if (widths > 8).any():
        raise BadChunk("a number is longer than it can be")
    planes = np.zeros((count, 8), np.uint8)
    planes[np.arange(8) < widths[:, None]] = body.bytes(int(widths.sum()))
    return _unfolded(planes.view("<u8")[:, 0].astype(np.uint64, copy=False))


def _folded(numbers: Matrix) -> Unsigned:
    """Small numbers, whether above or below zero, as small ones."""
    folded: Unsigned = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    return folded


def _unfolded(folded: Unsigned) -> Matrix:
    half, sign = (folded >> np.uint64(1)).view(np.int64), (folded & np.uint64(1)).view(np.int64)
    numbers: Matrix = half ^ -sign
    return numbers


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

    def bytes(self, count: int) -> Bytes:
        return self.take(count, np.dtype(np.uint8))

    def end(self) -> None:
        if self._at != len(self._data):
            raise BadChunk("there are bytes after the last column")
