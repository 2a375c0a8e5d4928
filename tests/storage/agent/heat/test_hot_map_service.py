"""The service counts what is read most: of each volume in turns, of one with a new cache always."""

from __future__ import annotations

import pytest

from storage.agent.heat import hot_maps, service
from storage.agent.heat.trace_filter import CHUNK_SECTORS, trace_filter
from storage.agent.state import admin, hot_map_files
from storage.agent.state.hot_chunks import hot_chunks
from tests.contract.client import Agent
from tests.fake import FakeHost

from .traced_host import RESIDUE, TracedHost

DAY = 24 * 3600
TURN = hot_maps.TURN_SECONDS


@pytest.fixture
def traced(host: FakeHost) -> TracedHost:
    host.root.add_lv("web", 1 << 30, "sdc")
    host.root.add_lv("other", 1 << 30, "sdc")
    return TracedHost(host)


@pytest.fixture
def web(agent: Agent, traced: TracedHost) -> str:
    """A volume whose reads are being counted for a cache that it gets."""
    uuid: str = agent.lv("web")["uuid"]
    agent.data("heat.observe", {"lv_uuids": [uuid]})
    assert hot_map_files.mark(traced.host, uuid, "c-aaaaaaaa")
    traced.run(11)
    return uuid


def read(traced: TracedHost, *chunks: int, of: str = "web") -> None:
    number = traced.number(of)
    for chunk in chunks:
        sector = chunk * CHUNK_SECTORS
        traced.tracer.waiting.append((traced.host.boottime_ns(), number, sector, 8, b"R"))


def files(traced: TracedHost) -> list[str]:
    """All that is known of what is read most."""
    folders = (hot_map_files.MAPS, hot_map_files.MARKS)
    return [f"{folder}/{name}" for folder in folders for name in traced.host.list(folder)]


def chunks(traced: TracedHost, uuid: str) -> list[int]:
    return [each.chunk for each in hot_chunks(hot_map_files.data(traced.host, uuid))]


def test_every_read_of_the_volume_is_seen_and_counted(traced: TracedHost, web: str) -> None:
    number = traced.number("web")
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [number], [number])
    read(traced, 4, 9, 9)
    traced.run(80)
    assert chunks(traced, web) == [9, 4]
    head = hot_map_files.map_head(traced.host, web)
    assert head is not None and head.reads == 3 and 60 <= head.seconds <= 80
    assert {traced.host.modes[path] for path in files(traced)} == {0o600}, "for root alone"


def test_volumes_are_counted_in_turns(traced: TracedHost, agent: Agent) -> None:
    uuids = {name: agent.lv(name)["uuid"] for name in ("web", "other")}
    agent.data("heat.observe", {"lv_uuids": list(uuids.values())})
    first, second = sorted(uuids, key=lambda name: uuids[name])
    traced.run(11)
    read(traced, 4, of=first)
    read(traced, 5, of=second)
    traced.run(TURN)
    read(traced, 6, of=second)
    traced.run(TURN)
    read(traced, 4, of=first)
    traced.run(TURN)
    assert chunks(traced, uuids[first]) == [4] and chunks(traced, uuids[second]) == [6]
    (hottest,) = hot_chunks(hot_map_files.data(traced.host, uuids[first]))
    assert hottest.times == 2, "each turn adds to the one before"


