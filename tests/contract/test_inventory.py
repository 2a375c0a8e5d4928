"""What the agent sees of a host."""

from __future__ import annotations

import pytest

from storage.facts import decode
from tests.contract.client import MIB, Agent
from tests.contract.world import World

HOSTILE = ("..a", "+x", "a+b.c_d-e", "-".join("ab"), "web--12", "A" * 40, "del-1.old", "0")


def test_the_panel_decodes_the_inventory(agent: Agent) -> None:
    facts = decode(agent.inventory())
    assert facts.consistent and not facts.stale


def test_disks_are_told_apart_by_kind_model_and_serial(agent: Agent) -> None:
    disks = {disk["name"]: disk for disk in agent.inventory()["disks"]}
    assert {"sda", "sdb", "sdc", "sdd"} <= set(disks)
    assert [disks[name]["rotational"] for name in ("sda", "sdb", "sdc", "sdd")] == [
        False, False, True, True,
    ]  # fmt: skip
    assert disks["sda"]["model"] == "LAB-SSD"
    assert disks["sdd"]["serial"] == "hdd1"
    assert disks["sdc"]["size_bytes"] == 8 << 30
    assert disks["sdc"]["logical_sector_bytes"] == 512


def test_an_array_is_shown_with_level_state_and_members(agent: Agent) -> None:
    (array,) = agent.inventory()["arrays"]
    assert (array["name"], array["level"], array["degraded_count"]) == ("md0", "raid1", 0)
    assert array["state"] in ("clean", "active")
    assert sorted(member["name"] for member in array["members"]) == ["sda", "sdb"]
    assert {member["state"] for member in array["members"]} == {"in_sync"}


def test_physical_volumes_have_a_tier_and_their_redundancy(agent: Agent) -> None:
    pvs = {pv["name"]: pv for pv in agent.inventory()["pvs"]}
    assert set(pvs) == {"md0", "sdc", "sdd"}
    assert (pvs["md0"]["tier"], pvs["md0"]["redundant"], pvs["md0"]["healthy"]) == (
        "fast", True, True,
    )  # fmt: skip
    assert (pvs["sdc"]["tier"], pvs["sdc"]["redundant"]) == ("slow", False)
    assert pvs["sdc"]["free_bytes"] == pvs["sdc"]["size_bytes"] == 2047 * 4 * MIB
    assert pvs["md0"]["size_bytes"] == 1022 * 4 * MIB


def test_the_volume_group_is_allowed_and_whole(agent: Agent) -> None:
    vg = agent.vg()
    assert vg["allowed"]
    assert vg["extent_bytes"] == 4 * MIB
    assert vg["missing_pv_count"] == 0


def test_a_foreign_volume_is_shown_with_its_tags_place_and_device(
    agent: Agent, world: World
) -> None:
    world.add_lv("web12", 16 * MIB, "sdd", tags=["cust=42", "old"])
    lv = agent.lv("web12")
    assert lv["size_bytes"] == 16 * MIB
    assert sorted(lv["tags"]) == ["cust=42", "old"]
    assert lv["role"] == ["public"]
    assert lv["layout"] == ["linear"]
    assert lv["active"] and not lv["suspended"] and lv["open_count"] == 0
    assert lv["segments"] == [
        {"type": "linear", "start_bytes": 0, "size_bytes": 16 * MIB, "pvs": ["sdd"]}
    ]
    assert lv["dev"].startswith("253:")
    assert lv["kname"] == f"dm-{lv['dev'].split(':')[1]}"
    assert lv["cache"] is None and lv["bcache"] is None and lv["users"] == []


@pytest.mark.parametrize("name", HOSTILE)
def test_odd_names_of_foreign_volumes_are_data(agent: Agent, world: World, name: str) -> None:
    world.add_lv(name, 4 * MIB)
    assert agent.lv(name)["name"] == name
    found = [v for v in agent.data("sample")["volumes"] if v["lv_uuid"] == agent.lv(name)["uuid"]]
    assert len(found) == 1


def test_a_guest_that_holds_a_volume_is_shown_by_name_and_disk(agent: Agent, world: World) -> None:
    world.add_lv("web12", 16 * MIB)
    with world.guest("web12", "web12") as pid:
        lv = agent.lv("web12")
        assert lv["users"] == [{"kind": "qemu", "name": "web12", "disk": "vda", "pid": pid}]
        assert lv["open_count"] == 1
    assert agent.lv("web12")["users"] == []


def test_a_mounted_volume_is_in_use(agent: Agent, world: World) -> None:
    world.add_lv("data", 16 * MIB)
    with world.mounted("data") as point:
        users = agent.lv("data")["users"]
        assert {"kind": "mount", "name": point, "disk": "", "pid": None} in users


def test_the_parts_of_a_cached_volume_are_hidden_and_say_where_they_lie(agent: Agent) -> None:
    volume, pool = agent.cached()
    top = agent.lv(volume)
    assert top["layout"] == ["cache"] and top["role"] == ["public"]
    assert top["segments"][0]["pvs"] == ["sdc"]
    assert top["cache"]["pvs"] == ["md0"]
    hidden = agent.names() - {volume}
    assert hidden == {
        f"{pool}_cpool", f"{pool}_cpool_cdata", f"{pool}_cpool_cmeta", f"{volume}_corig",
        "lvol0_pmspare",
    }  # fmt: skip
    for name in hidden:
        assert "private" in agent.lv(name)["role"]
    assert agent.lv(f"{pool}_cpool_cdata")["segments"][0]["pvs"] == ["md0"]
    assert "spare" in agent.lv("lvol0_pmspare")["role"]


def test_a_locked_volume_group_gives_a_stale_answer_at_once(agent: Agent, world: World) -> None:
    with world.vg_lock():
        facts = agent.inventory()
    assert facts["stale"]
    assert [vg["name"] for vg in facts["vgs"]] == ["vg0"]


def test_hello_says_what_the_host_is(agent: Agent) -> None:
    hello = agent.data("hello")
    assert hello["protocol"] == 1
    assert hello["lvm2"] == "2.03.16"
    assert hello["kernel"].startswith("6.1.")
    assert hello["os"].startswith("Debian GNU/Linux 12")
    assert len(hello["machine_id"]) == 32
    assert hello["policy"]["vgs"] == ["vg0"]
    assert hello["modules"] == {"dm_cache": True, "bcache": True}
    assert all(hello["tools"][tool] for tool in ("lvs", "make-bcache", "cache_check", "lvconvert"))
    assert {problem["code"] for problem in hello["problems"]} <= {"bcache_scanned"}
