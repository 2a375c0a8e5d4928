"""SSD space that accepted jobs will take and have not taken yet."""

from __future__ import annotations

from collections import Counter

from jobs.models import Job
from storage.capacity import Capacity, capacities, wanted_bytes
from storage.facts import HostFacts
from storage.models import Host, Placement, Volume
from storage.rows import facts_of
from storage.wish import Wish


def reserved(host: Host, facts: HostFacts, *, but_for: Volume | None = None) -> dict[str, int]:
    """Bytes by uuid of the volume group; groups without reservations are missing.

    Unfinished jobs on `host` whose cache or volume on SSD is not in `facts` count, except those of `but_for`.
    """
    found = Job.objects.unfinished().filter(host=host, dry_run=False)
    if but_for is not None:
        found = found.exclude(volume=but_for)
    wishes = dict(found.values_list("volume_id", "wish"))
    places = Placement.objects.filter(volume_id__in=wishes, host=host, until=None)
    total: Counter[str] = Counter()
    for volume_id, vg_uuid, lv_uuid in places.values_list("volume_id", "vg_uuid", "lv_uuid"):
        wish = Wish.from_json(wishes[volume_id])
        total[vg_uuid] += wanted_bytes(facts, vg_uuid, wish, lv_uuid)
    return {vg_uuid: size_bytes for vg_uuid, size_bytes in total.items() if size_bytes}


def capacities_of(host: Host) -> tuple[Capacity, ...]:
    """The SSD space of each of the host's volume groups; none before its first inventory."""
    facts = facts_of(host)
    if facts is None:
        return ()
    sold = Placement.objects.filter(
        host=host, until=None, volume__cache_plan__isnull=False, lv_uuid__isnull=False
    ).values_list("lv_uuid", flat=True)
    return capacities(facts, {uuid for uuid in sold if uuid is not None}, reserved(host, facts))
