"""Who won a contest, by how much, and how sure that is. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from panel.benchmarks.benchmark_words import CONDITIONS, OF_THE_SETUP
from panel.benchmarks.contests import RAW, Contest, Entrant
from storage.analysis.comparison import (
    BenchmarkVerdict,
    Conditions,
    Unit,
    Word,
    compare_units,
    conditions_that_differ,
)
from storage.formatting import iops, size

TIMES_FROM: Final = 2.0
"""From this ratio on, a difference is said in multiples."""
BY_BOOT: Final = ("kernel", "lvm2_version", "bcache_tools_version")
"""A comparison of these conditions compares boots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """A condition that is not the same for all entrants: each value in words, with those that have
    it. `is_compared`: it is what the comparison is about."""

    name: str
    label: str
    values: tuple[tuple[str, tuple[Entrant, ...]], ...]
    is_compared: bool

    @property
    def named_values(self) -> list[tuple[str, str]]:
        """Its values, each with the names of its entrants."""
        return [(value, ", ".join(each.name for each in of)) for value, of in self.values]

    @property
    def sentence(self) -> str:
        """All of it in words."""
        parts = (f"{value} ({names})" for value, names in self.named_values)
        return f"{self.label}: {'; '.join(parts)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestPlace:
    """An entrant and its verdict against the winner, which the winner itself lacks. `part` is its
    IOPS as a part of the winner's."""

    entrant: Entrant
    verdict: BenchmarkVerdict | None
    part: float
    is_winner: bool = False

    @property
    def words(self) -> str:
        """How it did, in the three words; where they are too few runs, what was measured."""
        if self.verdict is None:
            return ""
        if self.verdict.change is None:
            return f"{_share(self.part)} its IOPS, cannot tell"
        return self.verdict.sentence

    @property
    def role(self) -> str:
        """What SSD alone and HDD alone show in a comparison with caches."""
        if self.is_winner or not self.entrant.is_raw:
            return ""
        is_ssd = self.entrant.setup.target == RAW[0]
        return "what a cache can reach at most" if is_ssd else "without any SSD"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestOutcome:
    """The result of a contest. `verdict` is that of the winner against the next of the choices;
    None where there is no other. `most` is the largest figure of all runs. Units of the comparison
    are called `noun`."""

    contest: Contest
    places: tuple[ContestPlace, ...]
    verdict: BenchmarkVerdict | None
    second: Entrant | None
    differing: tuple[Differing, ...]
    noun: str

    @property
    def winner(self) -> Entrant:
        return self.contest.winner

    @property
    def most(self) -> float:
        return max(each.iops_range[1] for each in self.contest.entrants)

    @property
    def word(self) -> Word | None:
        return None if self.verdict is None else self.verdict.word

    @property
    def headline(self) -> str:
        """Who won, in a sentence of few words."""
        if self.second is None:
            return f"{self.winner.name}: {iops(self.winner.iops)} IOPS"
        if self.word is Word.FASTER:
            return f"{self.winner.name} won"
        if self.word is Word.NO_DIFFERENCE:
            return f"{self.winner.name} and {self.second.name} are equal"
        if self.verdict is not None and self.verdict.change is None:
            return f"{self.winner.name} measured most"
        return f"{self.winner.name} leads, but that may be chance"

    @property
    def margin(self) -> str:
        """By how much, against the next."""
        if self.second is None or self.verdict is None:
            return ""
        if self.word is Word.FASTER:
            return f"{_more(self.verdict)} than {self.second.name}"
        if self.word is Word.NO_DIFFERENCE:
            return f"Between them {self.verdict.sentence}"
        part = self.second.iops / self.winner.iops if self.winner.iops > 0 else 0.0
        has = f"{self.second.name} has {_share(part)} its IOPS"
        return has if self.verdict.change is None else f"{has}; {self.verdict.sentence}"

    @property
    def sureness(self) -> tuple[str, str, str]:
        """How sure that is: tone, icon and text of a chip."""
        if self.second is None:
            return "quiet", "info", "nothing to compare with"
        if self.word is Word.FASTER:
            return "ok", "ok", "sure"
        if self.word is Word.NO_DIFFERENCE:
            return "quiet", "ok", "sure: a draw"
        if self.verdict is not None and self.verdict.change is None:
            return "warning", "help", f"too few {self.noun}s to be sure"
        return "warning", "help", "not sure"

    @property
    def basis(self) -> str:
        """The basis of the answer."""
        if self.verdict is None:
            return ""
        mine, others = self.verdict.units
        runs = f"{mine} {self.noun}{'' if mine == 1 else 's'} against {others}"
        claim = ""
        if self.word in (Word.FASTER, Word.NO_DIFFERENCE):
            chance = self.verdict.rule.alpha
            claim = f", so it is wrong in at most {100 * chance:g} of 100 comparisons"
        boots = {run.boot_id for each in self.contest.entrants for run in each.runs} - {""}
        is_one_boot = len(boots) == 1 and self.noun != "boot"
        once = " All in one boot of the host: another boot may be different." if is_one_boot else ""
        return f"It rests on {runs}{claim}.{once}"

    @property
    def beside_raw(self) -> str:
        """The winner beside SSD alone and HDD alone; "" where neither was measured."""
        if self.winner.is_raw:
            return ""
        parts = []
        for target, form in zip(RAW, ("{} of SSD alone", "{} HDD alone"), strict=True):
            raw = next((e for e in self.contest.entrants if e.setup.target == target), None)
            if raw is not None and raw.iops > 0:
                parts.append(form.format(_multiple(self.winner.iops / raw.iops, target)))
        return " and ".join(parts)


