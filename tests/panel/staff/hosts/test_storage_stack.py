"""What stands on what, from facts and from recorded trees."""

from __future__ import annotations

import json

import pytest

from panel.staff.hosts.storage_stack import Pillar, StackGroup, kind_of, stack_of
from storage.agent.facts.inventory import inventory
from storage.agent.state.policy import Policy
from storage.discovery.ingest import guest_of
from storage.inventory.device_tree import Box, Chain, is_part_of
from storage.inventory.facts import ArrayMember, BareBacking, LogicalVolume, decode
from storage.inventory.volume_parts import VolumeUser
from tests import make
from tests.storage.agent.facts.replay import ReplayHost


def names(chain: Chain) -> list[list[str]]:
    return [[box.name for box in stage] for stage in chain]


def devices(group: StackGroup) -> list[list[list[str]]]:
    return [names(chain) for tier in group.tiers for chain in tier.devices]


def boxes(pillar: Pillar) -> list[Box]:
    return [each for each in (pillar.volume, pillar.cache, *pillar.users) if each is not None]


def said(pillar: Pillar) -> list[str]:
    return [box.name for box in boxes(pillar)]


def guest(name: str = "web12", disk: str = "vdb", kind: str = "qemu") -> VolumeUser:
    return VolumeUser(kind, name, disk, 700)


def test_a_volume_is_followed_from_the_disks_to_the_guest() -> None:
    cached = make.lv(cache=make.dm_cache("c-aaaaaaaa", mode="writeback"), users=(guest(),))
    facts = make.facts(
        cached,
        disks=tuple(make.disk(name, rotational=name == "sdc") for name in ("sda", "sdb", "sdc")),
        arrays=(make.array(),),
    )
    (group,) = stack_of(facts).groups
    assert devices(group) == [[["sda2", "sdb2"], ["md0"]], [["sdc"]]]
    (pillar,) = group.pillars
    assert said(pillar) == ["web12", "c-aaaaaaaa", "web12 · vdb"]
    assert pillar.cache is not None
    assert pillar.cache.detail == "lvmcache, writeback on md0"
    assert stack_of(facts).loose == ()


def test_a_tier_knows_how_much_of_it_is_used() -> None:
    pvs = (make.pv(size_bytes=100, free_bytes=30), make.pv("sdd", size_bytes=50, free_bytes=50))
    (group,) = stack_of(make.facts(pvs=pvs)).groups
    (slow,) = group.tiers
    assert (slow.name, slow.size_bytes, slow.free_bytes, slow.used_bytes) == ("slow", 150, 80, 70)


def test_a_missing_device_has_no_free_space() -> None:
    pvs = (make.pv(size_bytes=100, free_bytes=30, missing=True),)
    (group,) = stack_of(make.facts(pvs=pvs)).groups
    assert group.tiers[0].free_bytes == 0


def test_a_partition_stands_on_its_disk() -> None:
    facts = make.facts(pvs=(make.pv("sda3"),), disks=(make.disk("sda"),))
    (group,) = stack_of(facts).groups
    assert devices(group) == [[["sda"], ["sda3"]]]


def test_what_of_a_volume_lies_on_ssd_is_shown() -> None:
    segments = (make.segment("sdc", size_bytes=300), make.segment("md0", size_bytes=100))
    (group,) = stack_of(make.facts(make.lv(size_bytes=400, segments=segments))).groups
    assert group.pillars[0].fast_bytes == 100


def test_a_cache_says_how_full_and_how_dirty_it_is() -> None:
    cache = make.dm_cache("c-aaaaaaaa", size_bytes=100, used_bytes=40, dirty_bytes=7)
    (group,) = stack_of(make.facts(make.lv(cache=cache))).groups
    box = group.pillars[0].cache
    assert box is not None
    assert (box.size_bytes, box.used_bytes, box.dirty_bytes) == (100, 40, 7)


def test_what_no_group_uses_is_shown_apart() -> None:
    disks = tuple(make.disk(name) for name in ("sda", "sdb", "sdc", "sdd"))
    loose = stack_of(make.facts(disks=disks, arrays=(make.array(),), pvs=(make.pv(),))).loose
    assert [names(chain) for chain in loose] == [[["sda2", "sdb2"], ["md0"]], [["sdd"]]]


