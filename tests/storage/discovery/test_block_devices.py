"""A host's disks, arrays and partitions as records, by its inventory."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from storage.discovery.block_devices import block_devices
from storage.discovery.ingest import apply_facts
from storage.inventory.facts import decode
from storage.models import Device, Host
from tests import make
from tests.fake.host import FakeHost

EMPTY: dict[str, Any] = {name: [] for name in ("arrays", "pvs", "vgs", "lvs", "csets")}


def inventory(fake: FakeHost) -> dict[str, Any]:
    request = {"v": 1, "id": str(uuid.uuid4()), "verb": "inventory", "args": {}}
    reply: dict[str, Any] = json.loads(fake.answer(json.dumps(request).encode()))
    data: dict[str, Any] = reply["data"]
    return data


def pv(name: str, vg: str = "vg0", tier: str = "slow") -> dict[str, Any]:
    return {
        "uuid": f"uuid-{name}", "name": name, "vg_uuid": "", "vg_name": vg, "size_bytes": 7,
        "free_bytes": 0, "missing": False, "duplicate": False, "tier": tier, "redundant": False,
        "healthy": True, "logical_sector_bytes": 512,
    }  # fmt: skip


def disk(name: str, serial: str = "", rotational: bool = True) -> dict[str, Any]:
    return {
        "name": name, "dev": "8:0", "size_bytes": 100, "rotational": rotational, "model": "M",
        "serial": serial, "transport": "", "logical_sector_bytes": 512, "read_only": False,
    }  # fmt: skip


def array(name: str, *members: str) -> dict[str, Any]:
    return {
        "name": name, "dev": "9:0", "uuid": f"u-{name}", "level": "raid1", "state": "clean",
        "size_bytes": 50, "degraded_count": 0, "sync_action": "idle",
        "members": [{"name": each, "state": "in_sync"} for each in members],
    }  # fmt: skip


def facts(**parts: Any) -> Any:
    return decode({"consistent": True, "stale": False, "disks": [], **EMPTY, **parts})


def test_the_members_of_an_array_are_parts_of_it_and_a_partition_is_one_of_its_disk() -> None:
    found = block_devices(
        facts(
            disks=[disk("sda", "S1", False), disk("sdb", "S2", False), disk("sdc", "S3")],
            arrays=[array("md0", "sda2", "sdb")],
            pvs=[pv("md0", tier="fast"), pv("sdc1"), pv("sda3", "other")],
        )
    )
    assert {(each.kind.value, each.name, each.part_of, each.vg_name) for each in found} == {
        ("disk", "sda", "md0", ""),
        ("partition", "sda2", "md0", ""),
        ("partition", "sda3", "sda", "other"),
        ("disk", "sdb", "md0", ""),
        ("disk", "sdc", "", ""),
        ("partition", "sdc1", "sdc", "vg0"),
        ("array", "md0", "", "vg0"),
    }
    assert {each.name for each in found if each.is_fast} == {"sda", "sda2", "sdb", "md0"}


def test_a_device_is_known_by_its_serial_number_and_two_of_one_by_their_names() -> None:
    found = block_devices(
        facts(disks=[disk("sda", "S1"), disk("sdb"), disk("sdc", "S9"), disk("sdd", "S9")])
    )
    assert [each.identity for each in found] == ["M S1", "@sdb", "@sdc", "@sdd"]


@pytest.mark.django_db
def test_records_follow_the_inventory_of_a_host() -> None:
    host, fake = make.host(), FakeHost("devices")
    now = timezone.now()
    data = inventory(fake)
    apply_facts(host, data, now)
    by_name = {each.name: each for each in Device.objects.filter(host=host)}
    assert set(by_name) == {each["name"] for each in (*data["disks"], *data["arrays"])}
    array = by_name["md0"]
    assert {each.name for each in array.parts.all()} == {
        member["name"] for member in data["arrays"][0]["members"]
    }
    assert {each.boot_id for each in by_name.values()} == {data["boot_id"]} != {""}
    gone, *rest = data["disks"]
    apply_facts(host, {**data, "disks": rest}, now + timedelta(minutes=5))
    assert Device.objects.get(host=host, name=gone["name"]).gone_at == now + timedelta(minutes=5)
    apply_facts(host, data, now + timedelta(minutes=10))
    back = Device.objects.get(host=host, name=gone["name"])
    assert (back.pk, back.gone_at) == (by_name[gone["name"]].pk, None)


@pytest.mark.django_db
def test_a_name_that_another_disk_has_after_a_reboot_leads_to_that_disk() -> None:
    host, now = make.host(), timezone.now()
    before = {"consistent": True, "stale": False, **EMPTY, "boot_id": "one"}
    apply_facts(host, {**before, "disks": [disk("sda", "S1"), disk("sdb", "S2")]}, now)
    first = {each.identity: each.pk for each in devices(host)}
    after = {**before, "boot_id": "two", "disks": [disk("sda", "S2"), disk("sdb", "S1")]}
    apply_facts(host, after, now + timedelta(minutes=1))
    assert {each.identity: (each.pk, each.name, each.boot_id) for each in devices(host)} == {
        "M S1": (first["M S1"], "sdb", "two"),
        "M S2": (first["M S2"], "sda", "two"),
    }


def devices(host: Host) -> list[Device]:
    return list(Device.objects.filter(host=host))
