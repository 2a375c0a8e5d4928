"""Disks are read every 45 minutes, whatever single hosts do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from jobs import collector, tasks
from storage.models import DiskReading, DiskRound, PhysicalDisk
from tests import make
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer
from tests.jobs.sshd import Silence
from tests.jobs.test_collector import fake_record
from tests.smart_disks import ata, attribute

__all__ = ["fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_the_disks_of_a_host_are_read_and_again_when_they_are_due(
    fake_server: FakeServer, fake_host: FakeHost
) -> None:
    with fake_host.changing() as machine:
        rows = [attribute(197, "Current_Pending_Sector", 1)]
        machine.disks[2].smart = ata("ST8000NM000A-2KE101", "H1", rows, rotation_rpm=7200)
    host = fake_record(fake_server)
    tasks.read_disks(0)
    assert {disk.name for disk in PhysicalDisk.objects.filter(host=host)} == {
        "sda", "sdb", "sdc", "sdd",
    }  # fmt: skip
    assert PhysicalDisk.objects.get(name="sdc").baseline == {"pending": 1}
    assert collector.collect_disks(0) == 0, "not due"
    DiskRound.objects.update(tried_at=DiskRound.objects.get().tried_at - timedelta(minutes=46))
    assert collector.collect_disks(0) == 1
    assert DiskReading.objects.filter(disk__name="sdc").count() == 2


def test_a_host_that_fails_costs_the_others_nothing_and_is_no_failure_of_the_host(
    fake_server: FakeServer, sshd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "DISKS_DEADLINE_SECONDS", 5.0)
    good = fake_record(fake_server)
    silent = sshd(lambda request: Silence()).host()
    odd = sshd(lambda request: {"disks": "none"}).host()
    assert collector.collect_disks(0) == 1
    messages = dict(DiskRound.objects.values_list("host_id", "message"))
    assert messages[good.pk] == "" and "5" in messages[silent.pk] and "smart" in messages[odd.pk]
    for host in (silent, odd):
        host.refresh_from_db()
        assert host.error == {}
    assert collector.collect_disks(0) == 0, "it is asked again when it is due"


def test_hosts_of_other_shards_and_inactive_ones_are_left_alone(
    sshd: Any, settings: Settings
) -> None:
    settings.TIERCEL_COLLECT_SHARDS = 2
    hosts = [make.host(name=f"h{number}") for number in range(3)]
    shards = {collector.position(host) % 2 for host in hosts}
    other = ({0, 1} - shards or {2}).pop()
    assert collector.collect_disks(other) == 0
    assert not DiskRound.objects.exists()


def test_the_samples_of_a_host_do_not_wait_for_its_disks(
    fake_server: FakeServer, fake_host: FakeHost
) -> None:
    fake_host.hang_disk("/dev/sda")
    host = fake_record(fake_server)
    assert collector.collect_disks(0) == 1
    states = dict(PhysicalDisk.objects.values_list("name", "state"))
    assert states == {"sda": "hung", "sdb": "read", "sdc": "read", "sdd": "read"}
    tasks.collect_shard(0)
    host.refresh_from_db()
    assert host.error == {}
