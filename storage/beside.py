"""What lies on the host beside a volume and was made for it. Pure, by the finders of the plans."""

from __future__ import annotations

from storage.plan.bcache import cache_devices
from storage.plan.draft import Draft, Target
from storage.rows import VolumeRow
from storage.wish import Wish


def cache_device_of(row: VolumeRow) -> str | None:
    """The name of a cache device on the host that was made for the volume."""
    draft = _seen(row)
    return next((lv.name for lv in cache_devices(draft)), None) if draft is not None else None


def _seen(row: VolumeRow) -> Draft | None:
    """The volume as finders look at it. Nothing is planned, so nothing is refused: the wish is any,
    and a host that allows no change is looked at too."""
    if row.facts is None or row.lv is None or row.vg is None:
        return None
    target = Target(row.volume.key, row.vg.uuid, row.vg.name, row.lv.name, row.lv.uuid)
    return Draft(row.facts, target, Wish(row.lv.size_bytes), row.vg, row.lv)
