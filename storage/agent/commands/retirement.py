"""The tags of a retired volume on its LV. Pure.

LVM's tags on the volume hold everything that an undo needs, so the undo survives the loss of the
panel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..calls.names import lv_name

RETIRED_PREFIX = "tiercel.retired="
NAME_PREFIX = "tiercel.name="
# The first of its data may be gone: from here on there is no way back.
WIPING = "tiercel.wiping"


@dataclass(frozen=True)
class Retired:
    """Since when (seconds of the host's wall clock), and what the volume was called before."""

    at: int
    name: str


def is_retired(tags: Sequence[str]) -> bool:
    """Also where the tag cannot be understood: what is said to be off is left alone."""
    return any(tag.startswith(RETIRED_PREFIX) for tag in tags)


def retired(tags: Sequence[str]) -> Retired | None:
    """What the tags say; None unless both marks are there, each once, and can be read."""
    times = [tag[len(RETIRED_PREFIX) :] for tag in tags if tag.startswith(RETIRED_PREFIX)]
    names = [tag[len(NAME_PREFIX) :] for tag in tags if tag.startswith(NAME_PREFIX)]
    if len(times) != 1 or len(names) != 1 or not times[0].isdecimal():
        return None
    try:
        return Retired(int(times[0]), lv_name(names[0]))
    except ValueError:
        return None
