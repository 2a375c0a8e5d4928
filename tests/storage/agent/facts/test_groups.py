"""What keeps a volume group from being used: other machines, barred disks, a full metadata area,
other sectors; and what root says of its physical volumes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.guests import guest_configs
from storage.agent.kernel import attachment
from storage.agent.state import admin, policy
from tests.contract.client import VOLUME_BYTES, Agent, pool_args
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.machine import Machine
from tests.storage.agent.facts.test_lvm_activity import said
from tests.storage.agent.verbs.test_extend_hazards import extension

SHARED = "lvm: san\n\tvgname vg0\n\tcontent images\n\tshared 1\n\nlvm: local\n\tvgname ssd\n"


def problems(agent: Agent) -> dict[str, str]:
    return {each["code"]: each["message"] for each in agent.data("hello")["problems"]}


def saved(host: FakeHost) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(host.machine.files[policy.PATH])
    return document


def state(host: FakeHost, **lists: object) -> None:
    with host.changing() as machine:
        machine.files[policy.PATH] = json.dumps({"vgs": ["vg0"], **lists}).encode()


def lock(machine: Machine) -> None:
    machine.vgs[0].lock_type = "sanlock"


def cluster(machine: Machine) -> None:
    machine.vgs[0].clustered = True


def export(machine: Machine) -> None:
    machine.vgs[0].exported = True


def share_by_proxmox(machine: Machine) -> None:
    machine.files["/etc/pve/storage.cfg"] = SHARED.encode()


@pytest.mark.parametrize(
    ("share", "why"),
    [
        (lock, "its lock type is sanlock"),
        (cluster, "it is clustered"),
        (export, "it is exported to another machine"),
        (share_by_proxmox, "it is a shared storage of Proxmox"),
    ],
)
def test_a_group_that_other_machines_use_is_changed_only_once_root_says_alone(
    host: FakeHost, agent: Agent, share: Callable[[Machine], None], why: str
) -> None:
    create = agent.volume_args()
    with host.changing() as machine:
        share(machine)
    assert agent.vg()["sharing"] == [why] and not agent.vg()["allowed"]
    assert why in problems(agent)["vg_shared"]
    if share is not export:
        with agent.unchanged():
            assert said(agent, "volume.create", create).startswith(
                f"vg_not_allowed: Other machines may use VG vg0 too: {why}."
            )
    with pytest.raises(Refusal) as refused:
        admin.allow_vg(host, "vg0")
    assert refused.value.code == "vg_not_allowed" and "--alone" in refused.value.correction
    admin.allow_vg(host, "vg0", alone=True)
    # Of a group that is exported LVM itself changes nothing.
    is_exported = share is export
    assert saved(host)["alone"] == ["vg0"] and agent.vg()["allowed"] is not is_exported
    assert ("vg_shared" in problems(agent)) is is_exported
    admin.deny_vg(host, "vg0")
    assert saved(host)["alone"] == []


def test_a_group_that_is_this_hosts_own_needs_no_word_of_root(agent: Agent) -> None:
    vg = agent.vg()
    assert (vg["sharing"], vg["lock_type"], vg["system_id"]) == ([], "", "")
    assert (vg["exported"], vg["clustered"], vg["partial"], vg["allowed"]) == (
        False,
        False,
        False,
        True,
    )


def test_only_storages_that_are_marked_so_are_shared() -> None:
    assert guest_configs.proxmox_shared(SHARED) == {"vg0"}
    assert (
        guest_configs.proxmox_shared("lvm: a\n vgname x\n shared 0\ndir: b\n shared 1\n")
        == frozenset()
    )


class Sysfs:
    """A host's /sys of block devices: `slaves`, real paths, and small files."""

    def __init__(
        self,
        slaves: dict[str, list[str]],
        real: dict[str, str] | None = None,
        files: dict[str, str] | None = None,
    ) -> None:
        self.slaves, self.reals, self.files = slaves, real or {}, files or {}

    def exists(self, path: str) -> bool:
        return path.startswith("/sys/block/") and path.count("/") == 3

    def list(self, path: str) -> list[str]:
        name = path.split("/")[3]
        if path.endswith("/slaves"):
            return self.slaves.get(name, [])
        here = f"{path}/"
        return sorted({each[len(here) :].split("/")[0] for each in self.files if here in each})

    def real(self, path: str) -> str | None:
        return self.reals.get(path)

    def read(self, path: str) -> bytes | None:
        found = self.files.get(path)
        return None if found is None else found.encode()


