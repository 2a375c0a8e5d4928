"""The division of SSD over volumes that saves most waiting. Pure.

Of each volume one size is taken: a multiple-choice knapsack (Kellerer, Pferschy and Pisinger,
"Knapsack Problems", 2004, chapter 11). Waiting saved is not concave in the size: a loop that just
fits saves all at once, so that buying the best next step, or the concave hull, may spend the SSD on
steps that lead nowhere. Dynamic programming over the SSD has no such trouble, and takes choices
times units.

- The SSD is divided into `UNITS` units, or fewer where they are exact. Sizes are rounded up, so
  that the result is no worse than the best one with a unit less for each volume that could change;
  what the rounding left is then spent, best choice first. With exact units the result is the best.
- Wear has a price in seconds for each byte, the lowest at which the budget is kept. No division
  within the budget saves more than the price of the budget that is left unused.
- A change is worth `CHANGE_SECONDS` at least: a cache that is made anew is empty. The result is
  never worth less than what there is now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, inf
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

UNITS: Final = 4096
CHANGE_SECONDS: Final = 60.0
ROUGH_UNITS: Final = 256
"""While the price of wear is sought."""
PRICE_ROUNDS: Final = 6
DEAREST_ROUNDS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeOption:
    """A cache of `size_bytes` (0 = none), which takes `ssd_bytes` with its metadata. It saves so
    many seconds of waiting a day, more than now; below zero: it costs some. It writes so many bytes
    a day to the SSD."""

    size_bytes: int
    ssd_bytes: int
    saved_low: float = 0.0
    saved_high: float = 0.0
    hit_rate: float | None = None
    written_bytes_per_day: float = 0.0
    writeback: bool = False

    @property
    def saved(self) -> float:
        return (self.saved_low + self.saved_high) / 2


@dataclass(frozen=True, slots=True)
class VolumeChoices:
    """What a volume has `now`, and its other choices."""

    now: SizeOption
    choices: Sequence[SizeOption] = ()

    def permitted(self, room: Room) -> tuple[SizeOption, ...]:
        """What it has, and what it may become: new data lie on one SSD alone only where it is a
        mirror."""
        others = (
            each
            for each in self.choices
            if each.size_bytes != self.now.size_bytes and (room.is_redundant or not each.writeback)
        )
        return (self.now, *others)


@dataclass(frozen=True, slots=True)
class Room:
    """The SSD for caches, those that exist included. `wear_bytes_per_day` is what may be written to
    it, None where that is not known. SSD that saves less than `least_seconds_per_byte` a day is
    better left free: it can be sold."""

    ssd_bytes: int
    is_redundant: bool = False
    wear_bytes_per_day: float | None = None
    least_seconds_per_byte: float = 0.0

    def worth(self, choice: SizeOption, now: SizeOption) -> float:
        """In seconds a day."""
        change = CHANGE_SECONDS if choice is not now else 0.0
        return choice.saved - change - self.least_seconds_per_byte * choice.ssd_bytes

    def larger_by(self, ssd_bytes: int) -> Room:
        """With one more SSD, which wears as the others do."""
        more = 1 + ssd_bytes / self.ssd_bytes if self.ssd_bytes else 1.0
        wear = None if self.wear_bytes_per_day is None else self.wear_bytes_per_day * more
        return replace(self, ssd_bytes=self.ssd_bytes + ssd_bytes, wear_bytes_per_day=wear)


@dataclass(frozen=True, slots=True)
class Division:
    """The choice of each candidate, in their order."""

    chosen: tuple[SizeOption, ...]

    @property
    def saved(self) -> float:
        return sum(each.saved for each in self.chosen)

    @property
    def ssd_bytes(self) -> int:
        return sum(each.ssd_bytes for each in self.chosen)

    @property
    def written_bytes_per_day(self) -> float:
        return sum(each.written_bytes_per_day for each in self.chosen)


def divide(candidates: Sequence[VolumeChoices], room: Room) -> Division:
    """The best division found; where the budget of wear cannot be kept, the one that wears
    least."""
    if not candidates:
        return Division(())
    case = _Case([_Volume.of(each, room) for each in candidates], room)
    best = case.division(case.best_at(0.0, UNITS), inf)
    budget = room.wear_bytes_per_day
    if budget is not None and best.written_bytes_per_day > budget:
        best = case.within(budget, best)
    now = Division(tuple(each.now for each in candidates))
    gain = sum(
        room.worth(chosen, each.now) - room.worth(each.now, each.now)
        for chosen, each in zip(best.chosen, candidates, strict=True)
    )
    is_no_better = gain <= 0 and now.ssd_bytes <= room.ssd_bytes
    if is_no_better and (budget is None or now.written_bytes_per_day <= budget):
        return now
    return best


class _Volume(NamedTuple):
    """The permitted choices, that which takes least first, and what each is worth."""

    choices: tuple[SizeOption, ...]
    worths: tuple[float, ...]

    @classmethod
    def of(cls, candidate: VolumeChoices, room: Room) -> _Volume:
        choices = sorted(candidate.permitted(room), key=lambda each: each.ssd_bytes)
        return cls(tuple(choices), tuple(room.worth(each, candidate.now) for each in choices))

    @property
    def extras(self) -> list[int]:
        """What each takes more than the least."""
        return [each.ssd_bytes - self.choices[0].ssd_bytes for each in self.choices]

    def at(self, price: float) -> list[float]:
        """The worths, less the price of the wear."""
        return [
            worth - price * each.written_bytes_per_day
            for worth, each in zip(self.worths, self.choices, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _Case:
    """Of each volume one choice is picked, by its number."""

    volumes: Sequence[_Volume]
    room: Room

    def within(self, budget: float, free: Division) -> Division:
        """At the lowest price of wear that keeps the budget."""
        low, high = 0.0, (abs(free.saved) + 1) / free.written_bytes_per_day
        for _ in range(DEAREST_ROUNDS):
            if self._written(self.best_at(high, ROUGH_UNITS)) <= budget:
                break
            low, high = high, high * 4
        for _ in range(PRICE_ROUNDS):
            middle = (low + high) / 2
            if self._written(self.best_at(middle, ROUGH_UNITS)) <= budget:
                high = middle
            else:
                low = middle
        picked = self.best_at(high, UNITS)
        if self._written(picked) > budget:
            picked = self.best_at(high, ROUGH_UNITS)
        return self.division(picked, budget)

    def _written(self, picked: Sequence[int]) -> float:
        return sum(
            volume.choices[n].written_bytes_per_day
            for volume, n in zip(self.volumes, picked, strict=True)
        )

    def best_at(self, price: float, units: int) -> list[int]:
        """By dynamic programming over what each volume takes more than the least it may."""
        least = sum(volume.choices[0].ssd_bytes for volume in self.volumes)
        left, extras = max(0, self.room.ssd_bytes - least), [each.extras for each in self.volumes]
        unit = gcd(*(extra for each in extras for extra in each)) or 1
        if left // unit > units:
            unit = -(-left // units)
        count = left // unit
        best, picks = np.zeros(count + 1), list[npt.NDArray[np.int16]]()
        for volume, of_volume in zip(self.volumes, extras, strict=True):
            values, pick = np.full(count + 1, -np.inf), np.zeros(count + 1, np.int16)
            most = -inf
            for n, worth in enumerate(volume.at(price)):
                taken = -(-of_volume[n] // unit)
                if taken > count:
                    break
                if worth > most:  # else a smaller one is worth as much
                    most, others = worth, best[: count + 1 - taken] + worth
                    np.copyto(pick[taken:], n, where=others > values[taken:])
                    np.maximum(values[taken:], others, out=values[taken:])
            best = values
            picks.append(pick)
        picked, at = list[int](), count
        for of_volume, pick in zip(reversed(extras), reversed(picks), strict=True):
            picked.append(int(pick[at]))
            at -= -(-of_volume[picked[-1]] // unit)
        return picked[::-1]

    def division(self, picked: Sequence[int], budget: float) -> Division:
        """That, with what is left of the SSD and the budget given to the choices worth most for
        it."""
        choices = [each for volume in self.volumes for each in volume.choices]
        worths = np.array([each for volume in self.volumes for each in volume.worths])
        taken = np.array([each.ssd_bytes for each in choices], np.int64)
        written = np.array([each.written_bytes_per_day for each in choices])
        counts = [len(volume.choices) for volume in self.volumes]
        first = np.concatenate(([0], np.cumsum(counts)[:-1])).astype(np.int64)
        of = np.repeat(np.arange(len(counts)), counts)
        chosen = first + np.array(picked, np.int64)
        left = self.room.ssd_bytes - int(taken[chosen].sum())
        unworn = budget - float(written[chosen].sum())
        while True:
            now = chosen[of]
            gain, more, worn = worths - worths[now], taken - taken[now], written - written[now]
            is_possible = (gain > 0) & (more <= left) & (worn <= max(0.0, unworn))
            if not is_possible.any():
                return Division(tuple(choices[n] for n in chosen.tolist()))
            best = int(np.argmax(np.where(is_possible, gain / np.maximum(more, 1), -1.0)))
            left -= int(more[best])
            unworn -= float(worn[best])
            chosen[of[best]] = best


@dataclass(frozen=True, slots=True)
class NextSsd:
    """What one more SSD of `ssd_bytes` would save, beyond the division without it, and the numbers
    of the candidates whose waiting that is, the most first."""

    ssd_bytes: int
    saved_seconds_per_day: float
    numbers: tuple[int, ...]


def next_ssds(
    candidates: Sequence[VolumeChoices], room: Room, without: Division, sizes_bytes: Sequence[int]
) -> tuple[NextSsd, ...]:
    """One for each size, the smallest first; those that save no more than a smaller one are left
    out."""
    offers, most = list[NextSsd](), CHANGE_SECONDS
    for size_bytes in sorted(sizes_bytes):
        larger = divide(candidates, room.larger_by(size_bytes))
        gains = [
            (after.saved - before.saved, n)
            for n, (after, before) in enumerate(zip(larger.chosen, without.chosen, strict=True))
        ]
        saved = sum(gain for gain, _ in gains)
        if saved >= most:
            gaining = sorted((-gain, n) for gain, n in gains if gain >= CHANGE_SECONDS)
            offers.append(NextSsd(size_bytes, saved, tuple(n for _, n in gaining)))
            most = saved + CHANGE_SECONDS
    return tuple(offers)
