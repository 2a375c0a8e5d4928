"""The service counts what is read most of a volume for as long as a job asks for it."""

from __future__ import annotations

import pytest

from storage.agent.heat import service
from storage.agent.heat.trace_filter import CHUNK_SECTORS, trace_filter
from storage.agent.state import admin, hot_map_files
from storage.agent.state.hot_chunks import hot_chunks
from tests.contract.client import Agent
from tests.fake import FakeHost

from .traced_host import RESIDUE, TracedHost

DAY = 24 * 3600


@pytest.fixture
def traced(host: FakeHost) -> TracedHost:
    host.root.add_lv("web", 1 << 30, "sdc")
    return TracedHost(host)


@pytest.fixture
def web(agent: Agent, traced: TracedHost) -> str:
    """A volume whose reads are being counted."""
    uuid: str = agent.lv("web")["uuid"]
    agent.data("heat.observe", {"lv_uuids": [uuid]})
    assert hot_map_files.begin(traced.host, uuid, "c-aaaaaaaa")
    traced.run(11)
    return uuid


def read(traced: TracedHost, *chunks: int) -> None:
    number = traced.number("web")
    for chunk in chunks:
        sector = chunk * CHUNK_SECTORS
        traced.tracer.waiting.append((traced.host.boottime_ns(), number, sector, 8, b"R"))


def files(traced: TracedHost) -> list[str]:
    return list(traced.host.list(hot_map_files.FOLDER))


def chunks(traced: TracedHost, uuid: str) -> list[int]:
    return [each.chunk for each in hot_chunks(hot_map_files.counted(traced.host, uuid))]


def test_every_read_of_the_volume_is_seen_and_counted(traced: TracedHost, web: str) -> None:
    number = traced.number("web")
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [number], [number])
    read(traced, 4, 9, 9)
    traced.run(21)
    assert chunks(traced, web) == [9, 4]
    made = hot_map_files.counted_for(traced.host, web)
    assert made is not None and made.reads == 3 and made.seconds >= 20
    assert {traced.host.modes[f"{hot_map_files.FOLDER}/{name}"] for name in files(traced)} == {
        0o600
    }, "for root alone"


def test_the_inventory_says_for_which_cache_it_is(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    lv = agent.lv("web")
    assert (lv["heat_observed"], lv["counted_for"]) == (True, "c-aaaaaaaa")
    hot_map_files.forget(traced.host, web)
    traced.run(11)
    lv = agent.lv("web")
    assert (lv["heat_observed"], lv["counted_for"]) == (True, "")
    assert files(traced) == [], "what was forgotten is not written again"


def test_the_map_of_another_cache_begins_anew(traced: TracedHost, web: str) -> None:
    read(traced, 4)
    traced.run(11)
    assert hot_map_files.begin(traced.host, web, "c-bbbbbbbb")
    traced.run(11)
    assert chunks(traced, web) == []


def test_a_volume_that_the_panel_does_not_name_any_more_loses_its_map(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    agent.data("heat.observe", {"lv_uuids": []})
    traced.run(11)
    assert files(traced) == []
    assert not agent.lv("web")["heat_observed"]


def test_a_volume_that_is_gone_loses_its_map(traced: TracedHost, web: str) -> None:
    traced.host.root.remove_lv("web")
    traced.run(11)
    assert files(traced) == []


def test_root_forbids_it_and_no_map_is_left(traced: TracedHost, agent: Agent, web: str) -> None:
    admin.set_heat(traced.host, allowed=False)
    assert not traced.run(11)
    assert files(traced) == []
    assert not agent.lv("web")["heat_observed"]


def test_a_service_that_was_killed_leaves_no_map(
    traced: TracedHost, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "TraceInstance", lambda host: traced.tracer)
    service.clean_heat(traced.host)
    assert files(traced) == []


def test_no_map_is_kept_for_more_than_a_day(traced: TracedHost, web: str) -> None:
    traced.run(DAY + 20)
    assert files(traced) == []


def test_where_it_costs_too_much_the_map_goes_first(traced: TracedHost, web: str) -> None:
    traced.tracer.cpu += 5.0
    traced.run(13)
    assert files(traced) == [] and traced.tracer.is_there
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [traced.number("web")])


def test_the_agents_own_reads_are_not_counted(traced: TracedHost, agent: Agent, web: str) -> None:
    read(traced, 4)
    traced.run(11)
    hot_map_files.begin_warming(traced.host, web)
    traced.run(11)
    read(traced, 5)
    traced.read("web", [1, 2, 3], unseen=500)
    traced.run(11)
    assert chunks(traced, web) == [4]
    hot_map_files.forget(traced.host, web)
    traced.run(3600)
    (record,) = agent.data("heat.records", {"after": 0})["records"][:1]
    assert record["reads"] == 0


def test_a_host_makes_few_maps_at_once(traced: TracedHost, web: str) -> None:
    uuid = web[:-1]
    made = [hot_map_files.begin(traced.host, f"{uuid}{n}", "c-aaaaaaaa") for n in range(4)]
    assert made == [True, True, True, False]
