"""What stands on what, from facts and from recorded trees."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.agent.inventory import inventory
from storage.agent.policy import Policy
from storage.facts import Array, ArrayMember, LogicalVolume, VolumeUser, decode
from storage.records import guest_of
from storage.stack import Chain, is_part_of, kind_of, stack_of
from tests import make
from tests.storage.agent.replay import ReplayHost


def names(chain: Chain) -> list[list[str]]:
    return [[box.name for box in stage] for stage in chain]


def mirror(**fields: Any) -> Array:
    defaults = {
        "dev": "9:0",
        "uuid": "76600b8d",
        "level": "raid1",
        "state": "clean",
        "size_bytes": 100 * 2**30,
        "degraded_count": 0,
        "sync_action": "idle",
        "members": (ArrayMember("sda2", "in_sync"), ArrayMember("sdb2", "in_sync")),
    }
    return Array(name="md0", **{**defaults, **fields})


def guest(name: str = "web12", disk: str = "vdb", kind: str = "qemu") -> VolumeUser:
    return VolumeUser(kind, name, disk, 700)


def test_a_chain_goes_from_the_disks_to_the_guest() -> None:
    cached = make.lv(cache=make.dm_cache("c-aaaaaaaa", mode="writeback"), users=(guest(),))
    facts = make.facts(
        cached,
        disks=tuple(make.disk(name, rotational=name == "sdc") for name in ("sda", "sdb", "sdc")),
        arrays=(mirror(),),
    )
    (group,) = stack_of(facts).groups
    assert [names(chain) for chain in group.devices] == [
        [["sdc"], ["sdc"]],
        [["sda2", "sdb2"], ["md0"], ["md0"]],
    ]
    assert [names(chain) for chain in group.volumes] == [
        [["web12"], ["c-aaaaaaaa"], ["web12 · vdb"]]
    ]
    assert group.volumes[0][1][0].detail == "lvmcache, writeback on md0"
    assert stack_of(facts).loose == ()


def test_what_no_group_uses_is_shown_apart() -> None:
    disks = tuple(make.disk(name) for name in ("sda", "sdb", "sdc", "sdd"))
    loose = stack_of(make.facts(disks=disks, arrays=(mirror(),), pvs=(make.pv(),))).loose
    assert [names(chain) for chain in loose] == [[["sda2", "sdb2"], ["md0"]], [["sdd"]]]


def test_trouble_is_said_where_it_is() -> None:
    failed = (ArrayMember("sda", "in_sync"), ArrayMember("sdb", "faulty"))
    facts = make.facts(
        make.lv(health="partial"),
        arrays=(mirror(members=failed, degraded_count=1),),
        pvs=(make.pv(missing=True), make.fast_pv(healthy=False)),
    )
    (group,) = stack_of(facts).groups
    found = {
        (box.kind, box.name): box.trouble
        for chain in (*group.devices, *group.volumes)
        for stage in chain
        for box in stage
        if box.trouble
    }
    assert found == {
        ("pv", "sdc"): "missing",
        ("disk", "sdb"): "faulty",
        ("array", "md0"): "1 missing",
        ("pv", "md0"): "degraded",
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
    assert group.volumes[0][0][0].detail == f"{kind} on sdc"


@pytest.mark.parametrize(
    "name", ["web12_corig", "c-x_cpool", "data_tdata", "data_tmeta", "r_rimage_0", "r_rmeta_1"]
)
def test_what_lvm_makes_volumes_of_is_not_drawn(name: str) -> None:
    hidden = make.lv(name, role=("private",), layout=("cache", "pool"))
    (group,) = stack_of(make.facts(hidden)).groups
    assert group.volumes == ()


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
    assert [names(chain) for chain in group.devices] == [
        [["sda", "sdb"], ["md0"], ["md0"]],
        [["sdc"], ["sdc"]],
        [["sdd"], ["sdd"]],
    ]
    assert [["v-plainaaa"], ["c-plainaaa"], ["web12 · vda"]] in [
        names(chain) for chain in group.volumes
    ]
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