def contest_outcome(contest: Contest, varied: Collection[str] = ()) -> ContestOutcome:
    """The result; `varied` are further conditions that the comparison is about."""
    about = frozenset(OF_THE_SETUP | set(varied))
    by_boot = bool(set(varied) & set(BY_BOOT))
    noun = "boot" if by_boot else "run"
    units = {each.key: units_of(each, by_boot=by_boot) for each in contest.entrants}

    def against(a: Entrant, b: Entrant) -> BenchmarkVerdict:
        verdict = compare_units(
            units[a.key], units[b.key], more_is_better=True, noun=noun, varied=about
        )
        reasons = dict.fromkeys(
            reason for each in (a, b) for run in each.runs for reason in run.reasons
        )
        if not reasons:
            return verdict
        return replace(verdict, word=Word.CANNOT_TELL, refusals=tuple(reasons))

    winner, others = contest.winner, contest.choices[1:]
    second = others[0] if others else None
    return ContestOutcome(
        contest=contest,
        places=tuple(
            ContestPlace(
                entrant=each,
                verdict=None if each is winner else against(winner, each),
                part=each.iops / winner.iops if winner.iops > 0 else 0.0,
                is_winner=each is winner,
            )
            for each in contest.entrants
        ),
        verdict=None if second is None else against(second, winner),
        second=second,
        differing=tuple(differing_in(contest.entrants, varied)),
        noun=noun,
    )


def units_of(entrant: Entrant, *, by_boot: bool) -> tuple[Unit, ...]:
    """The unit that varies by chance: each run, whose volumes are new, or each boot."""
    groups: dict[str, list[int]] = {}
    for n, run in enumerate(entrant.runs):
        groups.setdefault(run.boot_id if by_boot and run.boot_id else str(n), []).append(n)
    return tuple(
        Unit(
            runs=tuple(entrant.runs[n].summary.iops for n in members),
            conditions=entrant.runs[members[0]].conditions,
        )
        for members in groups.values()
    )


def differing_in(entrants: Sequence[Entrant], varied: Collection[str] = ()) -> Iterator[Differing]:
    """The conditions, but for those that benchmarks vary on purpose, that differ between entrants
    or within one."""
    for name in CONDITIONS:
        if name in OF_THE_SETUP or not _differs(entrants, name):
            continue
        by_value: dict[str, list[Entrant]] = {}
        for entrant in entrants:
            for text in dict.fromkeys(condition_text(name, run.conditions) for run in entrant.runs):
                by_value.setdefault(text, []).append(entrant)
        yield Differing(
            name=name,
            label=CONDITIONS[name],
            values=tuple((text, tuple(of)) for text, of in by_value.items()),
            is_compared=name in varied,
        )


def _differs(entrants: Sequence[Entrant], name: str) -> bool:
    conditions = [run.conditions for entrant in entrants for run in entrant.runs]
    only = [Conditions(**{name: getattr(each, name)}) for each in conditions]
    return bool(conditions_that_differ(only, only))


def condition_text(name: str, conditions: Conditions) -> str:
    """The value of a condition, for people."""
    value = getattr(conditions, name)
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bytes"):
        return size(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _more(verdict: BenchmarkVerdict) -> str:
    """A difference for the better: "12-18 % more IOPS", "2.1 to 2.4 times the IOPS"."""
    if verdict.ratio is None or verdict.percents is None:
        return ""
    _, low, high = verdict.ratio
    if low >= TIMES_FROM:
        return f"{low:.2g} to {high:.2g} times the IOPS"
    return f"{verdict.sentence.removeprefix('faster by ')} more IOPS"


def _share(part: float) -> str:
    """A part of the winner's IOPS: "75 % of", or "1.1 times" of what has more."""
    if part > 1:
        return f"{part:,.2g} times"
    return f"{100 * part:.0f} % of" if part >= 0.01 else f"{100 * part:.1g} % of"


def _multiple(ratio: float, target: str) -> str:
    if target == RAW[0]:
        return f"{100 * ratio:.0f} %"
    return f"{ratio:,.0f} times" if ratio >= TIMES_FROM else f"{ratio:.2g} times"
