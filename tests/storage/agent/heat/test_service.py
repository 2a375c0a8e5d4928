"""The service follows volumes, writes the records of each hour, and stops before it costs much."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from storage.agent.facts.hello import hello
from storage.agent.heat import hot_maps, service
from storage.agent.heat.budget import EVENTS_PER_SECOND
from storage.agent.heat.trace_filter import trace_filter
from storage.agent.kernel.local_host import LockBusy
from storage.agent.state import admin, heat_files, owner, policy
from tests.contract.client import Agent
from tests.fake import FakeHost

from .traced_host import RESIDUE, ScriptedTracer, TracedHost

HOUR = 3600


@pytest.fixture
def traced(host: FakeHost) -> TracedHost:
    """Two volumes, of which the panel names the first."""
    host.clock.step(HOUR - host.wall_ns() / 1e9 % HOUR)
    host.root.add_lv("web", 1 << 30, "sdc")
    host.root.add_lv("other", 1 << 30, "sdc")
    return TracedHost(host)


@pytest.fixture(autouse=True)
def no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """test_hot_map_service.py is about those."""
    monkeypatch.setattr(hot_maps, "TURN_EVENTS", 0)


@pytest.fixture
def web(agent: Agent, traced: TracedHost) -> str:
    uuid: str = agent.lv("web")["uuid"]
    agent.data("heat.observe", {"lv_uuids": [uuid]})
    return uuid


def records(agent: Agent, after: int = 0) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = agent.data("heat.records", {"after": after})["records"]
    return found


def heat(host: FakeHost) -> Mapping[str, Any]:
    shown: Mapping[str, Any] = hello(host)["heat"]
    return shown


def problems(host: FakeHost) -> set[str]:
    return {problem["code"] for problem in hello(host)["problems"]}


def test_the_records_of_an_hour_are_handed_over_until_the_panel_has_them(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    begun_ns = traced.host.wall_ns()
    traced.run(10)
    traced.read("web", [1, 2, 1], unseen=189)
    traced.run(HOUR)
    data = agent.data("heat.records", {"after": 0})
    (record,) = data["records"]
    assert (record["lv_uuid"], record["share"], record["chunk_bytes"]) == (web, 64, 65536)
    assert (record["reads"], record["read_bytes"], record["writes"]) == (192, 192 * 4096, 0)
    assert (record["clock"], record["lost"]) == (192, 0)
    assert abs(record["begun_ns"] - begun_ns) < 10e9 and 3590 <= record["seconds"] <= 3603
    reads = record["reuse"]["reads"]
    assert (reads["cold"], sum(weight for _, weight in reads["buckets"])) == (2, 1)
    assert record["reuse"]["writes"] == {"cold": 0, "buckets": []}
    assert records(agent) == [record]
    assert records(agent, data["last"]) == []
    assert records(agent) == []


def test_what_was_touched_in_an_hour_is_known_in_the_next(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    traced.run(10)
    traced.read("web", [1], unseen=99)
    traced.run(HOUR)
    traced.read("web", [1], unseen=99)
    traced.run(HOUR)
    first, second = records(agent)
    assert first["reuse"]["reads"]["cold"] == 1
    assert second["reuse"]["reads"]["cold"] == 0
    assert second["reads"] == second["clock"] == second["clock_before"] == 100
    assert (first["clock_before"], first["kept"]) == (0, None)


def test_nothing_is_observed_that_no_panel_names(traced: TracedHost, agent: Agent) -> None:
    traced.run(60)
    assert not traced.tracer.is_there
    assert heat(traced.host)["state"] == "idle"
    agent.data("heat.observe", {"lv_uuids": [agent.lv("other")["uuid"]]})
    traced.run(60)
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [traced.number("other")])
    agent.data("heat.observe", {"lv_uuids": []})
    traced.run(60)
    assert not traced.tracer.is_there


def test_a_volume_in_a_group_that_root_does_not_allow_is_not_observed(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    admin.deny_vg(traced.host, "vg0")
    traced.run(60)
    assert not traced.tracer.is_there and heat(traced.host)["volumes"] == 0


def test_root_forbids_it_and_all_that_was_counted_is_removed(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    traced.run(HOUR + 60)
    assert records(agent)
    assert "may not be counted (heat)" in admin.set_heat(traced.host, allowed=False)
    assert not traced.run(20)
    assert not traced.tracer.is_there and records(agent) == []
    assert heat(traced.host)["state"] == "off"
    refused = agent.ask("heat.observe", {"lv_uuids": [web]})["error"]
    assert refused["code"] == "vg_not_allowed" and "allow-heat" in refused["correction"]
    assert "may be counted (heat)" in admin.set_heat(traced.host, allowed=True)
    assert traced.host.started_units == ["tiercel-heat.service"]


def test_a_kernel_that_cannot_be_traced_is_a_state_and_no_problem(
    traced: TracedHost, web: str
) -> None:
    before = problems(traced.host)
    traced.tracer.refuses = "The kernel has no tracefs: unknown filesystem type."
    traced.run(60)
    shown = heat(traced.host)
    assert shown["state"] == "unavailable"
    assert shown["message"].startswith("Heat is not available: The kernel has no tracefs")
    assert problems(traced.host) == before
    traced.tracer.refuses = ""
    traced.run(HOUR)
    assert heat(traced.host)["state"] == "running"


@pytest.mark.parametrize("excess", ["cpu", "events", "lost"])
def test_it_pauses_for_an_hour_where_it_costs_too_much(
    traced: TracedHost, web: str, excess: str
) -> None:
    traced.run(120)
    assert heat(traced.host)["state"] == "running"
    for _ in range(4):
        if excess == "cpu":
            traced.tracer.cpu += 0.3
        elif excess == "events":
            traced.read("web", [5] * (11 * EVENTS_PER_SECOND))
        else:
            traced.tracer.lost = 1
        traced.run(10)
        if not traced.tracer.is_there:
            break
    assert not traced.tracer.is_there
    shown = heat(traced.host)
    assert shown["state"] == "paused"
    assert shown["message"] and "heat_paused" in problems(traced.host)
    traced.run(HOUR / 2)
    assert not traced.tracer.is_there and heat(traced.host)["state"] == "paused"
    traced.run(HOUR)
    assert heat(traced.host)["state"] == "running"
    assert "heat_paused" not in problems(traced.host)


def test_root_says_what_counting_may_cost(traced: TracedHost, web: str) -> None:
    allowed = {"vgs": ["vg0"], "heat_cpu_percent": 4}
    traced.host.save(policy.PATH, json.dumps(allowed).encode())
    traced.run(120)
    for _ in range(4):
        traced.tracer.cpu += 0.3
        traced.run(10)
    assert heat(traced.host)["state"] == "running"
    traced.tracer.cpu += 0.9
    traced.run(20)
    assert "the limit is 4 %" in heat(traced.host)["message"]


def test_one_burst_that_overruns_the_buffer_is_said_in_the_record_alone(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    traced.run(10)
    traced.tracer.lost, traced.tracer.fill = 7, 1.0
    traced.run(HOUR)
    assert [record["lost"] for record in records(agent)] == [7]


def test_a_full_buffer_is_read_more_often_until_it_is_empty_again(
    traced: TracedHost, web: str
) -> None:
    traced.run(10)
    traced.tracer.fill = 0.9
    waits = [traced.service.step() for _ in range(8)]
    assert waits[0] == 1.0 and waits[-1] == 0.05
    traced.tracer.fill = 0.0
    assert [traced.service.step() for _ in range(8)][-1] == 2.0


def test_a_volume_that_gets_another_number_is_followed(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    traced.run(10)
    traced.read("web", [1])
    traced.run(10)
    before = traced.number("web")
    with traced.host.changing() as machine:
        lv = next(lv for lv in machine.lvs() if lv.name == "web")
        lv.minor = 77
        lv.counters = type(lv.counters)()
    traced.run(20)
    assert traced.number("web") != before
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [traced.number("web")])
    traced.read("web", [1])
    traced.run(HOUR)
    (record,) = records(agent)
    assert record["reuse"]["reads"]["cold"] == 1 and record["reads"] == 2


def test_a_volume_that_is_gone_leaves_the_record_of_its_part_of_the_hour(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    traced.run(300)
    traced.host.root.remove_lv("web")
    traced.run(30)
    (record,) = records(agent)
    assert 290 <= record["seconds"] <= 320
    assert not traced.tracer.is_there


def test_a_cached_volume_is_observed_above_its_cache(host: FakeHost, agent: Agent) -> None:
    volume, _ = agent.cached()
    traced = TracedHost(host)
    agent.data("heat.observe", {"lv_uuids": [agent.lv(volume)["uuid"]]})
    traced.run(10)
    assert traced.tracer.filters == [trace_filter(RESIDUE, [traced.number(volume)])]


def test_of_a_bcache_volume_the_guests_device_is_observed(host: FakeHost, agent: Agent) -> None:
    volume = agent.backing()
    traced = TracedHost(host)
    agent.data("heat.observe", {"lv_uuids": [agent.lv(volume)["uuid"]]})
    traced.run(10)
    major, minor = host.rdev("/dev/bcache0").split(":")  # type: ignore[union-attr]
    number = int(major) << 20 | int(minor)
    assert traced.tracer.filters == [trace_filter(RESIDUE, [number])]


def test_after_a_day_other_chunks_are_observed(traced: TracedHost, web: str) -> None:
    traced.run(10)
    traced.service._random = lambda below: 5  # the next secret
    traced.run(23 * HOUR)
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [traced.number("web")])
    traced.run(3 * HOUR)
    assert traced.tracer.filters[-1] == trace_filter(6, [traced.number("web")])


def test_a_trace_gives_three_sizes_of_chunks_when_its_time_is_over(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    traced.run(10)
    asked = {"lv_uuid": web, "minutes": 15, "chunk_kib": 128}
    agent.data("heat.trace", asked)
    assert agent.ask("heat.trace", asked)["error"]["code"] == "busy"
    traced.run(20)
    number = traced.number("web")
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [number], [number])
    traced.read("web", [1, 2, 3])
    traced.run(15 * 60)
    fine = records(agent)
    assert [record["chunk_bytes"] for record in fine] == [4096, 128 << 10, 1 << 20]
    assert {record["share"] for record in fine} == {4}
    assert [record["reads"] for record in fine] == [3, 3, 3]
    assert all(record["clock"] == 3 for record in fine)
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [number])
    traced.run(60)
    assert len(records(agent)) == 3, "it is not begun again"


def test_a_trace_that_costs_too_much_ends_and_the_rest_goes_on(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    agent.data("heat.trace", {"lv_uuid": web, "minutes": 30, "chunk_kib": 64})
    traced.run(120)
    traced.tracer.cpu += 1.0
    traced.run(20)
    assert len(records(agent)) == 3
    assert heat(traced.host)["state"] == "running"
    number = traced.number("web")
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [number])


def test_a_trace_is_ended_before_its_time(traced: TracedHost, agent: Agent, web: str) -> None:
    asked = {"lv_uuid": web, "minutes": 30, "chunk_kib": 64}
    agent.data("heat.trace", asked)
    traced.run(120)
    traced.read("web", [1])
    agent.data("heat.trace", asked | {"lv_uuid": agent.lv("other")["uuid"], "minutes": 0})
    traced.run(20)
    assert records(agent) == []
    agent.data("heat.trace", asked | {"minutes": 0})
    traced.run(20)
    assert len(records(agent)) == 3
    agent.data("heat.trace", asked)


def test_a_trace_does_not_outlast_its_minutes_where_the_clock_was_put_back(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    asked = {"lv_uuid": web, "minutes": 15, "chunk_kib": 64}
    agent.data("heat.trace", asked)
    traced.run(120)
    traced.host.clock.step(-365 * 24 * HOUR)
    traced.run(20)
    assert [record["share"] for record in records(agent)].count(4) == 3
    traced.run(HOUR)
    assert traced.tracer.filters[-1] == trace_filter(RESIDUE, [traced.number("web")])
    agent.data("heat.trace", asked)


def test_only_a_volume_that_is_observed_is_traced(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    other = {"lv_uuid": agent.lv("other")["uuid"], "minutes": 15, "chunk_kib": 64}
    assert agent.ask("heat.trace", other)["error"]["code"] == "not_found"
    agent.data("heat.trace", other | {"lv_uuid": web})
    agent.data("heat.observe", {"lv_uuids": [other["lv_uuid"]]})
    assert heat_files.load_wanted(traced.host).trace is None


def test_no_address_and_no_name_leaves_the_memory_of_the_service(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    traced.run(10)
    traced.read("web", [123_456_789])
    traced.run(HOUR)
    text = json.dumps(agent.data("heat.records", {"after": 0}))
    sector = (123_456_789 * 64 + RESIDUE) * 128
    assert "123456789" not in text and str(sector) not in text and '"web"' not in text


def test_a_service_that_is_silent_is_not_taken_for_one_that_works(
    traced: TracedHost, web: str
) -> None:
    assert heat(traced.host)["state"] == "stopped"
    traced.run(60)
    assert heat(traced.host)["state"] == "running"
    traced.host.advance(300)
    assert heat(traced.host)["state"] == "stopped"


def test_a_service_that_has_to_stop_writes_what_it_has(
    traced: TracedHost, agent: Agent, web: str
) -> None:
    traced.run(600)
    traced.service.end()
    assert [record["seconds"] for record in records(agent)] == [pytest.approx(600, abs=15)]
    assert not traced.tracer.is_there


def test_records_are_kept_for_two_days_and_spoiled_ones_keep_no_others_back(
    host: FakeHost, agent: Agent
) -> None:
    heat_files.add_records(host, [{"n": 1}])
    heat_files.add_records(host, [{"n": n} for n in range(2, 40)])
    host.save(f"{heat_files.RECORDS}/{host.wall_ns() // 10**9 + 100}.json", b"{")
    assert [record["n"] for record in records(agent)] == [*range(1, 40)]
    host.advance(49 * HOUR)
    heat_files.add_records(host, [{"n": 99}])
    assert [record["n"] for record in records(agent)] == [99]


def test_many_records_are_handed_over_in_parts(host: FakeHost, agent: Agent) -> None:
    for n in range(5):
        heat_files.add_records(host, [{"n": n, "text": "x" * 600_000}])
    first = agent.data("heat.records", {"after": 0})
    assert [record["n"] for record in first["records"]] == [0, 1] and first["more"]
    second = agent.data("heat.records", {"after": first["last"]})
    assert [record["n"] for record in second["records"]] == [2, 3] and second["more"]
    third = agent.data("heat.records", {"after": second["last"]})
    assert [record["n"] for record in third["records"]] == [4] and not third["more"]


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"lv_uuids": ["../x"], "trace": null}'])
def test_a_list_that_cannot_be_understood_observes_nothing(host: FakeHost, content: bytes) -> None:
    host.save(heat_files.WANTED, content)
    assert heat_files.load_wanted(host) == heat_files.WantedHeat()


def test_another_panel_neither_reads_nor_chooses(agent: Agent, host: FakeHost) -> None:
    owner.adopt_host(host, "00000000-0000-4000-8000-0000000000aa")
    for verb, args in (
        ("heat.records", {"after": 0}),
        ("heat.observe", {"lv_uuids": []}),
    ):
        assert agent.ask(verb, args)["error"]["code"] == "other_panel"


def test_the_policy_may_be_an_older_one(host: FakeHost) -> None:
    assert policy.load_policy(host).heat


def test_only_what_a_service_that_is_gone_left_is_removed(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracers: list[ScriptedTracer] = []

    def left(of: FakeHost) -> ScriptedTracer:
        tracers.append(ScriptedTracer(of, is_there=True))
        return tracers[-1]

    monkeypatch.setattr(service, "TraceInstance", left)
    with host.lock(heat_files.SERVICE, 0.0):
        assert service.clean_heat(host) == []
        assert service.serve_heat(host) == "It is running already."
    assert tracers == []
    assert "removed the trace instance" in service.clean_heat(host)[0]
    assert [tracer.is_there for tracer in tracers] == [False]


def test_a_service_whose_files_are_locked_fails_and_is_started_again(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(_: service.HeatService) -> float:
        raise LockBusy

    monkeypatch.setattr(service, "TraceInstance", ScriptedTracer)
    monkeypatch.setattr(service.signal, "pthread_sigmask", lambda *_: set())
    monkeypatch.setattr(service.HeatService, "step", step)
    with pytest.raises(OSError, match="locked"):
        service.serve_heat(host)
