"""What a volume is and should be, as answers and bodies say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from jobs.models import Job, State
from panel.api.framework.fields import Boolean, Choice, Integer, Text
from panel.api.framework.refs import Ref, shown_name, url_of
from panel.api.framework.shape import OMITTED, Json, Shape
from storage.health.drift import differences_of
from storage.models import Volume
from storage.planner.technologies.lookup import SETTINGS, TECHNOLOGIES
from storage.planner.technologies.technology import Setting, Technology
from storage.planner.wish import Wish
from storage.volumes.lifecycle import Life
from storage.volumes.snapshot import VolumeSnapshot

MODES = ("writethrough", "writeback", "writearound")
TIERS = ("hdd", "ssd")
LIVES = ("live", "retired", "gone")
LIFE: Final = "live, retired (switched off, data kept) or gone (wiped and removed)."
MODE: Final = "How writes are cached: writethrough, writeback or writearound."
UNDONE: Final = (State.FAILED, State.NEEDS_ATTENTION)
"""States of a job whose wish is not met."""


@dataclass(frozen=True, slots=True)
class VolumeWork:
    """The job that currently changes a volume and, if requested, the last one; no dry runs."""

    holder: Job | None = None
    last: Job | None = None


@dataclass(frozen=True, slots=True)
class ShownVolume:
    """A volume as it is shown: its record, what its host has of it, and the work on it."""

    row: VolumeSnapshot
    work: VolumeWork

    @property
    def volume(self) -> Volume:
        """Its record."""
        return self.row.volume


class CacheShape(Shape):
    """A cache: how much SSD, and what becomes of writes."""

    size_bytes = Integer("Bytes.", null=True)
    mode = Text(MODE)


class WithSettings(Shape):
    """What has the settings of each technology as its last fields, which customers do not see:
    their names tell the technology."""

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {
            setting.name: self.field_of(technology, setting)
            for technology in TECHNOLOGIES
            for setting in technology.settings
        }

    def field_of(self, technology: Technology, setting: Setting) -> Integer:
        return Integer(
            technology.name, of=lambda cache: getattr(cache, setting.name, OMITTED), staff=True
        )


class CacheNow(WithSettings, CacheShape):
    """A cache with the settings of its technology."""


class WishCacheShape(WithSettings):
    """The desired cache of a volume."""

    size_bytes = Integer("Rounded up to whole extents of the volume group.", min_value=1)
    mode = Choice(MODE, MODES)


class WishShape(Shape):
    """The desired state of a volume."""

    cache = WishCacheShape("Null: no cache.", null=True)
    life = Choice(LIFE, LIVES)
    size_bytes = Integer("Bytes.", staff=True)
    tier = Choice("The disks that hold it.", TIERS, staff=True)


class LastJobShape(Shape):
    """The last job of a volume, dry runs aside."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.", of=url_of)
    name = Text("Display name.", of=shown_name)
    state = Choice("Its current state.", State.choices)
    error_code = Text(
        "Why it failed.",
        of=lambda job: job.error["code"] if job.state in UNDONE and job.error else "",
    )


def _wish(shown: ShownVolume) -> Wish | None:
    """That of the job at work, or what the volume is."""
    holder = shown.work.holder
    return Wish.from_json(holder.wish) if holder is not None else shown.row.wish


def _cache(shown: ShownVolume) -> Any:
    """The cache of the wish; where there is none, as the host has it."""
    wish, cache = _wish(shown), shown.row.cache
    if wish is not None or cache is None:
        return wish.cache if wish is not None else None
    return {"size_bytes": cache.size_bytes, "mode": cache.mode}


def _life(shown: ShownVolume) -> Life:
    holder = shown.work.holder
    return life_of(shown.row) if holder is None else Wish.from_json(holder.wish).life


def _is_met(shown: ShownVolume) -> bool:
    holder, last = shown.work.holder, shown.work.last
    if holder is not None:
        return False
    return _is_as_recorded(shown.row) and (last is None or last.state not in UNDONE)


class WishNow(Shape):
    """The state of a volume or, while a job holds it, its future state."""

    object = Choice("What this is: a wish.", ["wish"], of=lambda _: "wish")
    cache = CacheNow("Null: no cache.", of=_cache, null=True)
    life = Choice(LIFE, LIVES, of=_life)
    size_bytes = Integer(
        "Bytes.", of=lambda shown: getattr(_wish(shown), "size_bytes", OMITTED), staff=True
    )
    tier = Choice(
        "The disks that hold it.",
        TIERS,
        of=lambda shown: getattr(_wish(shown), "tier", OMITTED),
        staff=True,
    )
    is_met = Boolean(
        "False while a job still has to fulfil the wish, after a failed job, while the volume is "
        "missing, and where it differs from its record (`drift`).",
        of=_is_met,
    )
    job = Ref(
        "The current job; null: none, and for customers.",
        of="work.holder",
        customers=lambda _: None,
        null=True,
    )
    last_job = LastJobShape(
        "Of the volume; null for customers.", of="work.last", customers=lambda _: None, null=True
    )


def life_of(row: VolumeSnapshot) -> Life:
    """What the volume is now."""
    if row.volume.destroyed_at is not None:
        return "gone"
    return "live" if row.volume.retired_at is None else "retired"


def _is_as_recorded(row: VolumeSnapshot) -> bool:
    """False for a volume that is not created yet, is missing, or was changed outside Tiercel."""
    if row.volume.destroyed_at is not None:
        return True
    placement = row.placement
    if placement is None or placement.lv_uuid is None or placement.missing_since is not None:
        return False
    return not differences_of(row)


def cache_now(shown: ShownVolume) -> Json | None:
    """Size and mode as the host has them; its settings where a wish can say them."""
    row = shown.row
    if row.cache is None:
        return None
    settings: Json = {}
    if row.wish is not None and (cache := row.wish.cache) is not None:
        settings = {name: getattr(cache, name) for name in SETTINGS[cache.technology]}
    return {"size_bytes": row.cache.size_bytes, "mode": row.cache.mode, **settings}