def reached(sysfs: Sysfs, kname: str) -> str:
    return attachment.elsewhere(sysfs, kname)  # type: ignore[arg-type]


def resting_on(sysfs: Sysfs, kname: str) -> set[str]:
    return set(attachment.controllers(sysfs, kname))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "how"),
    [
        ("/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sdb", ""),
        ("/sys/devices/pci0000:00/host7/rport-7:0-1/target7:0:0/block/sdb", "Fibre Channel"),
        ("/sys/devices/platform/host3/session1/target3:0:0/3:0:0:1/block/sdb", "iSCSI"),
    ],
)
def test_a_disk_of_a_network_is_recognised_by_its_place_in_sysfs(path: str, how: str) -> None:
    assert reached(Sysfs({"dm-3": ["sdb"]}, {"/sys/block/sdb": path}), "dm-3") == how


def test_multipath_drbd_and_nvme_over_fabrics_are_recognised() -> None:
    mpath = {"/sys/block/dm-1/dm/uuid": "mpath-3600508b4000156d700012000000b0000"}
    assert reached(Sysfs({"dm-1": ["sdb", "sdc"]}, files=mpath), "dm-1") == "multipath"
    assert reached(Sysfs({}), "drbd0") == "DRBD"
    over = {"/sys/block/nvme1n1/device/nvme1/transport": "tcp"}
    assert reached(Sysfs({}, files=over), "nvme1n1") == "NVMe over tcp"
    local = {"/sys/block/nvme0n1/device/transport": "pcie"}
    assert reached(Sysfs({}, files=local), "nvme0n1") == ""


def test_namespaces_of_one_controller_and_paths_of_one_disk_fail_together() -> None:
    one = {f"/sys/block/nvme0n{n}/device": "/sys/devices/pci/nvme/nvme0" for n in (1, 2)}
    assert resting_on(Sysfs({}, one), "nvme0n1") == resting_on(Sysfs({}, one), "nvme0n2")
    luks = Sysfs({"dm-3": ["sda"], "dm-4": ["sda"], "dm-5": ["sdb"]})
    assert resting_on(luks, "dm-3") == resting_on(luks, "dm-4") != resting_on(luks, "dm-5")


def array(level: str, members: dict[str, list[str]]) -> tuple[bool, bool]:
    """Of an array whose members stand on those disks."""
    here = "/sys/block/md0/md"
    files = {
        f"{here}/level": level,
        f"{here}/array_state": "clean",
        f"{here}/degraded": "0",
    } | {f"{here}/dev-{name}/state": "in_sync" for name in members}

    class Md(Sysfs):
        def exists(self, path: str) -> bool:
            return path == f"{here}/level" or super().exists(path)

    found: Any = Md({"md0": list(members), **members}, files=files)
    return attachment.redundancy(found, "md0")


@pytest.mark.parametrize(
    ("level", "members", "redundant"),
    [
        ("raid1", {"dm-3": ["sda"], "dm-4": ["sdb"]}, True),
        ("raid1", {"dm-3": ["sda"], "dm-4": ["sda"]}, False),
        ("raid1", {"dm-3": ["sda"], "dm-4": ["sda"], "dm-5": ["sdb"]}, True),
        ("raid5", {"dm-3": ["sda"], "dm-4": ["sda"], "dm-5": ["sdb"]}, False),
        ("raid5", {"dm-3": ["sda"], "dm-4": ["sdb"], "dm-5": ["sdc"]}, True),
        ("raid0", {"dm-3": ["sda"], "dm-4": ["sdb"]}, False),
    ],
)
def test_an_array_is_redundant_only_by_what_its_members_rest_on(
    level: str, members: dict[str, list[str]], redundant: bool
) -> None:
    assert array(level, members) == (redundant, True)


def test_a_tier_is_stated_by_uuid_and_follows_the_disk(host: FakeHost, agent: Agent) -> None:
    sdc = next(pv for pv in agent.inventory()["pvs"] if pv["name"] == "sdc")
    assert sdc["tier"] == "slow"
    admin.list_pv(host, "fast_pvs", "/dev/sdc")
    assert saved(host)["fast_pvs"] == [sdc["uuid"]]
    with host.changing() as machine:
        pvs = {pv.device.name: pv for pv in machine.vgs[0].pvs}
        pvs["sdc"].device, pvs["sdd"].device = pvs["sdd"].device, pvs["sdc"].device
    assert {pv["name"]: pv["tier"] for pv in agent.inventory()["pvs"]} == {
        "md0": "fast",
        "sdc": "slow",
        "sdd": "fast",
    }
    admin.list_pv(host, "slow_pvs", sdc["uuid"])
    assert (saved(host)["fast_pvs"], saved(host)["slow_pvs"]) == ([], [sdc["uuid"]])
    admin.forget_pv(host, "sdd")
    assert saved(host)["slow_pvs"] == []


