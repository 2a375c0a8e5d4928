"""An inventory that says nothing new is not recorded anew, and anything new is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from jobs.hosts import read_inventory
from jobs.hosts.read_inventory import read_facts
from storage.database_clock import database_now
from storage.discovery.ingest import apply_facts
from storage.inventory.facts import HostFacts
from storage.models import Host, Placement, Volume
from tests import make
from tests.jobs.agent import TaggingAgent
from tests.jobs.sshd import Sshd

pytestmark = pytest.mark.django_db


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was recorded in full."""
    found: list[str] = []

    def counted(host: Host, *args: Any) -> HostFacts:
        found.append(host.name)
        return apply_facts(host, *args)

    monkeypatch.setattr(read_inventory, "apply_facts", counted)
    return found


class SteadyAgent(TaggingAgent):
    """Its group and disks stay the same from one inventory to the next."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = make.facts()

    def inventory(self, request: dict[str, Any]) -> dict[str, Any]:
        return make.inventory(dataclasses.replace(self.facts, lvs=(self.lv,)))


@pytest.fixture
def agent() -> SteadyAgent:
    return SteadyAgent()


@pytest.fixture
def host(sshd: Callable[..., Sshd], agent: SteadyAgent) -> Host:
    return sshd(agent).host()


def read(host: Host, times: int = 1) -> HostFacts:
    for _ in range(times):
        facts = read_facts(host)
    host.refresh_from_db()
    assert host.inventory == facts
    return facts


def test_what_is_said_again_is_only_dated(host: Host, recorded: list[str]) -> None:
    read(host)
    before, rows = host.facts_at, list(Placement.objects.values())
    read(host, 3)
    assert len(recorded) == 1
    assert host.facts_at is not None and before is not None and host.facts_at > before
    assert host.last_seen_at == host.facts_at
    assert list(Placement.objects.values()) == rows


def test_what_has_changed_on_the_host_is_recorded_at_once(
    host: Host, agent: SteadyAgent, recorded: list[str]
) -> None:
    read(host, 3)
    agent.lv = dataclasses.replace(agent.lv, name="renamed")
    assert read(host).lvs[0].name == "renamed"
    assert Placement.objects.get().lv_name == "renamed"
    assert len(recorded) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda: Volume.objects.update(size_bytes=1),
        lambda: Placement.objects.update(lv_name="other"),
        lambda: Placement.objects.all().delete(),
        lambda: make.placement(make.volume(), Host.objects.get(), lv_name="web12", lv_uuid=None),
        lambda: Host.objects.update(facts_at=database_now(), facts={}),
    ],
)
def test_records_that_have_changed_are_compared_with_the_host_again(
    host: Host, recorded: list[str], change: Callable[[], object]
) -> None:
    read(host, 3)
    change()
    read(host)
    assert len(recorded) == 2
    assert Placement.objects.get(lv_uuid__isnull=False).lv_name == "web12"


def test_a_volume_that_is_still_to_be_made_is_nothing_to_what_is_said_again(
    host: Host, recorded: list[str]
) -> None:
    read(host, 3)
    make.placement(make.volume(), host, lv_name="v-new", lv_uuid=None)
    read(host)
    assert len(recorded) == 1


def test_only_some_hosts_are_kept_in_mind(
    sshd: Callable[..., Sshd], agent: SteadyAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_inventory, "HOSTS_LIMIT", 2)
    read_inventory._seen.clear()
    hosts = [sshd(agent).host() for _ in range(3)]
    for host in hosts:
        vg_uuid = make.lvm_uuid()
        agent.facts = dataclasses.replace(
            agent.facts,
            vgs=tuple(dataclasses.replace(vg, uuid=vg_uuid) for vg in agent.facts.vgs),
            pvs=tuple(dataclasses.replace(pv, vg_uuid=vg_uuid) for pv in agent.facts.pvs),
        )
        agent.lv = dataclasses.replace(agent.lv, uuid=make.lvm_uuid(), vg_uuid=vg_uuid)
        read(host)
    assert list(read_inventory._seen) == [host.pk for host in hosts[1:]]
