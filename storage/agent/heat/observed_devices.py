"""Which devices of the kernel are the volumes that the panel names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..kernel import bcache_sysfs, dm
from ..kernel.local_host import LocalHost
from ..state.policy import Policy


@dataclass(frozen=True)
class ObservedDevice:
    """The device that the guest has: the LV's own, above its LVM cache and its RAID; of a bcache
    volume bcacheN. `number` is that of its events, `is_bcache` another start of the addresses."""

    lv_uuid: str
    kname: str
    number: int
    is_bcache: bool


def observed_devices(
    host: LocalHost, policy: Policy, lv_uuids: Collection[str]
) -> dict[str, ObservedDevice]:
    """By uuid of the LV, those in groups that root allowed. Asks sysfs alone, never LVM."""
    devices: dict[str, ObservedDevice] = {}
    for device in dm.dm_devices(host) if lv_uuids else ():
        is_allowed = policy.allows(dm.group_name(device), device.vg_uuid)
        if device.lv_uuid not in lv_uuids or not is_allowed or not dm.visible(device):
            continue
        backing = bcache_sysfs.backing(host, device.kname)
        kname = device.kname if backing is None else backing.device
        major, _, minor = dm.text(host, f"/sys/block/{kname}/dev").partition(":")
        if kname is not None and major.isdecimal() and minor.isdecimal():
            number = int(major) << 20 | int(minor)
            observed = ObservedDevice(device.lv_uuid, kname, number, backing is not None)
            devices[device.lv_uuid] = observed
    return devices
