"""Which volumes a host is to observe, and what it has counted of them: against the fake host, whose
agent is the real one."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest

from jobs.hosts import read_heat
from jobs.hosts.read_heat import hosts_that_count, observed_uuids
from jobs.hosts.refresh import refresh
from jobs.models import Kind
from storage.agent.state import heat_files, hot_map_files
from storage.analysis.curve.heat import NS
from storage.analysis.heat_store import heat_of
from storage.byte_sizes import GIB
from storage.database_clock import database_now
from storage.models import HeatDay, Host, LatestSample, Placement, Volume
from storage.planner.wish import Wish
from storage.volumes import ownership
from tests import make
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import (
    done,
    enrolled,
    fake_host,
    fake_server,
    make_fake_host,
    new_volume,
)
from tests.storage.analysis.curve.traces import heat, zipf_load

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def volume(enrolled: Host) -> Volume:
    """One that exists on the host."""
    made = new_volume(enrolled)
    done(Kind.CREATE_VOLUME, made, Wish(GIB))
    enrolled.refresh_from_db()
    return made


def uuid_of(volume: Volume) -> str:
    placement = volume.placed
    assert placement is not None and placement.lv_uuid is not None
    return placement.lv_uuid


def counted(fake_host: FakeHost, volume: Volume, hours: int = 2) -> None:
    """The agent's service has counted so many hours."""
    begun_ns = (int(time.time()) - 3600 * hours) * NS
    records: list[dict[str, Any]] = [
        {"lv_uuid": uuid_of(volume), **msgspec.to_builtins(each)}
        for each in heat(zipf_load(1.0, 2_000, 4_096), hours=hours, begun_ns=begun_ns)
    ]
    heat_files.add_records(fake_host, records)


def test_a_volume_is_observed_and_what_was_counted_is_stored_and_leaves_the_host(
    enrolled: Host, fake_host: FakeHost, volume: Volume
) -> None:
    counted(fake_host, volume)
    assert read_heat.read_heat(enrolled)
    assert heat_files.load_wanted(fake_host).lv_uuids == {uuid_of(volume)}
    kept = heat_of(volume, database_now().replace(year=2000))
    assert len(kept) == 2
    assert heat_files.read_records(fake_host, 0)["records"] == []


def test_what_could_not_be_stored_stays_on_the_host(
    enrolled: Host, fake_host: FakeHost, volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted(fake_host, volume)

    def away(*_: object) -> None:
        raise RuntimeError("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(read_heat.heat_store, "record_heat", away)
        with pytest.raises(RuntimeError):
            read_heat.read_heat(enrolled)
    assert read_heat.read_heat(enrolled)
    assert HeatDay.objects.exists()


def test_a_volume_that_may_not_be_counted_is_not_named(
    enrolled: Host, fake_host: FakeHost, volume: Volume
) -> None:
    assert read_heat.read_heat(enrolled)
    Volume.objects.filter(pk=volume.pk).update(counts_heat=False)
    assert read_heat.read_heat(enrolled)
    assert heat_files.load_wanted(fake_host).lv_uuids == frozenset()


def test_a_host_whose_root_forbids_it_is_not_asked(
    enrolled: Host, fake_host: FakeHost, volume: Volume
) -> None:
    assert hosts_that_count() == [enrolled]
    policy = json.loads(fake_host.read("/etc/tiercel/agent.json") or b"{}")
    fake_host.save("/etc/tiercel/agent.json", json.dumps({**policy, "heat": False}).encode())
    assert refresh(enrolled)
    assert hosts_that_count() == []
    # And where the panel does not know yet, the host refuses.
    assert not read_heat.read_heat(enrolled)


def test_an_older_agent_is_not_asked(enrolled: Host) -> None:
    hello = {name: value for name, value in enrolled.hello.items() if name != "heat"}
    Host.objects.filter(pk=enrolled.pk).update(hello=hello)
    assert hosts_that_count() == []


def test_a_host_that_does_not_answer_costs_nothing_but_its_round() -> None:
    assert not read_heat.read_heat(make.host(port=1))


def test_of_too_many_volumes_those_that_read_the_most_are_observed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_heat, "VOLUMES_LIMIT", 2)
    host = make.host(hello={"policy": {"vgs": ["vg0"]}})
    uuids = []
    for sectors in (10, 30, None, 20):
        volume = make.volume()
        uuids.append(make.lvm_uuid())
        make.placement(volume, host, lv_uuid=uuids[-1], vg_name="vg0")
        if sectors is not None:
            LatestSample.objects.create(
                volume=volume,
                host=host,
                at=database_now(),
                boot_id="b",
                boottime_ns=1,
                counters={},
                read_sectors=sectors,
            )
    foreign = make.volume()
    make.placement(foreign, host, lv_uuid=make.lvm_uuid(), vg_name="vg1")
    assert observed_uuids(host) == sorted([uuids[1], uuids[3]])
    assert Placement.objects.filter(host=host).count() == 5


def test_what_was_read_most_under_another_owner_is_forgotten(
    enrolled: Host, fake_host: FakeHost, volume: Volume
) -> None:
    def is_known() -> bool:
        head = hot_map_files.MapHead(3600, 1, fake_host.wall_ns())
        hot_map_files.store(fake_host, uuid_of(volume), head, b"", is_first=True)
        assert read_heat.read_heat(enrolled)
        return uuid_of(volume) in hot_map_files.map_heads(fake_host)

    ownership.give(volume, make.customer("First"), database_now())
    assert is_known()
    ownership.disown(volume)
    assert not is_known()
    ownership.give(volume, make.customer("Second"), database_now())
    assert not is_known()
    enrolled.hello = {**enrolled.hello, "heat": {"state": "running"}}
    assert is_known(), "an agent that keeps none is not asked"