def test_trouble_is_said_where_it_is() -> None:
    failed = (ArrayMember("sda", "in_sync"), ArrayMember("sdb", "faulty"))
    facts = make.facts(
        make.lv(health="partial"),
        arrays=(make.array(members=failed, degraded_count=1),),
        pvs=(make.pv(missing=True), make.fast_pv(healthy=False)),
    )
    (group,) = stack_of(facts).groups
    below = [chain for tier in group.tiers for chain in tier.devices]
    found = [box for chain in below for stage in chain for box in stage]
    found += [box for pillar in group.pillars for box in boxes(pillar)]
    assert {(box.kind, box.name): box.trouble for box in found if box.trouble} == {
        ("pv", "sdc"): "missing",
        ("disk", "sdb"): "faulty",
        ("array", "md0"): "degraded: 1 of 2 disks",
        ("volume", "web12"): "partial",
    }


@pytest.mark.parametrize(
    ("layout", "role", "kind"),
    [
        (("linear",), ("public",), "linear"),
        (("thin", "pool"), ("private",), "thin pool"),
        (("thin", "sparse"), ("public",), "thin volume"),
        (("thin", "sparse"), ("public", "snapshot", "thinsnapshot"), "thin volume, snapshot"),
        (("linear",), ("public", "snapshot", "thicksnapshot"), "snapshot"),
        (("linear",), ("public", "origin", "thickorigin"), "linear, has snapshots"),
        (("raid", "raid1"), ("public",), "RAID1"),
        (("raid", "raid5", "raid5_ls"), ("public",), "RAID5"),
        (("cache", "pool"), ("private",), "cache pool, unused"),
        (("writecache",), ("public",), "dm-writecache"),
    ],
)
def test_foreign_volumes_are_shown_as_what_they_are(
    layout: tuple[str, ...], role: tuple[str, ...], kind: str
) -> None:
    lv = make.lv(layout=layout, role=role)
    assert kind_of(lv) == kind
    (group,) = stack_of(make.facts(lv)).groups
    assert group.pillars[0].volume.detail == f"{kind} on sdc"


@pytest.mark.parametrize(
    "name", ["web12_corig", "c-x_cpool", "data_tdata", "data_tmeta", "r_rimage_0", "r_rmeta_1"]
)
def test_what_lvm_makes_volumes_of_is_not_drawn(name: str) -> None:
    hidden = make.lv(name, role=("private",), layout=("cache", "pool"))
    (group,) = stack_of(make.facts(hidden)).groups
    assert group.pillars == ()


@pytest.mark.parametrize(
    ("name", "disk", "belongs"),
    [
        ("sda3", "sda", True),
        ("sda", "sda", True),
        ("sdaa", "sda", False),
        ("nvme0n1p3", "nvme0n1", True),
        ("nvme0n11", "nvme0n1", False),
        ("md0p1", "md0", True),
        ("md01", "md0", False),
    ],
)
def test_a_partition_belongs_to_its_disk_alone(name: str, disk: str, belongs: bool) -> None:
    assert is_part_of(name, disk) is belongs


# --- Recorded trees: the tree of the lab's host, with the files of other machines laid into it ---


def recorded(**files: str) -> ReplayHost:
    """The lab host's recording without its QEMU processes, with these files more."""
    host = ReplayHost("host-cached").allow("vg0")
    host.recorded["list"]["/proc"] = []
    for path, content in files.items():
        folder, _, name = path.rpartition("/")
        host.recorded["list"].setdefault(folder, []).append(name)
        host.recorded["read"][path] = content
    return host


def plain_lv(host: ReplayHost) -> LogicalVolume:
    """The LVM-cached volume `v-plainaaa` of the recording, as the panel decodes it."""
    data = json.loads(json.dumps(inventory(host, Policy(("vg0",)))))
    return next(lv for lv in decode(data).lvs if lv.name == "v-plainaaa")


def device_of(host: ReplayHost) -> str:
    """Its MAJOR:MINOR."""
    dev = plain_lv(host).dev
    assert dev is not None
    return dev


PROXMOX = "name: shop\nscsi0: fast:v-plainaaa,size=1G\n"
STORAGE = "lvm: fast\n\tvgname vg0\n\tcontent images\n"
LIBVIRT = """<domain type='kvm'><name>shop</name><devices><disk type='block'>
<source dev='/dev/vg0/v-plainaaa'/><target dev='vdb'/></disk></devices></domain>"""


