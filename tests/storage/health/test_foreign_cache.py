"""A cache that root made by hand shows its true hit rate from the first pair of samples on."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest

from storage.analysis.advice import outlook
from storage.discovery.ingest import apply_facts
from storage.metrics.samples import latest, record_sample
from storage.models import Host, Volume
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.fake.host import FakeHost
from tests.storage.metrics.samples.rounds import NOON

pytestmark = pytest.mark.django_db
MIB = 2**20

BY_HAND = (
    f"lvcreate -y --type cache-pool -n crm2-cache -L {512 * MIB}b --chunksize 64k vg0 /dev/md0",
    "lvconvert -y --type cache --cachepool vg0/crm2-cache --cachemode writeback --cachepolicy smq"
    " --cachesettings migration_threshold=2048 vg0/crm2",
)


class Found:
    """A fake host with a hand-made cache under load, discovered and sampled."""

    def __init__(self) -> None:
        self.fake = FakeHost("foreign")
        self.fake.root.add_lv("crm2", 1024 * MIB)
        for line in BY_HAND:
            assert self.fake.run(line.split()).rc == 0
        self.fake.root.guest("crm2", "/dev/vg0/crm2")
        self.fake.root.load("crm2", hit_rate=0.9, warm_up_seconds=0.001)
        self.host: Host = make.host()
        apply_facts(self.host, self.ask("inventory")["data"], NOON)
        self.host.refresh_from_db()
        self.volume = Volume.objects.get(label="crm2")

    def ask(self, verb: str) -> dict[str, Any]:
        request = {"v": 1, "id": str(uuid.uuid4()), "verb": verb, "args": {}, "expect": {}}
        reply: dict[str, Any] = json.loads(self.fake.answer(json.dumps(request).encode()))
        assert reply["ok"], reply
        return reply

    def round(self, seconds: int) -> None:
        self.fake.advance(10)
        reply = self.ask("sample")
        record_sample(self.host, reply["data"], reply["host"], NOON + timedelta(seconds=seconds))


def test_a_cache_made_by_hand_has_its_hit_rate_after_two_samples() -> None:
    found = Found()
    found.round(10)
    found.round(20)
    figures = latest(found.volume)
    assert figures is not None
    assert (figures.gap, figures.cache_gap) == (None, None)
    assert figures.hit_rate == pytest.approx(0.9, abs=0.02)
    assert figures.cache_mode == "writeback"
    assert found.volume.guest.startswith("crm2")


def test_its_hit_rate_is_in_the_advice_and_it_is_not_suggested_again() -> None:
    found = Found()
    for n in range(1, 9):
        found.round(10 * n)
    now = NOON + timedelta(seconds=80)
    seen = outlook(found.host, inventory_of(found.host), snapshots_of([found.volume]), now)
    (cache,) = seen.caches
    assert cache.recent.hit_rate == pytest.approx(0.9, abs=0.02)
    assert cache.row.cache is not None
    assert (cache.row.cache.technology, cache.row.cache.mode) == ("lvmcache", "writeback")
    assert seen.suggestions == ()
