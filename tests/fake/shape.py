"""Machines to begin with."""

from __future__ import annotations

import json

from tests.fake import lvmfilter
from tests.fake.machine import Machine
from tests.fake.parts import GIB, Array, Disk, Pv, Vg

MD_BYTES = 4289724416


def machine(
    seed: str,
    *,
    split_vgs: bool = False,
    single_ssd: bool = False,
    degraded: bool = False,
    observe_only: bool = False,
    no_lvm2: bool = False,
    no_thin_tools: bool = False,
    no_bcache_tools: bool = False,
    kernel: str = "6.1.0-37-amd64",
    scan_lvs: bool = False,
    sees_guests: bool = False,
    hdd_bytes: int = 8 * GIB,
) -> Machine:
    """Like the lab: md0 of two 4 GiB SSDs, two 8 GiB HDDs, vg0 over all three. Unless it
    `sees_guests`, root has run hide-guests."""
    made = Machine(seed, f"host-{seed}", kernel=kernel, scan_lvs=scan_lvs)
    made.machine_id = made.uuid4().replace("-", "")
    made.boot_id = made.uuid4()
    sda = Disk("sda", 4 * GIB, False, "LAB-SSD", "ssd0", minor=0)
    sdb = Disk("sdb", 4 * GIB, False, "LAB-SSD", "ssd1", minor=16)
    sdc = Disk("sdc", hdd_bytes, True, "LAB-HDD", "hdd0", minor=32)
    sdd = Disk("sdd", hdd_bytes, True, "LAB-HDD", "hdd1", minor=48)
    made.disks = [sda, sdb, sdc, sdd, Disk("vda", 3 * GIB, True, major=254)]
    fast: Disk | Array = sda
    if not single_ssd:
        fast = Array("md0", "raid1", [sda, sdb], MD_BYTES, made.uuid4())
        fast.failed = {"sdb"} if degraded else set()
        made.arrays = [fast]
    pvs = [Pv(device, made.lvm_uuid()) for device in (fast, sdc, sdd)]
    groups = [("ssd", pvs[:1]), ("vg0", pvs[1:])] if split_vgs else [("vg0", pvs)]
    made.vgs = [Vg(name, made.lvm_uuid(), members) for name, members in groups]
    allowed = [] if observe_only else [vg.name for vg in made.vgs]
    policy = {"vgs": allowed, "fast_pvs": [], "slow_pvs": []}
    made.files["/etc/tiercel/agent.json"] = json.dumps(policy).encode()
    for unit in ("service", "timer"):
        made.files[f"/etc/systemd/system/tiercel-boot.{unit}"] = b"[Unit]\n"
    if not sees_guests:
        made.files[lvmfilter.LOCAL] = lvmfilter.HIDING
    if no_lvm2:
        made.missing_tools |= {
            "lvs", "vgs", "pvs", "lvm", "lvmconfig", "lvcreate", "lvchange", "lvconvert",
            "lvremove", "lvrename",
        }  # fmt: skip
        made.vgs = []
    if no_thin_tools:
        made.missing_tools.add("cache_check")
    if no_bcache_tools:
        made.missing_tools |= {"make-bcache", "bcache-super-show"}
        made.modules.discard("bcache")
    return made