def test_a_kernel_name_in_an_older_file_counts_and_is_a_problem(
    host: FakeHost, agent: Agent
) -> None:
    state(host, fast_pvs=["sdc"], slow_pvs=["sdz"])
    assert next(pv for pv in agent.inventory()["pvs"] if pv["name"] == "sdc")["tier"] == "fast"
    found = {each["code"]: each["correction"] for each in agent.data("hello")["problems"]}
    assert found["policy_kernel_name"].endswith("agent.pyz fast-pv sdc")
    assert found["policy_pv_missing"].endswith("agent.pyz forget-pv sdz")
    admin.list_pv(host, "fast_pvs", "sdc")
    admin.forget_pv(host, "sdz")
    assert not {"policy_kernel_name", "policy_pv_missing"} & set(problems(agent))


def test_a_physical_volume_that_is_not_there_is_not_listed(host: FakeHost) -> None:
    with pytest.raises(Refusal, match="no physical volume 'sdz'"):
        admin.list_pv(host, "fast_pvs", "sdz")


def test_hardware_raid_is_redundant_where_root_says_so(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host(single_ssd=True)
    admin.list_pv(host, "redundant_pvs", "sda")
    pvs = Agent(FakeWorld(host)).inventory()["pvs"]
    assert {pv["name"]: pv["redundant"] for pv in pvs}["sda"] is True


def test_a_disk_that_is_not_allocatable_has_nothing_free(host: FakeHost, agent: Agent) -> None:
    with host.changing() as machine:
        machine.vgs[0].pvs[1].allocatable = False
    sdc = next(pv for pv in agent.inventory()["pvs"] if pv["name"] == "sdc")
    assert (sdc["free_bytes"], sdc["allocatable"]) == (0, False)
    assert sdc["unusable_bytes"] > VOLUME_BYTES
    assert "sdc of vg0 takes no new volumes" in problems(agent)["pv_not_allocatable"]
    with agent.unchanged():
        assert agent.refused("volume.create", agent.volume_args()) == "no_space"


def test_a_metadata_area_that_is_nearly_full_is_kept_from_filling(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    with host.changing() as machine:
        machine.vgs[0].text_bytes = 522240 - 1500
    vg = agent.vg()
    assert vg["metadata_bytes"] == 522240 and vg["metadata_free_bytes"] < 2000
    assert "vg_metadata_full" not in problems(agent), "the panel judges by the inventory"
    with agent.unchanged():
        assert agent.refused("pool.create", pool_args(volume[2:])) == "no_space"


def test_an_older_lvm_extends_no_cached_volume_and_nothing_is_zeroed_for_it(
    host: FakeHost, agent: Agent
) -> None:
    cached, _ = agent.cached()
    with host.changing() as machine:
        machine.versions["lvm"] = "2.03.11"
    before = len(host.executed)
    with agent.unchanged():
        assert said(agent, "volume.extend", extension(cached)).startswith(
            "unsupported: LVM 2.03.11 is older than 2.03.12"
        )
    assert len(host.executed) == before
    assert agent.inventory()["lvm_version"] == "2.03.11"


def test_a_writecache_holds_dirty_data_and_gets_no_cache_of_ours(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    pool = host.root.add_lv("wf_cvol", VOLUME_BYTES, "md0")
    with host.changing():
        lv = host.root.lv(volume)
        lv.layout, lv.writecache = "writecache", pool
        pool.layout, pool.role = "writecache,cachevol", "private"
        lv.writecache_dirty_bytes = 20 << 20
    assert agent.lv(volume)["writecache"] == {
        "name": "wf_cvol",
        "size_bytes": VOLUME_BYTES,
        "dirty_bytes": 20 << 20,
        "dirty_known": True,
        "pvs": ["md0"],
    }
    agent.do("pool.create", pool_args(volume[2:]))
    attach = {"lv": volume, "pool": f"c-{volume[2:]}", "mode": "writethrough"}
    with agent.unchanged():
        assert said(agent, "cache.attach", attach).startswith("unsupported: ")
