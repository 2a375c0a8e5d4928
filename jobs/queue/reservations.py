"""SSD space reserved by accepted jobs that have not used it yet."""

from __future__ import annotations

from collections import Counter

from jobs.models import Job, Kind
from storage import row_security
from storage.inventory.facts import HostFacts
from storage.models import Host, Placement, Volume
from storage.planner.benchmark_wish import BenchmarkWish, scratch_space
from storage.planner.wish import Wish
from storage.stored_inventory import inventory_of
from storage.volumes.ssd_capacity import Capacity, capacities, wanted_bytes


# Reservations of others count, too.
@row_security.beyond()
def reserved(host: Host, facts: HostFacts, *, but_for: Volume | None = None) -> dict[str, int]:
    """Bytes by uuid of the volume group; groups without reservations are missing.

    Unfinished jobs on `host` whose cache or volume on SSD is not in `facts` count, except those of
    `but_for`; also what a job needs to roll back, as long as it can, and the run of
    a benchmark whose scratch volumes are not there yet.
    """
    jobs = Job.objects.unfinished().filter(host=host, dry_run=False, volume__isnull=False)
    if but_for is not None:
        jobs = jobs.exclude(volume=but_for)
    wishes = {
        volume_id: [Wish.from_json(wish)]
        + ([Wish.from_json(before)] if before and not is_irrevocable else [])
        for volume_id, wish, before, is_irrevocable in jobs.values_list(
            "volume_id", "wish", "fallback", "is_irrevocable"
        )
    }
    places = Placement.objects.filter(volume_id__in=wishes, host=host, until=None)
    total: Counter[str] = Counter()
    for volume_id, vg_uuid, lv_uuid in places.values_list("volume_id", "vg_uuid", "lv_uuid"):
        total[vg_uuid] += max(
            wanted_bytes(facts, vg_uuid, wish, lv_uuid) for wish in wishes[volume_id]
        )
    runs = Job.objects.unfinished().filter(host=host, dry_run=False, kind=Kind.BENCHMARK)
    for wish in map(BenchmarkWish.from_json, runs.values_list("wish", flat=True)):
        vg = facts.vg(wish.vg_uuid)
        if vg is not None and not facts.scratch_of(wish.key):
            total[vg.uuid] += scratch_space(vg, wish.args).fast
    return {vg_uuid: size_bytes for vg_uuid, size_bytes in total.items() if size_bytes}


def capacities_of(host: Host) -> tuple[Capacity, ...]:
    """The SSD space of each of the host's volume groups; none before its first inventory."""
    facts = inventory_of(host)
    if facts is None:
        return ()
    sold = Placement.objects.filter(
        host=host, until=None, volume__cache_plan__isnull=False, lv_uuid__isnull=False
    ).values_list("lv_uuid", flat=True)
    return capacities(facts, {uuid for uuid in sold if uuid is not None}, reserved(host, facts))
