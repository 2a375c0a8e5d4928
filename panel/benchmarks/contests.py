"""Runs sorted into contests: entrants that did the same, side by side. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

from panel.benchmarks.measured import MeasuredRun, Setup, middle_of
from panel.benchmarks.target_presets import COLOURS, TITLES
from storage.formatting import size

OTHER_COLOURS: Final = ("cyan", "pink", "lime", "indigo", "teal", "red")
DASHES: Final = ("", "dashed", "dotted", "mixed")
RAW: Final = ("ssd", "hdd")
"""The two between which a cache lies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """What is compared: a target with its settings, and all of its runs. `colour` and `dash` are
    those of its lines."""

    key: str
    name: str
    setup: Setup
    runs: tuple[MeasuredRun, ...]
    colour: str
    dash: str

    @property
    def iops(self) -> float:
        """The geometric mean over its runs, which verdicts compare."""
        figures = [run.summary.iops for run in self.runs]
        if min(figures) <= 0:
            return 0.0
        return exp(sum(map(log, figures)) / len(figures))

    @property
    def iops_range(self) -> tuple[float, float]:
        """Of the slowest run and the fastest."""
        figures = [run.summary.iops for run in self.runs]
        return min(figures), max(figures)

    @property
    def middle(self) -> MeasuredRun:
        """The run that is drawn."""
        return middle_of(self.runs)

    @property
    def is_raw(self) -> bool:
        """Whether it is SSD or HDD without a cache: what a cache can reach, and what it is for."""
        return self.setup.target in RAW


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """Entrants that did the same load on as much data. The caches to choose from come first, the
    one with most IOPS first among them; then those shown for comparison."""

    key: str
    title: str
    streams: str
    data_bytes: int | None
    entrants: tuple[Entrant, ...]

    @property
    def choices(self) -> tuple[Entrant, ...]:
        """Those between which one chooses: the caches; where there is none, all."""
        cached = tuple(each for each in self.entrants if not each.is_raw)
        return cached or self.entrants

    @property
    def winner(self) -> Entrant:
        return self.choices[0]


def contests_of(runs: Iterable[MeasuredRun], *, by_data: bool = True) -> tuple[Contest, ...]:
    """One contest for each load and, where `by_data`, each size of data, in the order of runs."""
    groups: dict[tuple[str, int | None], list[MeasuredRun]] = {}
    for run in runs:
        data = run.setup.data_bytes if by_data else None
        groups.setdefault((run.setup.load, data), []).append(run)
    return tuple(
        _contest(number, load, data, members)
        for number, ((load, data), members) in enumerate(groups.items(), 1)
    )


def _contest(
    number: int, load: str, data_bytes: int | None, runs: Sequence[MeasuredRun]
) -> Contest:
    first = runs[0].setup
    title = f"{first.load_words}, {size(data_bytes)} of data" if data_bytes else first.load_words
    entrants = entrants_of(runs)
    has_caches = not all(each.is_raw for each in entrants)
    return Contest(
        key=str(number),
        title=title[:1].upper() + title[1:],
        streams=first.streams,
        data_bytes=data_bytes,
        entrants=tuple(sorted(entrants, key=lambda each: (has_caches and each.is_raw, -each.iops))),
    )


def entrants_of(runs: Iterable[MeasuredRun]) -> tuple[Entrant, ...]:
    """The runs of one setup in one benchmark are one entrant, in the order of runs."""
    groups: dict[tuple[str, Setup], list[MeasuredRun]] = {}
    for run in runs:
        groups.setdefault((run.source.key, run.setup), []).append(run)
    firsts = [members[0] for members in groups.values()]
    names = _names(firsts)
    styles = _styles([first.setup.target for first in firsts])
    return tuple(
        Entrant(
            key=f"e{number}",
            name=name,
            setup=members[0].setup,
            runs=tuple(members),
            colour=colour,
            dash=dash,
        )
        for number, (members, name, (colour, dash)) in enumerate(
            zip(groups.values(), names, styles, strict=True), 1
        )
    )


def _names(firsts: Sequence[MeasuredRun]) -> list[str]:
    """Each is called by its target and by what tells it from others of the same target; by its
    benchmark, too, where there are several."""
    by_target: dict[str, list[Setup]] = {}
    for each in firsts:
        by_target.setdefault(each.setup.target, []).append(each.setup)
    has_sources = len({each.source.key for each in firsts}) > 1
    titles = Counter(title for _, title in {(each.source.key, _title(each)) for each in firsts})
    names = []
    for each in firsts:
        words = [TITLES.get(each.setup.target, each.setup.target)]
        words += _telling(each.setup, by_target[each.setup.target])
        if has_sources:
            title = _title(each)
            words.append(title if titles[title] == 1 else f"{title} ({each.source.key[:4]})")
        names.append(", ".join(words))
    return names


def _title(run: MeasuredRun) -> str:
    return run.source.title


def _telling(setup: Setup, others: Sequence[Setup]) -> list[str]:
    """The parts in which setups of one target differ."""
    return [
        words
        for part, words in setup.parts.items()
        if words and len({other.parts[part] for other in others}) > 1
    ]


def _styles(targets: Sequence[str]) -> list[tuple[str, str]]:
    """A colour for each target, and a dash for each entrant of it, so that lines differ
    without their colour, too."""
    others = iter(OTHER_COLOURS * (len(targets) // len(OTHER_COLOURS) + 1))
    colours = {target: COLOURS.get(target) or next(others) for target in dict.fromkeys(targets)}
    seen: Counter[str] = Counter()
    styles = []
    for target in targets:
        styles.append((colours[target], DASHES[seen[target] % len(DASHES)]))
        seen[target] += 1
    return styles
