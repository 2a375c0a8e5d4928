"""Replacing and flushing caches, from the preview to the end, against the fake host."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from jobs.engine import operation
from jobs.models import Job, Kind, State, Step, StepState
from jobs.queue.submit import cancel
from storage.byte_sizes import GIB, MIB
from storage.models import Host
from storage.naming import cache_device_name, new_key, pool_name
from storage.planner.fingerprint import FLUSHES
from storage.planner.wish import Bcache, LvmCache, Wish
from storage.volumes.snapshot import snapshots_of
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import (
    commands,
    done,
    enrolled,
    fake_host,
    fake_server,
    make_fake_host,
    new_volume,
)

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db

CSET = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c0aa"
TIGHT = 3 * GIB
"""md0 has 4 GiB: two of these do not fit."""
DRAINED = ["bcache.flush", "bcache.detach"]


def cached(technology: str, size_bytes: int) -> Wish:
    key = new_key()
    if technology == "lvmcache":
        return Wish(GIB, cache=LvmCache(pool_name(key), size_bytes, mode="writeback"))
    cache = Bcache(cache_device_name(key), CSET, size_bytes, "writeback")
    return Wish(GIB, layout="bcache", cache=cache)


def verbs(job: Job) -> list[str]:
    return list(job.step_set.values_list("verb", flat=True))


@pytest.mark.parametrize(
    ("technology", "old_bytes", "expected"),
    [
        (
            "lvmcache",
            GIB,
            [
                "pool.create",
                "cache.flush",
                "cache.detach",
                "cache.attach",
                "volume.clear",
            ],
        ),
        (
            "lvmcache",
            TIGHT,
            [
                "cache.flush",
                "cache.detach",
                "pool.create",
                "cache.attach",
                "volume.clear",
            ],
        ),
        ("bcache", GIB, ["cset.create", *DRAINED, "bcache.attach", "cset.remove"]),
        ("bcache", TIGHT, [*DRAINED, "cset.remove", "cset.create", "bcache.attach"]),
    ],
)
def test_a_cache_is_replaced_by_what_the_preview_said(
    enrolled: Host,
    fake_host: FakeHost,
    technology: str,
    old_bytes: int,
    expected: list[str],
) -> None:
    old = cached(technology, old_bytes)
    volume = new_volume(enrolled, old.layout)
    assert done(Kind.CREATE_VOLUME, volume, old).state == State.SUCCEEDED
    fake_host.root.dirty(volume.placed.lv_name, 200 * MIB)  # type: ignore[union-attr]
    # Else the cache writes itself back while the new one is zeroed.
    fake_host.machine.flush_bytes_per_second /= 100
    assert old.cache is not None
    new = dataclasses.replace(old, cache=old.cache.another(new_key(), 2 * GIB, "writeback"))
    preview = done(Kind.REPLACE_CACHE, volume, new, dry_run=True)
    assert (preview.state, verbs(preview)) == (State.SUCCEEDED, expected)
    job = done(Kind.REPLACE_CACHE, volume, new)
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert commands(job) == commands(preview)
    assert volume.wish == new.to_json()
    enrolled.refresh_from_db()
    names = {lv.name for lv in fake_host.machine.lvs()}
    assert new.cache is not None and old.cache is not None
    assert [name for name in names if name.startswith(new.cache.name)]
    assert not [name for name in names if name.startswith(old.cache.name)]
    again = done(Kind.REPLACE_CACHE, volume, new)
    assert (again.state, commands(again)) == (State.SUCCEEDED, [])


@pytest.mark.parametrize("technology", ["lvmcache", "bcache"])
def test_a_flush_leaves_the_cache_as_it_was(
    enrolled: Host, fake_host: FakeHost, technology: str
) -> None:
    wish = cached(technology, GIB)
    volume = new_volume(enrolled, wish.layout)
    assert done(Kind.CREATE_VOLUME, volume, wish).state == State.SUCCEEDED
    fake_host.root.dirty(volume.placed.lv_name, 200 * MIB)  # type: ignore[union-attr]
    job = done(Kind.FLUSH_CACHE, volume, dataclasses.replace(wish, flushed=True))
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    flush: Any = job.step_set.get(n=1)
    assert flush.verb in ("cache.flush", "bcache.flush")
    assert flush.progress["total_bytes"] > 64 * MIB
    assert flush.progress["left_s"] == 0
    assert volume.wish == wish.to_json()


@pytest.mark.parametrize("technology", ["lvmcache", "bcache"])
def test_who_cancels_a_removal_while_it_flushes_has_the_cache_as_it_was(
    enrolled: Host, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch, technology: str
) -> None:
    wish = cached(technology, GIB)
    volume = new_volume(enrolled, wish.layout)
    assert done(Kind.CREATE_VOLUME, volume, wish).state == State.SUCCEEDED
    fake_host.root.dirty(volume.placed.lv_name, 200 * MIB)  # type: ignore[union-attr]
    with fake_host.changing() as machine:
        machine.flush_bytes_per_second = 0
    poll = operation.poll

    def cancelled(job: Job, step: Step) -> None:
        poll(job, step)
        if step.verb in FLUSHES and step.state == StepState.RUNNING:
            cancel(Job.objects.get(pk=job.pk), None)

    monkeypatch.setattr(operation, "poll", cancelled)
    job = done(Kind.REMOVE_CACHE, volume, dataclasses.replace(wish, cache=None))
    assert (job.state, job.error) == (State.CANCELLED, {})
    flush = job.step_set.get(n=1)
    assert (flush.verb in FLUSHES, flush.state) == (True, StepState.FAILED)
    assert flush.error["code"] == "aborted"
    row = snapshots_of([volume])[0]
    assert row.wish == volume.current_wish == wish
    assert row.lv is not None
    held = row.lv.cache or row.lv.bcache
    assert held is not None and held.dirty_bytes > 0
