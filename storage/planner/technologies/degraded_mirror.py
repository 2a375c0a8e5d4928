"""Whether what a cache holds has lost one of its copies: of either technology. Pure."""

from __future__ import annotations

from storage.inventory.facts import HostFacts, LogicalVolume
from storage.inventory.volume_parts import DataStanding


def is_on_degraded(facts: HostFacts, lv: LogicalVolume) -> bool:
    """Whether the volume's cache lies on a mirror, of LVM's or below a physical volume, that lost a
    disk and has the data still."""
    standing, pvs = _below_cache(facts, lv)
    if standing is not None and standing.redundant and standing.degraded and not standing.lost:
        return True
    return any(pv.name in pvs and pv.redundant and not pv.healthy for pv in facts.pvs)


def _below_cache(
    facts: HostFacts, lv: LogicalVolume
) -> tuple[DataStanding | None, tuple[str, ...]]:
    if lv.cache is not None:
        return lv.cache.standing, lv.cache.pvs
    cset = facts.cset(lv.bcache.cset_uuid) if lv.bcache and lv.bcache.cset_uuid else None
    if cset is None:
        return None, ()
    device = facts.lv(cset.lv_uuid) if cset.lv_uuid is not None else None
    return (None, cset.devices) if device is None else (device.standing, device.pvs)