def test_of_many_that_get_caches_at_once_two_are_counted_without_a_break(
    traced: TracedHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the maps take of memory is bounded, whatever a panel asks for."""
    monkeypatch.setattr(hot_maps, "TURN_EVENTS", 0)
    traced.host.root.add_lv("third", 1 << 30, "sdc")
    uuids = {name: agent.lv(name)["uuid"] for name in ("web", "other", "third")}
    agent.data("heat.observe", {"lv_uuids": list(uuids.values())})
    for name, uuid in uuids.items():
        assert hot_map_files.mark(traced.host, uuid, f"c-{name}")
        traced.run(1)
    traced.run(20)
    whole = sorted(traced.number(name) for name in ("web", "other"))
    all_of_them = [traced.number(name) for name in uuids]
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, all_of_them, whole)


def test_a_busy_volume_has_a_short_turn(
    traced: TracedHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hot_maps, "TURN_EVENTS", 100)
    agent.data("heat.observe", {"lv_uuids": [agent.lv("web")["uuid"]]})
    traced.run(11)
    assert "||" in traced.tracer.filters[-1].rsplit("))", 1)[-1], "all of it is seen"
    read(traced, *range(150))
    traced.run(22)
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [traced.number("web")])
    assert len(chunks(traced, agent.lv("web")["uuid"])) == 150


def test_what_was_hot_a_week_ago_counts_half(traced: TracedHost, agent: Agent, web: str) -> None:
    hot_map_files.unmark(traced.host, [web])
    read(traced, 4, 4, 4, 4, 9)
    traced.run(2 * TURN)
    traced.host.clock.step(7 * DAY)
    agent.data("heat.observe", {"lv_uuids": [web, agent.lv("other")["uuid"]]})
    traced.run(3 * TURN)
    found = hot_chunks(hot_map_files.data(traced.host, web))
    assert [(each.times, each.chunk) for each in found] == [(2, 4)]


def test_the_inventory_says_for_which_cache_it_is(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    traced.run(80)
    lv = agent.lv("web")
    assert (lv["heat_observed"], lv["counted_for"]) == (True, "c-aaaaaaaa")
    hot_map_files.unmark(traced.host, [web])
    traced.run(11)
    assert agent.lv("web")["counted_for"] == ""


def test_a_volume_that_the_panel_does_not_name_any_more_loses_its_map(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    agent.data("heat.observe", {"lv_uuids": []})
    traced.run(11)
    assert files(traced) == []
    assert not agent.lv("web")["heat_observed"]


def test_what_was_counted_under_another_owner_is_forgotten(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    read(traced, 4)
    traced.run(80)
    agent.data("heat.forget", {"lv_uuids": [web]})
    assert files(traced) == []
    read(traced, 5)
    traced.run(80)
    traced.run(2 * TURN)
    assert chunks(traced, web) == [], "nor is what was only in memory written down"


def test_a_volume_that_is_destroyed_takes_its_map_along(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    uuid, key = agent.lv(volume)["uuid"], volume[2:]
    head = hot_map_files.MapHead(900, 1, 0)
    hot_map_files.store(host, uuid, head, b"", is_first=True)
    names = {"lv": volume, "retired_name": f"del-{key}", "volume_key": key, "layout": "plain"}
    agent.do("volume.retire", names)
    host.advance(25 * 3600)
    retired = {
        "lv": f"del-{key}",
        "lv_uuid": uuid,
        "size_bytes": agent.lv(f"del-{key}")["size_bytes"],
    }
    agent.do("volume.destroy", {**retired, "volume_key": key, "layout": "plain"})
    assert hot_map_files.map_heads(host) == {}


def test_root_forbids_it_and_no_map_is_left(traced: TracedHost, agent: Agent, web: str) -> None:
    admin.set_heat(traced.host, allowed=False)
    assert not traced.run(11)
    assert files(traced) == []
    assert not agent.lv("web")["heat_observed"]


def test_no_map_is_left_although_no_service_runs(traced: TracedHost, web: str) -> None:
    admin.set_heat(traced.host, allowed=False)
    assert files(traced) == []


def test_a_service_that_was_killed_leaves_no_mark(
    traced: TracedHost, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "TraceInstance", lambda host: traced.tracer)
    service.clean_heat(traced.host)
    assert not traced.host.list(hot_map_files.MARKS)


def test_a_service_that_is_stopped_keeps_what_it_counted(traced: TracedHost, web: str) -> None:
    read(traced, 4)
    traced.run(3)
    traced.service.end()
    assert chunks(traced, web) == [4] and not traced.host.list(hot_map_files.MARKS)


def test_no_volume_is_marked_for_more_than_a_day(traced: TracedHost, web: str) -> None:
    traced.run(DAY + 20)
    assert not traced.host.list(hot_map_files.MARKS)


def test_where_it_costs_too_much_the_map_goes_first(traced: TracedHost, web: str) -> None:
    traced.tracer.cpu += 5.0
    traced.run(13)
    assert not traced.host.list(hot_map_files.MARKS) and traced.tracer.is_there
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [traced.number("web")])


def test_a_busy_volumes_turn_ends_neither_a_trace_nor_what_is_counted_for_a_cache(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    other = agent.lv("other")["uuid"]
    agent.data("heat.observe", {"lv_uuids": [web, other]})
    agent.data("heat.trace", {"lv_uuid": web, "minutes": 30, "chunk_kib": 64})
    numbers = [traced.number("web"), traced.number("other")]
    while traced.tracer.filters[-1] != trace_filter(RESIDUE, numbers, numbers):
        traced.run(10)
    traced.tracer.cpu += 5.0
    traced.run(13)
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, numbers, numbers[:1])
    assert traced.host.list(hot_map_files.MARKS)
    assert agent.data("heat.records", {"after": 0})["records"] == []


def test_the_agents_own_reads_are_not_counted(traced: TracedHost, agent: Agent, web: str) -> None:
    read(traced, 4)
    traced.run(11)
    hot_map_files.begin_warming(traced.host, web)
    traced.run(11)
    read(traced, 5)
    traced.read("web", [1, 2, 3], unseen=500)
    traced.run(80)
    assert chunks(traced, web) == [4]
    hot_map_files.unmark(traced.host, [web])
    traced.run(3600)
    (record,) = agent.data("heat.records", {"after": 0})["records"][:1]
    assert record["reads"] == 0


def test_a_fill_that_was_killed_keeps_reads_from_being_counted_for_two_hours_at_most(
    traced: TracedHost, web: str
) -> None:
    hot_map_files.begin_warming(traced.host, web)
    traced.run(3600)
    assert hot_map_files.is_warming(traced.host, web), "one that is at work may take an hour"
    traced.run(3700)
    assert not traced.host.list(hot_map_files.MARKS)
    traced.run(TURN)
    read(traced, 4)
    traced.run(2 * TURN)
    assert chunks(traced, web) == [4]


def test_what_is_forgotten_leaves_no_addresses_although_that_is_cut_short(
    traced: TracedHost, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hot_map_files.unmark(traced.host, [web])
    remove = traced.host.remove

    def cut(path: str) -> None:
        remove(path)
        raise OSError("cut short")

    with monkeypatch.context() as dying:
        dying.setattr(traced.host, "remove", cut)
        with pytest.raises(OSError, match="cut short"):
            hot_map_files.forget_maps(traced.host, [web])
    hot_map_files.forget_others(traced.host, [])
    assert files(traced) == []


def test_few_volumes_are_marked_at_once(traced: TracedHost, web: str) -> None:
    uuid = web[:-1]
    made = [hot_map_files.mark(traced.host, f"{uuid}{n}", "c-aaaaaaaa") for n in range(4)]
    assert made == [True, True, True, False]
