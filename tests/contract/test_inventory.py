"""What the agent sees of a host."""

from __future__ import annotations

import pytest

from storage.inventory.facts import decode
from tests.contract.client import MIB, Agent
from tests.contract.world import World
from tests.lab import recipe

# What `hello` says begins so: os, LVM, systemd, kernel, Python. The fake host is a Debian 12.
DEBIANS = {
    "bullseye": ("Debian GNU/Linux 11", "2.03.11", "247", "5.10.", "3.9."),
    "bookworm": ("Debian GNU/Linux 12", "2.03.16", "252", "6.1.", "3.11."),
    "trixie": ("Debian GNU/Linux 13", "2.03.31", "257", "6.12.", "3.13."),
}

ODD_NAMES = ("..a", "+x", "a+b.c_d-e", "web--12", "A" * 40, "del-1.old", "0", "a-b")


def test_disks_arrays_and_physical_volumes_are_reported_with_what_matters(
    agent: Agent, world: World
) -> None:
    inventory = agent.inventory()
    facts = decode(inventory)
    assert facts.consistent and not facts.stale
    disks = {disk["name"]: disk for disk in inventory["disks"]}
    slow = [disks[name] for name in world.slow]
    assert [disk["serial"] for disk in slow] == ["hdd0", "hdd1"]
    for disk in slow:
        assert disk["rotational"] and disk["model"] == "LAB-HDD"
        assert (disk["size_bytes"], disk["logical_sector_bytes"]) == (8 << 30, 512)
    (array,) = inventory["arrays"]
    assert (array["name"], array["level"], array["degraded_count"]) == ("md0", "raid1", 0)
    assert array["state"] in ("clean", "active")
    assert {member["state"] for member in array["members"]} == {"in_sync"}
    members = [disks[member["name"]] for member in array["members"]]
    assert sorted(disk["serial"] for disk in members) == ["ssd0", "ssd1"]
    assert not any(disk["rotational"] for disk in members)
    pvs = {pv["name"]: pv for pv in inventory["pvs"]}
    assert set(pvs) == {"md0", *world.slow}
    fast, first = pvs["md0"], pvs[world.slow[0]]
    assert (fast["tier"], fast["redundant"], fast["healthy"]) == ("fast", True, True)
    assert (first["tier"], first["redundant"], first["healthy"]) == ("slow", False, True)
    assert first["free_bytes"] == first["size_bytes"] == 2047 * 4 * MIB
    assert fast["size_bytes"] == 1022 * 4 * MIB
    (vg,) = inventory["vgs"]
    assert (vg["name"], vg["allowed"], vg["missing_pv_count"]) == ("vg0", True, 0)
    assert vg["extent_bytes"] == 4 * MIB


@pytest.mark.thorough
def test_foreign_volumes_are_shown_whatever_their_names(agent: Agent, world: World) -> None:
    for name in ODD_NAMES:
        world.add_lv(name, 4 * MIB)
    world.add_lv("web12", 16 * MIB, world.slow[1], tags=["cust=42", "old"])
    lvs = {lv["name"]: lv for lv in agent.inventory()["lvs"]}
    assert set(lvs) == {*ODD_NAMES, "web12"}
    sampled = {volume["lv_uuid"] for volume in agent.data("sample")["volumes"]}
    assert sampled == {lv["uuid"] for lv in lvs.values()}
    lv = lvs["web12"]
    assert lv["size_bytes"] == 16 * MIB
    assert sorted(lv["tags"]) == ["cust=42", "old"]
    assert (lv["role"], lv["layout"]) == (["public"], ["linear"])
    assert lv["active"] and not lv["suspended"] and lv["open_count"] == 0
    assert lv["segments"] == [
        {"type": "linear", "start_bytes": 0, "size_bytes": 16 * MIB, "pvs": [world.slow[1]]}
    ]
    # The kernel gives device-mapper a major number when it starts.
    major, minor = lv["dev"].split(":")
    assert {each["dev"].split(":")[0] for each in lvs.values()} == {major} and minor.isdecimal()
    assert lv["kname"] == f"dm-{lv['dev'].split(':')[1]}"
    assert lv["cache"] is None and lv["bcache"] is None and lv["users"] == []


@pytest.mark.thorough
def test_who_uses_a_volume_is_shown_by_name(agent: Agent, world: World) -> None:
    world.add_lv("web12", 16 * MIB)
    with world.guest("web12", "web12") as pid:
        lv = agent.lv("web12")
        known = {"format": "raw", "domain": "", "path": ""}
        assert lv["users"] == [
            {"kind": "qemu", "name": "web12", "disk": "vda", "pid": pid, **known}
        ]
        assert lv["open_count"] == 1
    assert agent.lv("web12")["users"] == []
    with world.mounted("web12") as point:
        users = agent.lv("web12")["users"]
        assert ("mount", point, None) in [
            (each["kind"], each["name"], each["pid"]) for each in users
        ]


@pytest.mark.thorough
def test_the_parts_of_a_cached_volume_are_hidden_and_say_where_they_lie(
    agent: Agent, world: World
) -> None:
    volume, pool = agent.cached()
    lvs = {lv["name"]: lv for lv in agent.inventory()["lvs"]}
    top = lvs.pop(volume)
    assert top["layout"] == ["cache"] and top["role"] == ["public"]
    assert top["segments"][0]["pvs"] == [world.slow[0]]
    assert top["cache"]["pvs"] == ["md0"]
    parts = {f"{pool}_cpool", f"{pool}_cpool_cdata", f"{pool}_cpool_cmeta", f"{volume}_corig"}
    assert set(lvs) == {*parts, "lvol0_pmspare"}
    assert all("private" in lv["role"] for lv in lvs.values())
    assert lvs[f"{pool}_cpool_cdata"]["segments"][0]["pvs"] == ["md0"]
    assert "spare" in lvs["lvol0_pmspare"]["role"]


@pytest.mark.thorough
def test_a_locked_volume_group_is_read_and_planned_for_without_its_lock_and_not_changed(
    agent: Agent, world: World
) -> None:
    args, expect = agent.call("volume.create", agent.volume_args())
    with world.vg_lock():
        facts = agent.inventory()
        assert facts["stale"]
        assert [vg["name"] for vg in facts["vgs"]] == ["vg0"]
        assert agent.ask("sample")["ok"]
        (step,) = agent.preview(("volume.create", args, expect))
        assert (step["error"], len(step["commands"])) == (None, 3)
        assert agent.ask("volume.create", args, expect)["error"]["code"] == "busy"
    assert agent.names() == set()


def test_hello_says_what_the_host_is(agent: Agent, world: World) -> None:
    hello = agent.data("hello")
    assert hello["protocol"] == 1
    expected = DEBIANS[recipe.read().suite if world.name == "lab" else "bookworm"]
    keys = ["os", "lvm2", "systemd", "kernel", "python"]
    if world.name == "fake":
        keys.remove("python")
    for key, beginning in zip(keys, expected, strict=False):
        assert hello[key].startswith(beginning), (key, hello[key])
    assert len(hello["machine_id"]) == 32
    assert hello["policy"]["vgs"] == ["vg0"]
    assert hello["modules"] == {"dm_cache": True, "bcache": True}
    assert all(hello["tools"][tool] for tool in ("lvs", "make-bcache", "cache_check", "lvconvert"))
    assert {problem["code"] for problem in hello["problems"]} <= {"bcache_scanned"}
