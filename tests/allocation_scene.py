"""A host whose SSD is to be divided: volumes with and without caches, and what each size brings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from storage.byte_sizes import GIB
from storage.discovery.ingest import note_of
from storage.models import Host, SizeForecast, Volume
from storage.naming import new_key
from tests import make

HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Part:
    """A volume of 40 GiB. `hours` are the waiting saved a day by size in GiB, against now."""

    label: str
    hours: Mapping[int, float] | None = None
    cache_gib: int = 0
    mode: str = "writethrough"
    fields: dict[str, Any] = field(default_factory=dict)


WAITING = Part(label="mail", hours={0: 0, 4: 3, 8: 7, 16: 8})
OVERSIZED = Part(label="archive", hours={0: -5, 4: -0.005, 16: 0}, cache_gib=16)


def allocation_scene(
    *parts: Part, free_gib: int = 0, name: str = "", **facts: Any
) -> tuple[Host, list[Volume]]:
    """One host with one mirrored SSD, of which `free_gib` are free."""
    keys = [new_key() for _ in parts]
    lvs = []
    for key, part in zip(keys, parts, strict=True):
        cache = None
        if part.cache_gib:
            pool = f"c-{key[:16].lower()}"
            size_bytes = part.cache_gib * GIB
            cache = make.dm_cache(pool, size_bytes=size_bytes, mode=part.mode)
        lv = make.lv(part.label, size_bytes=40 * GIB, cache=cache, tags=make.tags(key))
        lvs.append(lv)
    pvs = (make.pv(), make.fast_pv(free_bytes=free_gib * GIB, **facts.pop("ssd", {})))
    inventory = make.facts(*lvs, pvs=pvs, **facts)
    now = timezone.now()
    host = make.host(
        **({"name": name} if name else {}),
        facts=make.inventory(inventory),
        facts_at=now,
        last_seen_at=now,
        hello={"policy": {"vgs": ["vg0"]}, "heat": {"state": "running"}},
    )
    volumes = []
    for key, part, lv in zip(keys, parts, lvs, strict=True):
        volume = make.volume(
            **{
                "key": key,
                "label": part.label,
                "managed": True,
                "size_bytes": 40 * GIB,
                **part.fields,
            }
        )
        make.placement(volume, host, lv_name=lv.name, lv_uuid=lv.uuid, **note_of(inventory, lv))
        if part.hours is not None:
            foresee(volume, part)
        volumes.append(volume)
    return host, volumes


def foresee(volume: Volume, part: Part) -> SizeForecast:
    """What sizes bring, as a worker found a moment ago. Each cache writes 10 GiB a day."""
    plan = volume.cache_plan
    points = [
        [
            gib * GIB,
            min(0.99, gib / 20),
            *sorted((hours * HOUR * 0.9, hours * HOUR * 1.1)),
            10 * GIB if gib else 0,
        ]
        for gib, hours in (part.hours or {}).items()
    ]
    return SizeForecast.objects.create(
        volume=volume,
        made_at=timezone.now(),
        mode=plan.mode if plan is not None else part.mode,
        cache_bytes=part.cache_gib * GIB,
        observed_seconds=86_400,
        points=points,
    )


def also(part: Part, **changes: Any) -> Part:
    return dataclasses.replace(part, **changes)
