"""Which volumes of a full host a page draws, and what it says of the rest. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from panel.staff.hosts.storage_stack import Pillar

DRAWN: Final = 12
"""So many volumes of a group are drawn where it has more: enough to see who is who."""


@dataclass(frozen=True, slots=True)
class Rest:
    """The volumes that are not drawn, together; sizes in bytes."""

    count: int
    size_bytes: int
    cached_count: int
    used_count: int


@dataclass(frozen=True, slots=True)
class Folded:
    """`largest_bytes` is the size of the largest volume of the group, drawn or not; `rest` is None
    where all are drawn."""

    drawn: tuple[Pillar, ...]
    rest: Rest | None
    largest_bytes: int


def fold(
    pillars: Sequence[Pillar], waits: Mapping[str, float], limit: int | None = DRAWN
) -> Folded:
    """Those in trouble first, then by how much their I/O waits (`waits`: seconds in a second by
    the volume's LV uuid), then those in use, then the largest. `limit` None draws all."""
    ordered = sorted(
        pillars,
        key=lambda pillar: (
            not pillar.is_in_trouble,
            -waits.get(pillar.volume.lv_uuid, 0.0),
            not pillar.users,
            -pillar.size_bytes,
            pillar.volume.name,
        ),
    )
    drawn = ordered if limit is None else ordered[:limit]
    left = ordered[len(drawn) :]
    rest = Rest(
        len(left),
        sum(pillar.size_bytes for pillar in left),
        sum(pillar.cache is not None and pillar.cache.is_fast for pillar in left),
        sum(bool(pillar.users) for pillar in left),
    )
    largest_bytes = max((pillar.size_bytes for pillar in pillars), default=0)
    return Folded(tuple(drawn), rest if left else None, largest_bytes)
