"""A new cache is filled with what is read most, hottest first, at the others' pace."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from storage.agent.commands.command import BY_READS
from storage.agent.heat.hot_map import CHUNK_SECTORS, HotMap
from storage.agent.operations import cache_filler
from storage.agent.operations.cache_filler import CacheRoom, reads_of
from storage.agent.operations.pacer import Pacer, leaves
from storage.agent.state import hot_map_files
from storage.agent.state.hot_chunks import CHUNK_BYTES, HotChunk
from tests.contract.client import POOL_BYTES, Agent
from tests.fake import FakeHost

CHUNKS = POOL_BYTES // CHUNK_BYTES


def count(host: FakeHost, agent: Agent, volume: str, chunks: Sequence[int]) -> str:
    """As if its guest had read one page of each of these chunks; the uuid of the volume."""
    uuid: str = agent.lv(volume)["uuid"]
    hot = HotMap()
    hot.add([(0, 1, chunk * CHUNK_SECTORS, 8, b"R") for chunk in chunks])
    assert hot_map_files.mark(host, uuid, f"c-{volume[2:]}")
    head = hot_map_files.MapHead(900, hot.reads, host.wall_ns())
    hot_map_files.store(host, uuid, head, hot.to_bytes(), is_first=True)
    return uuid


def warm(agent: Agent, volume: str, limit_seconds: int = 3600) -> str:
    """The last sentence of a warm start."""
    outcome = agent.do("cache.warm", {"lv": volume, "limit_seconds": limit_seconds})
    return str(outcome["lines"][-1]["text"])


def used(host: FakeHost, volume: str) -> int:
    cache = host.root.lv(volume).cache
    assert cache is not None
    return int(cache.used)


def test_what_is_read_most_is_in_the_cache_afterwards(host: FakeHost, agent: Agent) -> None:
    volume, _ = agent.cached()
    uuid = count(host, agent, volume, range(0, 200, 2))
    said = warm(agent, volume)
    assert used(host, volume) == 100
    assert said.startswith("All is there: 100 % of what is read most is in the cache, 6 of 6 MiB")
    assert hot_map_files.mark_of(host, uuid) is None, "it is over"
    assert hot_map_files.map_head(host, uuid) is not None, "the next cache is warmed by it too"


def test_nothing_is_written_and_no_program_runs(host: FakeHost, agent: Agent) -> None:
    volume, _ = agent.cached()
    count(host, agent, volume, range(50))
    host.executed.clear()
    warm(agent, volume)
    assert host.executed == []


def test_a_policy_that_promotes_only_what_is_read_again_is_asked_again(
    host: FakeHost, agent: Agent
) -> None:
    volume, _ = agent.cached()
    cache = host.root.lv(volume).cache
    assert cache is not None
    cache.reads_to_promote = 2
    count(host, agent, volume, range(0, 200, 2))
    said = warm(agent, volume)
    assert used(host, volume) == 100 and "100 %" in said


def test_the_hottest_are_read_again_before_others_begin(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_filler, "BATCH", 50)
    monkeypatch.setattr(cache_filler, "PATIENCE", 1000)
    monkeypatch.setattr(cache_filler, "SETTLE_SECONDS", 0.0)
    volume, _ = agent.cached()
    cache = host.root.lv(volume).cache
    assert cache is not None
    cache.reads_to_promote = 40
    hottest = [*range(0, 100, 2)]
    count(host, agent, volume, [*hottest, *range(1, CHUNKS, 2), *hottest])
    assert warm(agent, volume, 60).startswith("Its time was over")
    assert used(host, volume) == len(hottest)


def test_where_reads_promote_nothing_it_ends_with_a_note(host: FakeHost, agent: Agent) -> None:
    volume, _ = agent.cached()
    cache = host.root.lv(volume).cache
    assert cache is not None
    cache.reads_to_promote = 400
    count(host, agent, volume, range(100))
    said = warm(agent, volume)
    assert said.startswith("It takes no more: 0 % of what is read most is in the cache")


def test_no_more_is_read_than_the_cache_has_room_for(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume(size_bytes=3 * POOL_BYTES)
    pool = agent.pool(volume)
    agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
    hottest = [*range(2 * CHUNKS, 3 * CHUNKS)] * 2
    count(host, agent, volume, [*range(2 * CHUNKS), *hottest])
    warm(agent, volume)
    cache = host.root.lv(volume).cache
    assert cache is not None and min(cache.chunks) >= 2 * CHUNKS, "the hottest of all"


def test_bcache_is_warmed_page_by_page(host: FakeHost, agent: Agent) -> None:
    volume = agent.backing()
    _, cset = agent.cset(volume)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": cset, **wished})
    count(host, agent, volume, range(0, 200, 2))
    said = warm(agent, volume)
    (found,) = host.machine.csets
    assert 100 * 4096 <= found.used_bytes <= 200 * 4096
    assert said.startswith("All is there: 100 %")


def test_a_volume_without_a_cache_and_one_without_a_map_are_no_errors(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    count(host, agent, volume, [1])
    assert warm(agent, volume) == "The volume has no cache that works: nothing was read."
    outcome = agent.do("cache.warm", {"lv": volume, "limit_seconds": 60})
    assert outcome["commands"] == []


def test_a_read_that_fails_ends_it_and_nothing_else(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str) -> None:
        raise OSError(5, "Input/output error")

    volume, _ = agent.cached()
    count(host, agent, volume, [1])
    monkeypatch.setattr(host, "direct_reads", broken)
    assert "was not filled any further: [Errno 5]" in warm(agent, volume)
    assert not host.list(hot_map_files.MARKS)


def test_its_time_is_limited(host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    volume, _ = agent.cached()
    cache = host.root.lv(volume).cache
    assert cache is not None
    cache.reads_to_promote = 400
    monkeypatch.setattr(cache_filler, "PATIENCE", 1000)
    count(host, agent, volume, range(CHUNKS))
    began_ns = host.boottime_ns()
    said = warm(agent, volume, 60)
    assert said.startswith("Its time was over")
    assert host.boottime_ns() - began_ns < 90e9


def test_it_can_be_stopped(host: FakeHost, agent: Agent) -> None:
    volume, _ = agent.cached()
    count(host, agent, volume, [*range(CHUNKS)])
    real = host.direct_reads

    op = agent.call("cache.warm", {"lv": volume, "limit_seconds": 3600})
    request = "00000000-0000-4000-8000-000000000abc"

    def stopped(path: str):  # type: ignore[no-untyped-def]
        agent.data("op.abort", {"op": request})
        return real(path)

    host.direct_reads = stopped  # type: ignore[method-assign]
    agent.ask("cache.warm", *op, id=request)
    outcome = agent.outcome(request)
    assert (outcome["state"], outcome["error"]["code"]) == ("interrupted", "aborted")
    assert used(host, volume) == 0
    assert not host.list(hot_map_files.MARKS)


def test_the_lock_of_the_group_is_free_meanwhile(host: FakeHost, agent: Agent) -> None:
    volume, _ = agent.cached()
    count(host, agent, volume, [*range(CHUNKS)])
    real = host.direct_reads
    seen = []

    def looked(path: str):  # type: ignore[no-untyped-def]
        with host.lock("vg0", 0.0):
            seen.append(path)
        return real(path)

    host.direct_reads = looked  # type: ignore[method-assign]
    warm(agent, volume)
    assert len(seen) == 1


def test_a_chunk_of_a_larger_cache_is_read_once() -> None:
    entries = [HotChunk(3, 4, 1), HotChunk(2, 5, 1), HotChunk(1, 9, 0b10)]
    room = CacheRoom(1 << 30, 2 * CHUNK_BYTES, lambda: 0)
    reads, filled_bytes = reads_of(entries, room)
    assert reads == [(4 * CHUNK_BYTES, 4096), (9 * CHUNK_BYTES + 4096, 4096)]
    assert filled_bytes == 4 * CHUNK_BYTES


def test_counting_says_why_there_is_no_map(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    outcome = agent.do("volume.count", {"lv": volume, "cache": "c-aaaaaaaa"})
    assert outcome["lines"][-1]["text"] == (
        "Its reads are not counted on this host: the cache starts empty."
    )
    assert not host.list(hot_map_files.MARKS)


def test_its_own_guest_is_no_neighbour(host: FakeHost, agent: Agent) -> None:
    """Else the agent would rest because of its own reads."""
    volume, _ = agent.cached()
    host.root.load(volume, iops=200)
    beside = agent.volume()
    host.root.load(beside, iops=200)
    with host.changing() as machine:
        for lv in machine.lvs():
            lv.counters.regions.clear()
    own = str(host.root.lv(volume).kname)
    pacer = Pacer(host, leaves(host, own), own, lambda: 20, BY_READS)
    looks = []
    while len(looks) < 400:
        looks.append(pacer.beat())
        host.advance(looks[-1].seconds)
    names = {each.name for each in host.machine.lvs() if each.counters.regions}
    assert names == {beside}, "the others alone are measured"
    assert 0 < sum(not look.rests for look in looks) < 300
