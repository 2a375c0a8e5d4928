"""A host with an inventory and volumes in it, as pages meet them. Built from `tests.make`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from jobs.models import Job, State, Step
from storage.discovery.ingest import note_of
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.models import Host, Placement, Volume
from storage.naming import new_key
from storage.planner.wish import Wish
from tests import make

HOSTILE = "<script>alert(1)</script>"
RTL = "web\u202etxt.exe"
LONG = "n" * 127

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEV4YW1wbGVFeGFtcGxlRXhhbXBsZUV4YW1wbGVFeGFt"
OTHER_HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEFub3RoZXJBbm90aGVyQW5vdGhlckFub3RoZXJBbm90"


@dataclass(frozen=True, slots=True)
class Scene:
    host: Host
    volume: Volume
    lv: LogicalVolume
    facts: HostFacts


def scene(
    lv: LogicalVolume | None = None,
    *,
    label: str = "web12 disk",
    layout: str = "plain",
    managed: bool = True,
    host: dict[str, Any] | None = None,
    **facts: Any,
) -> Scene:
    """One active host whose inventory holds one volume; `facts` goes to `make.facts`."""
    key = new_key()
    lv = lv or make.lv()
    if managed:
        lv = dataclasses.replace(lv, tags=make.tags(key))
    inventory = make.facts(lv, *facts.pop("more_lvs", ()), **facts)
    now = timezone.now()
    row = make.host(
        **{
            "facts": make.inventory(inventory),
            "facts_at": now,
            "last_seen_at": now,
            "hello": {"policy": {"vgs": ["vg0"]}},
            **(host or {}),
        }
    )
    volume = make.volume(
        key=key, label=label, layout=layout, managed=managed, size_bytes=lv.guest_size_bytes
    )
    make.placement(volume, row, lv_name=lv.name, lv_uuid=lv.uuid, **note_of(inventory, lv))
    return Scene(row, volume, lv, inventory)


def job(scene: Scene, **fields: Any) -> Job:
    """A queued job on the scene's volume, asking for what is there already."""
    is_bcache = scene.volume.layout == "bcache"
    wish = Wish(scene.volume.size_bytes, layout="bcache" if is_bcache else "plain")
    defaults = {
        "kind": "add-cache",
        "host": scene.host,
        "volume": scene.volume,
        "wish": wish.to_json(),
    }
    return Job.objects.create(**{**defaults, **fields})


def stuck_job(volume: Volume, **fields: Any) -> Job:
    """A job that holds the volume until a person decides."""
    placement = Placement.objects.get(volume=volume, until=None)
    wish = Wish(volume.size_bytes, layout="bcache" if volume.layout == "bcache" else "plain")
    defaults: dict[str, Any] = {
        "kind": "add-cache",
        "host": placement.host,
        "volume": volume,
        "wish": wish.to_json(),
        "state": State.NEEDS_ATTENTION,
        "started_at": timezone.now(),
    }
    return Job.objects.create(**{**defaults, **fields})


def step(of: Job, **fields: Any) -> Step:
    """A planned step with one command."""
    defaults: dict[str, Any] = {
        "n": 1,
        "verb": "cache.attach",
        "args": {},
        "expect": {},
        "title": "Attach the cache",
        "commands": [{"argv": ["lvconvert"], "shell": "lvconvert -y --type cache vg0/web12"}],
    }
    return Step.objects.create(job=of, **{**defaults, **fields})


def end(job: Job, state: State = State.SUCCEEDED, **fields: Any) -> None:
    """Let a job have ended."""
    now = timezone.now()
    fields = {"state": state, "started_at": now, "ended_at": now, **fields}
    Job.objects.filter(pk=job.pk).update(**fields)
    job.refresh_from_db()
