"""Volume groups in which a volume may be created."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storage.formatting import size
from storage.models import Host
from storage.models.host import HostState
from storage.planner.wish import Tier
from storage.stored_inventory import inventory_of
from storage.volumes.cache_sizes import free_bytes


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """A volume group a volume may be made in."""

    host: Host
    vg_uuid: str
    vg_name: str
    label: str
    free_bytes: Mapping[Tier, int]
    """By tier."""


def groups_of(user: Any) -> dict[str, GroupChoice]:
    """Where a new volume may be made, by the value of the form's choice."""
    groups = {}
    for host in Host.objects.visible_to(user).filter(state=HostState.ACTIVE):
        facts = inventory_of(host)
        for vg in facts.vgs if facts is not None else ():
            if vg.allowed and facts is not None:
                free: dict[Tier, int] = {
                    "hdd": free_bytes(facts, vg.uuid, "slow"),
                    "ssd": free_bytes(facts, vg.uuid, "fast"),
                }
                sizes = f"{size(free['hdd'])} free on HDD, {size(free['ssd'])} on SSD"
                label = f"{host.name} · {vg.name} ({sizes})"
                groups[f"{host.key}/{vg.uuid}"] = GroupChoice(host, vg.uuid, vg.name, label, free)
    return groups
