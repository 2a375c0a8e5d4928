"""Whether the figures of an exported benchmark match its raw files: they are recomputed. Pure."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from math import isclose
from typing import Any, Final

from panel.benchmarks.imports import read_import
from storage.benchmarks.matrix import BadSpec, Cell
from storage.benchmarks.result_files import RUN, summary_of
from storage.benchmarks.run_facts import facts_of
from storage.host_data import BadHostData
from storage.models import BenchmarkOrigin

MOST_BYTES: Final = 256 * 1024**2
"""Of all files, unpacked."""
TOLERANCE: Final = 1e-3
"""Versions may round otherwise."""
MOST_DIFFERENCES: Final = 100
GZIP: Final = 16 + zlib.MAX_WBITS


class BadExport(ValueError):
    """The input is no exported benchmark."""


@dataclass(frozen=True, slots=True)
class VerifiedFigure:
    """A figure that is not what the raw files say."""

    run: int
    figure: str
    published: Any
    computed: Any


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification."""

    checked_figures: int
    runs_without_files: tuple[int, ...]
    differences: tuple[VerifiedFigure, ...]

    @property
    def agrees(self) -> bool:
        """Whether anything was checked, and nothing differs."""
        return self.checked_figures > 0 and not self.differences


def verify(document: Any) -> Verification:
    """Raises `BadExport`."""
    if not isinstance(document, dict) or document.get("tiercel_benchmark") != 1:
        raise BadExport("This is no exported benchmark of a version that is known here.")
    runs = document.get("runs")
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise BadExport("The benchmark has no list of runs.")
    try:
        files = [_files(run) for run in runs]
    except (binascii.Error, ValueError, zlib.error, AttributeError, TypeError) as error:
        raise BadExport(f"A raw file cannot be unpacked: {error}") from None
    if document.get("figures_from") == BenchmarkOrigin.IMPORTED:
        computed = _of_import(runs, files)
    else:
        computed = [_of_run(run, of) for run, of in zip(runs, files, strict=True)]
    return _compared(runs, computed)


def _compared(runs: Sequence[Mapping[str, Any]], computed: Sequence[Any]) -> Verification:
    count, without, differences = 0, list[int](), list[VerifiedFigure]()
    for n, (run, summary) in enumerate(zip(runs, computed, strict=True), 1):
        number_given = run.get("number")
        number = number_given if isinstance(number_given, int) else n
        if summary is None:
            without.append(number)
            continue
        for path, published, anew in _figures("", run.get("summary"), summary):
            count += 1
            if not _is_same(published, anew) and len(differences) < MOST_DIFFERENCES:
                differences.append(VerifiedFigure(number, path, published, anew))
    return Verification(count, tuple(without), tuple(differences))


def _files(run: Mapping[str, Any]) -> dict[str, bytes]:
    left, files = MOST_BYTES, dict[str, bytes]()
    for name, text in run.get("files", {}).items():
        unpacker = zlib.decompressobj(wbits=GZIP)
        content = unpacker.decompress(base64.b64decode(text, validate=True), left)
        if not unpacker.eof:
            raise BadExport("The raw files are too large, or one is cut short.")
        left -= len(content)
        files[str(name)] = content
    return files


def _of_run(run: Mapping[str, Any], files: Mapping[str, bytes]) -> Any:
    """The summary of a run's files as JSON; None where there are none."""
    if RUN not in files:
        return None
    try:
        anew = summary_of(files, Cell.from_json(run.get("cell")), facts_of(files[RUN]))
    except (BadHostData, BadSpec) as error:
        raise BadExport(f"A raw file cannot be read: {error}") from None
    return {} if anew is None else anew.to_json()


def _of_import(
    runs: Sequence[Mapping[str, Any]], files: Sequence[Mapping[str, bytes]]
) -> list[Any]:
    """All runs come from all files together."""
    together = {name: content for each in files for name, content in each.items()}
    if not together:
        return [None] * len(runs)
    anew = [each.summary.to_json() for each in read_import(together).runs]
    return [anew[n] if n < len(anew) else {} for n in range(len(runs))]


def _figures(path: str, published: Any, computed: Any) -> Iterator[tuple[str, Any, Any]]:
    """Each figure with its path, as both sides have it; None where one has none."""
    sides = (published, computed)
    if any(isinstance(each, dict) for each in sides):
        objects = [each if isinstance(each, dict) else {} for each in sides]
        for name in dict.fromkeys(chain(*objects)):
            yield from _figures(f"{path}.{name}".lstrip("."), *(o.get(name) for o in objects))
    elif any(isinstance(each, list | tuple) for each in sides):
        lists = [list(each) if isinstance(each, list | tuple) else [] for each in sides]
        for n, pair in enumerate(zip_longest(*lists)):
            yield from _figures(f"{path}[{n}]", *pair)
    elif published is not None or computed is not None:
        yield path, published, computed


def _is_same(published: Any, computed: Any) -> bool:
    if isinstance(published, int | float) and isinstance(computed, int | float):
        return isclose(published, computed, rel_tol=TOLERANCE, abs_tol=1e-6)
    return bool(published == computed)
