"""What the recipe of a counter (docs/architecture.md) demands, for every counter of a cache."""

from __future__ import annotations

from dataclasses import MISSING, fields
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from panel.api.exposition.volume_metrics import read_volumes, volume_text
from storage.agent.facts.counter_sample import sample
from storage.inventory.cache_counts import (
    COLUMNS,
    COUNTERS,
    BcacheCounts,
    CacheCounts,
    DmCacheCounts,
)
from storage.metrics.samples.columns import INTERVAL
from storage.metrics.series import series
from storage.models import LatestSample
from tests import make
from tests.storage import wire
from tests.storage.agent.facts.replay import ReplayHost
from tests.storage.metrics.samples.rounds import NOON, placed, take

FIRST = {
    DmCacheCounts: {
        "read_hits", "read_misses", "write_hits", "write_misses", "promotions", "demotions",
    },
    BcacheCounts: {"hits", "misses", "bypass_hits", "bypass_misses"},
}  # fmt: skip
"""What the first agents sent."""
PART = {DmCacheCounts: "cache", BcacheCounts: "bcache"}
KINDS = pytest.mark.parametrize("kind", COUNTERS)


@KINDS
def test_the_agent_sends_every_counter(kind: type[CacheCounts]) -> None:
    host = ReplayHost("host-cached").allow("vg0")
    sent = [each[PART[kind]] for each in sample(host)[0]["volumes"] if each[PART[kind]]]
    assert sent and all(set(COUNTERS[kind]) <= set(each) for each in sent)


@KINDS
def test_older_agents_need_not_send_it(kind: type[CacheCounts]) -> None:
    required = {each.name for each in fields(kind) if each.default is MISSING}
    assert required == FIRST[kind]


def test_every_counter_has_a_column_of_its_own() -> None:
    assert len(COLUMNS) == sum(map(len, COUNTERS.values()))
    assert list(INTERVAL)[-len(COLUMNS) :] == list(COLUMNS)


def counted(kind: type[CacheCounts], n: int) -> dict[str, Any]:
    """A volume of which each counter of the cache is `n`."""
    disk = wire.disk(reads=2 * n, writes=2 * n)
    counts = dict.fromkeys(COUNTERS[kind], n)
    if kind is DmCacheCounts:
        return {"disk": disk, "cache": wire.cache(**counts)}
    return {"bcache": wire.bcache(disk=disk, **counts)}


@KINDS
@pytest.mark.django_db
def test_every_counter_is_stored_exposed_and_part_of_series(kind: type[CacheCounts]) -> None:
    host = make.host()
    volume, lv = placed(host)
    for n in (0, 1):
        take(host, 10 * n, wire.volume(lv, **counted(kind, 70 * n)))
    described = {each.column: each for each in COUNTERS[kind].values()}
    assert LatestSample.objects.values(*described).get() == dict.fromkeys(described, 70)
    shown = series(volume, NOON, NOON + timedelta(seconds=10), inside=True).to_json()["series"]
    for column, each in described.items():
        assert not each.has_rate or shown[f"{column}_per_s"] == [7], column
    LatestSample.objects.update(at=timezone.now())
    exposed = "".join(volume_text(read_volumes()))
    for column, each in described.items():
        there = f'tiercel_cache_{column}_total{{volume="{volume.key}",host="{host.name}"}} 70\n'
        assert (there in exposed) is bool(each.text), column
