"""Missing volumes: recorded volumes that a host's inventory no longer contains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, Q

from storage.models import Host, Placement


@dataclass(frozen=True, slots=True)
class MissingVolumes:
    """`missing_count` of the host's `total_count` volumes are not in its inventory; the first has
    been away since `since`. `empty_groups` names volume groups whose volumes are all missing
    (groups of one volume do not count: that volume was just removed)."""

    missing_count: int
    total_count: int
    since: datetime
    empty_groups: tuple[str, ...]

    @property
    def is_large(self) -> bool:
        """True where the inventory shrank so much that a disk or a whole group may be gone."""
        half = self.missing_count > 1 and self.missing_count * 2 > self.total_count
        return half or bool(self.empty_groups)


def missing_volumes_of(hosts: Iterable[Host]) -> dict[int, MissingVolumes]:
    """By primary key of the host; hosts without drift are missing. One query."""
    placed = Placement.objects.filter(until=None, lv_uuid__isnull=False)
    # Most hosts miss nothing: their volumes need not be counted.
    lacking = placed.filter(host__in=[host.pk for host in hosts], missing_since__isnull=False)
    placed = placed.filter(host__in=lacking.values("host_id"))
    groups = placed.values("host_id", "vg_uuid").annotate(
        name=Max("vg_name"),
        total=Count("pk"),
        missing=Count("pk", filter=Q(missing_since__isnull=False)),
        since=Min("missing_since"),
    )
    by_host: dict[int, list[dict[str, object]]] = {}
    for group in groups.order_by("host_id", "name"):
        by_host.setdefault(group["host_id"], []).append(dict(group))
    drifts = {host_id: _drift(rows) for host_id, rows in by_host.items()}
    return {host_id: drift for host_id, drift in drifts.items() if drift is not None}


def _drift(groups: list[dict[str, object]]) -> MissingVolumes | None:
    dates = [group["since"] for group in groups if isinstance(group["since"], datetime)]
    if not dates:
        return None
    counts = [(_count(group, "missing"), _count(group, "total"), group["name"]) for group in groups]
    return MissingVolumes(
        missing_count=sum(missing for missing, _, _ in counts),
        total_count=sum(total for _, total, _ in counts),
        since=min(dates),
        empty_groups=tuple(
            str(name) for missing, total, name in counts if missing == total and total > 1
        ),
    )


def _count(group: dict[str, object], name: str) -> int:
    value = group[name]
    return value if isinstance(value, int) else 0


def settle(host: Host, at: datetime, held: Iterable[int]) -> int:
    """A person says that the missing volumes of a host are gone for good: they lie nowhere from
    `at` on, but for those `held` (primary keys of volumes). Records, figures and customers stay.
    Returns how many."""
    missing = Placement.objects.filter(host=host, until=None, missing_since__isnull=False)
    return missing.exclude(volume__in=list(held)).update(until=at)
