"""Synthetic weeks of a guest: hours of the day differ, neighbours in time resemble each other."""

from __future__ import annotations

import math
from random import Random

from storage.analysis.before_after import Block

HOUR = 3600
WEEK_HOURS = 168
DAY_CURVE = [math.sin(2 * math.pi * hour / 24) for hour in range(24)]


def block(
    at: int,
    accesses: int,
    hit_rate: float,
    read_ms: float = 5.0,
    *,
    writes: int = 0,
    write_ms: float = 5.0,
) -> Block:
    """An hour in which so many reads took `read_ms` each, and so many writes `write_ms`."""
    return Block(
        at=at,
        dt_ms=HOUR * 1000,
        reads=accesses,
        read_ms=round(accesses * read_ms),
        accesses=accesses,
        hits=hit_rate * accesses,
        writes=writes,
        write_ms=round(writes * write_ms),
    )


def hours(
    random: Random,
    *,
    base: float,
    load: float,
    noise: float,
    likeness: float,
    start: int = 0,
    count: int = WEEK_HOURS,
) -> list[Block]:
    """`count` hours whose hit rate is `base`, 15 points more or less with the hour of the day, plus
    noise of that standard deviation and correlation from one hour to the next; about `load` reads
    an hour, four times as many by day as by night."""
    found, drift = [], random.gauss(0, noise)
    fresh = noise * math.sqrt(1 - likeness**2)
    for n in range(count):
        drift = likeness * drift + random.gauss(0, fresh)
        day = DAY_CURVE[n % 24]
        rate = min(0.99, max(0.0, base + 0.15 * day + drift))
        accesses = round(load * math.exp(0.7 * day + random.gauss(0, 0.3)))
        found.append(block(start + n * HOUR, accesses, rate))
    return found
