"""A warm start: a new cache is filled with what is read most of its volume. Pure.

The host counts it all the time, of one volume after the other; from the beginning of a job without
a break for the volume of the job. Nothing waits for that: a cache that is attached meanwhile learns
as much.
"""

from __future__ import annotations

from storage.agent.verbs.fill_cache import (
    COUNT,
    LEAST_WARM_SECONDS,
    MOST_WARM_SECONDS,
    WARM_CACHE,
)
from storage.agent.verbs.registry import verbs_with
from storage.agent.verbs.verb import Trait
from storage.byte_sizes import KIB
from storage.formatting import seconds as duration
from storage.planner.draft import Draft
from storage.planner.technologies.lookup import cache_of
from storage.planner.wish import DEFAULT_CHUNK_KIB

SWITCHES = verbs_with(Trait.SWITCHES_CACHE)
ATTACHES = SWITCHES & verbs_with(Trait.SPARES_HOST)
"""What gives a volume a cache; one is taken off the host's own volumes, too."""
READS_A_SECOND = 20
"""That a busy disk has to spare, at least; more than that is tried again another day."""


def warm_up(draft: Draft) -> None:
    """Where the plan brings another cache, count first and fill it then; where it has brought it,
    fill it with what was counted for it."""
    cache, lv = draft.wish.cache, draft.lv
    if cache is None or lv is None or not lv.heat_observed:
        return
    is_counted = lv.counted_for == cache.name
    attaches = any(step.verb in ATTACHES for step in draft.steps)
    if not attaches and not (is_counted and cache_of(draft.facts, lv) is not None):
        return
    limit_seconds = _limit_seconds(cache.size_bytes)
    switches = (n for n, step in enumerate(draft.steps, 1) if step.verb in SWITCHES)
    draft.add(
        WARM_CACHE.name,
        f"Fill the cache with what is read most, in at most {duration(limit_seconds)}, "
        "while other volumes on the disks keep their latency",
        limit_seconds=limit_seconds,
    )
    draft.steps.insert(max(switches, default=0), draft.steps.pop())
    if attaches and not is_counted:
        draft.add(COUNT.name, "Count what is read most of the volume", cache=cache.name)
        draft.steps.insert(0, draft.steps.pop())


def _limit_seconds(size_bytes: int) -> int:
    chunks = size_bytes // (DEFAULT_CHUNK_KIB * KIB)
    return min(MOST_WARM_SECONDS, max(LEAST_WARM_SECONDS, chunks // READS_A_SECOND))
