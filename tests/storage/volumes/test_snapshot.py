"""What is asked of a volume is refused where its host's kernel would lose the data."""

from __future__ import annotations

import dataclasses

import pytest
from django.utils import timezone

from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts
from storage.health import accepted_faults
from storage.inventory.facts import KernelIdentity
from storage.models import Volume
from storage.naming import cache_device_name, new_key
from storage.planner.wish import Bcache, Wish
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests import make
from tests.scene import scene

pytestmark = pytest.mark.django_db
CODE = "bcache_bvec_5_15"


def row_on(kernel: str) -> VolumeSnapshot:
    there = scene(make.lv(bcache=make.bcache()))
    facts = make.facts(there.lv, kernel=KernelIdentity(kernel))
    apply_facts(there.host, make.inventory(facts), timezone.now())
    return snapshots_of([Volume.objects.get(pk=there.volume.pk)])[0]


def cached(row: VolumeSnapshot) -> Wish:
    now = row.wish
    assert now is not None
    cache = Bcache(cache_device_name(new_key()), make.CSET_UUID, GIB)
    return dataclasses.replace(now, cache=cache)


def test_a_cache_is_refused_until_the_fault_is_accepted() -> None:
    row = row_on("5.15.2")
    refusal = row.refusal(cached(row))
    assert refusal is not None and refusal.code == "kernel_fault"
    assert row.host is not None
    accepted_faults.accept_fault(row.host, CODE, "ada@example.org", "why", timezone.now())
    assert row.refusal(cached(row)) is None


def test_a_kernel_without_the_fault_refuses_nothing() -> None:
    row = row_on("5.15.3")
    assert row.refusal(cached(row)) is None
