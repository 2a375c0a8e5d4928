"""What a benchmark would take on a host, as of its last inventory."""

from __future__ import annotations

from storage.benchmarks.estimate import BenchmarkEstimate, estimate
from storage.benchmarks.matrix import Spec
from storage.formatting import percent
from storage.health.smart_endurance import rated_bytes
from storage.inventory.device_tree import fast_disks
from storage.inventory.facts import HostFacts
from storage.models import Host
from storage.planner import Refused
from storage.planner.draft import group_of
from storage.stored_inventory import inventory_of

LEAST_SHARE = 0.001


def estimated(host: Host, spec: Spec) -> BenchmarkEstimate:
    """Of a matrix. Raises `Refused` where the host has no such group."""
    facts = inventory_of(host)
    if facts is None:
        raise Refused("absent", f"{host} has no inventory yet.", "Wait until the host answers.")
    return estimate(spec, group_of(facts, spec.vg_uuid, spec.vg_name), _rated(facts))


def _rated(facts: HostFacts) -> int | None:
    """What the weakest of its SSDs is made to take in its life; None where one is not known."""
    fast = fast_disks(facts)
    rated = [rated_bytes(disk.model) for disk in facts.disks if disk.name in fast]
    known = [each for each in rated if each is not None]
    return min(known) if known and len(known) == len(rated) else None


def wear_words(estimated_now: BenchmarkEstimate) -> str:
    """Its share of the endurance; "" where that is not known."""
    share = estimated_now.endurance_share
    if share is None:
        return ""
    part = percent(share) if share >= LEAST_SHARE else f"less than {percent(LEAST_SHARE)}"
    return f"{part} of what the SSD is rated for"