def test_recorded_tree_a_proxmox_guest_is_named_through_to_the_stack() -> None:
    host = recorded(**{"/etc/pve/qemu-server/101.conf": PROXMOX, "/etc/pve/storage.cfg": STORAGE})
    host.recorded["rdev"]["/dev/vg0/v-plainaaa"] = device_of(recorded())
    lv = plain_lv(host)
    assert guest_of(lv) == "shop · scsi0"
    assert lv.users[0].kind == "proxmox"


def test_recorded_tree_a_libvirt_guest_is_named_through_to_the_stack() -> None:
    host = recorded(**{"/etc/libvirt/qemu/shop.xml": LIBVIRT})
    host.recorded["rdev"]["/dev/vg0/v-plainaaa"] = device_of(recorded())
    lv = plain_lv(host)
    assert (guest_of(lv), lv.users[0].kind) == ("shop · vdb", "libvirt")


def test_recorded_tree_a_running_xen_guest_is_named_by_xenstore() -> None:
    major, minor = (int(part) for part in device_of(recorded()).split(":"))
    backend = "/sys/bus/xen-backend/devices"
    host = recorded(**{f"{backend}/vbd-3-51728/physical_device": f"{major:x}:{minor:x}\n"})
    host.recorded["list"][backend] = ["vbd-3-51728"]
    asked = json.dumps(["xenstore-read", "/local/domain/3/name"])
    host.recorded["run"][asked] = {"rc": 0, "stdout": "shop\n", "stderr": ""}
    lv = plain_lv(host)
    assert (guest_of(lv), lv.users[0].kind) == ("shop · xvdb", "xen")


def test_the_recorded_lab_host_is_drawn_whole() -> None:
    data = json.loads(json.dumps(inventory(ReplayHost("host-cached"), Policy())))
    stack = stack_of(decode(data))
    (group,) = stack.groups
    assert devices(group) == [[["sda", "sdb"], ["md0"]], [["sdc"]], [["sdd"]]]
    assert ["v-plainaaa", "c-plainaaa", "web12 · vda"] in [said(each) for each in group.pillars]
    assert [names(chain) for chain in stack.loose] == [[["vda"]]]


def test_only_guests_count_as_guests() -> None:
    users = (
        VolumeUser("mount", "/srv", "", None),
        VolumeUser("process", "fio", "", 7),
        guest(),
        guest("web13", "vda", "libvirt"),
        guest(),
    )
    assert guest_of(make.lv(users=users)) == "web12 · vdb, web13 · vda"
    assert guest_of(make.lv(users=users[:2])) == ""


def test_a_bcache_device_in_use_is_drawn_as_its_volumes_cache() -> None:
    device = make.lv("s-aaaaaaaaaaaaaaaa", pvs=("md0",))
    volume = make.lv(bcache=make.bcache(cset_uuid=make.CSET_UUID))
    facts = make.facts(device, volume, csets=(make.cset(device.uuid),))
    (group,) = stack_of(facts).groups
    (pillar,) = group.pillars
    assert said(pillar) == ["web12", "s-aaaaaaaaaaaaaaaa"]
    assert pillar.cache is not None
    assert pillar.cache.detail == "bcache, writethrough on md0"


def test_an_unused_bcache_device_is_drawn_alone() -> None:
    device = make.lv("s-aaaaaaaaaaaaaaaa", pvs=("md0",))
    (group,) = stack_of(make.facts(device, csets=(make.cset(device.uuid),))).groups
    assert group.pillars[0].volume.detail == "bcache cache device on md0"


def test_a_bcache_in_no_group_tells_who_uses_it_and_whether_it_waits() -> None:
    waits = BareBacking("sdb", None, None, "writeback", "dirty", 0, ())
    used = BareBacking("md0", "bcache1", None, "writethrough", "no cache", 0, (guest(),))
    facts = make.facts(
        disks=tuple(make.disk(name, rotational=True) for name in ("sda", "sdb")),
        arrays=(make.array(members=(ArrayMember("sda", "in_sync"),)),),
        backings=(waits, used),
        pvs=(),
    )
    first, second = stack_of(facts).loose
    assert names(first) == [["sdb"], ["bcache on sdb"]]
    assert first[-1][0].trouble == "is stopped: its cache is missing"
    assert names(second) == [["sda"], ["md0"], ["bcache1"]]
    assert second[-1][0].detail == "bcache, no cache, used by web12 · vdb"
