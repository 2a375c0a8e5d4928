"""Differences between a volume on its host and its record, in words: why the host's state cannot
become the record, and the remedy. Pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from storage.agent.commands.retirement import is_retired
from storage.formatting import size
from storage.health.leftovers import leftovers_of
from storage.health.lost_cache import loss_of_row
from storage.inventory.facts import LogicalVolume
from storage.naming import (
    AGENT_PATH,
    FORMAT_TAG,
    LEFT_TAG_PREFIX,
    MANAGED_TAG,
    ZEROING_TAG,
    grown_tags,
    tagged_volume_key,
)
from storage.planner import Refused, plan
from storage.planner.technologies.lookup import (
    guest_bytes,
    hides_volume,
    is_only_writing_back,
    layout_of,
    of_cache,
    of_layout,
)
from storage.planner.technologies.lvmcache_loss import loss_of
from storage.planner.technologies.technology import Difference
from storage.planner.wish import CacheWish, Wish
from storage.volumes.snapshot import VolumeSnapshot

LEFT_OVER = "Left over"


UNFINISHED = {
    ZEROING_TAG: Difference("Creation", "zeroed", "not fully zeroed, so old data may be readable"),
    FORMAT_TAG: Difference("Creation", "formatted for bcache", "not formatted yet"),
}
"""By the tag of a creation that was not carried to its end."""


@dataclass(frozen=True, slots=True)
class VolumeDrift:
    """The differences of one volume. `refusal` is why no job could bring the record back, None
    where one can; `lasting` are the differences that accepting would leave; `is_unfinished`: the
    volume's creation ended half-way."""

    differences: tuple[Difference, ...]
    refusal: Refused | None
    lasting: tuple[Difference, ...]
    is_unfinished: bool

    @property
    def can_accept(self) -> bool:
        """False where no record could say all of what is there."""
        return not self.lasting


def drift_of(row: VolumeSnapshot) -> VolumeDrift | None:
    """None where the volume is as recorded, where nothing is recorded (no change was ever
    requested), or where there is nothing to compare with."""
    differences = differences_of(row)
    if not differences:
        return None
    return VolumeDrift(
        differences, repair_refusal(row), lasting_differences(row), is_unfinished(differences)
    )


def differences_of(row: VolumeSnapshot) -> tuple[Difference, ...]:
    """The differences alone: whether they can be undone is a plan's work."""
    return _differences_from(row.volume.current_wish, row)


def lasting_differences(row: VolumeSnapshot) -> tuple[Difference, ...]:
    """The differences that would be left with what is there as the record: a record has no words
    for them, and may say of what is only away that it never was."""
    return _differences_from(row.wish, row) if row.wish is not None else differences_of(row)


def is_unfinished(differences: tuple[Difference, ...]) -> bool:
    """Whether these say that the volume's creation ended half-way."""
    return differences[0] in UNFINISHED.values()


def allowed_repair(row: VolumeSnapshot) -> Wish:
    """The wish that makes the host what the record says; raises `Refused`."""
    if (refusal := repair_refusal(row)) is not None:
        raise refusal
    if (wish := repaired(row)) is None:
        raise Refused("stale", f"{row.volume} is as recorded.", "Nothing is to be done.")
    return wish


def repaired(row: VolumeSnapshot) -> Wish | None:
    """What a job would make of the volume: what is recorded, or else, where its creation ended
    half-way, what was ordered. None where neither is known."""
    recorded = row.volume.current_wish
    if recorded is not None:
        return recorded.lasting
    if row.lv is None or row.wish is None or not _unfinished(row, row.lv):
        return None
    layout = layout_of(row.volume.layout)
    return Wish(guest_bytes(row.lv.size_bytes, layout), row.wish.tier, layout)


def repair_refusal(row: VolumeSnapshot) -> Refused | None:
    """Why the volume cannot become what is recorded, as far as the last inventory shows."""
    wish, placement = repaired(row), row.placement
    if wish is None or placement is None or row.facts is None:
        return Refused("not_found", "No earlier state is recorded.", "Accept the current state.")
    if row.lv is not None and wish.cache is None and loss_of(row.facts, row.lv) is not None:
        return Refused(
            "degraded",
            "The SSD of its cache is missing, and no repair gives up a cache.",
            "Drop the lost cache first, on the volume's page.",
        )
    try:
        steps = plan(row.facts, placement.target, wish)
    except Refused as refused:
        return refused
    if steps:
        return None
    return Refused(
        "unsupported",
        "No job can undo this: volumes and caches cannot be shrunk in place.",
        "Accept the current state, or change it on the host.",
    )


def _differences_from(recorded: Wish | None, row: VolumeSnapshot) -> tuple[Difference, ...]:
    if row.lv is not None and (unfinished := _unfinished(row, row.lv)):
        return unfinished
    if recorded is None or row.lv is None or row.vg is None or recorded.life != "live":
        return ()
    return tuple(_differences(recorded, row, row.lv, row.vg.extent_bytes))


def _unfinished(row: VolumeSnapshot, lv: LogicalVolume) -> tuple[Difference, ...]:
    is_ours = MANAGED_TAG in lv.tags and tagged_volume_key(lv.tags) == row.volume.key
    if not is_ours or is_retired(lv.tags):
        return ()
    return tuple(UNFINISHED[tag] for tag in UNFINISHED if tag in lv.tags)


def _differences(
    recorded: Wish, row: VolumeSnapshot, lv: LogicalVolume, extent_bytes: int
) -> Iterator[Difference]:
    if is_retired(lv.tags):
        yield Difference("State", "in use", "retired on the host")
        return
    if not row.volume.managed:
        yield Difference("Management", "tagged as this volume", "the tag is gone")
    technology = of_layout(recorded.layout)
    if why := technology.why_not_running(lv):
        yield Difference(technology.name, "running", f"{why}: it has no device")
        return
    if not 0 <= lv.guest_size_bytes - recorded.size_bytes < extent_bytes:
        yield Difference("Size", size(recorded.size_bytes), size(lv.guest_size_bytes))
    now = row.wish
    if now is None:
        yield Difference("Cache", _named(recorded.cache), "one that Tiercel did not make")
        return
    if row.cache is not None and row.cache.size_bytes is None:
        yield Difference("Cache", _named(recorded.cache), "one whose SSD is not registered")
        return
    if recorded.tier != now.tier:
        yield Difference("Location", recorded.tier.upper(), now.tier.upper())
    yield from _of_cache(recorded, now, extent_bytes)
    if is_only_writing_back(lv):
        yield Difference("Writing back", "as data grows old", "everything at once (cleaner)")
    if any(tag.startswith(LEFT_TAG_PREFIX) for tag in lv.tags):
        yield Difference(LEFT_OVER, "nothing", "disk space that is still to be cleared")
    if grown_tags(lv.tags) and not hides_volume(lv):
        yield Difference("Guest", "knows its size", "does not know that the volume has grown")
    for left in leftovers_of(row, recorded):
        yield Difference(LEFT_OVER, "nothing", left)


def _of_cache(recorded: Wish, now: Wish, extent_bytes: int) -> Iterator[Difference]:
    before, after = recorded.cache, now.cache
    if before is None or after is None or before.name != after.name:
        if before is not after:
            yield Difference("Cache", _named(before), _named(after))
    elif before.technology == after.technology:
        yield from of_cache(before).differences(before, after, extent_bytes)


def _named(cache: CacheWish | None) -> str:
    if cache is None:
        return "none"
    return f"{cache.technology} {cache.name}, {size(cache.size_bytes)}"


def accept_refusal(row: VolumeSnapshot, drift: VolumeDrift) -> Refused | None:
    """None where accepting leaves no difference."""
    if drift.can_accept:
        return None
    if drift.is_unfinished:
        return Refused(
            "unfinished",
            f"{row.volume} is not finished.",
            "Finish the volume on its page, or retire and destroy it.",
        )
    if _is_away(row):
        return _away(row)
    if row.wish is None:
        return Refused(
            "unsupported",
            f"{row.volume} has a cache that Tiercel did not make and cannot describe.",
            "Remove that cache on the host, then refresh the host.",
        )
    left = "; ".join(f"{each.what}: {each.found}" for each in drift.lasting)
    return Refused(
        "unsupported", f"The record of {row.volume} cannot hold this: {left}.", _instead(row, drift)
    )


def _instead(row: VolumeSnapshot, drift: VolumeDrift) -> str:
    lv = row.lv
    grown = grown_tags(lv.tags) if lv is not None else ()
    if drift.refusal is not None and lv is not None and grown:
        return "Tell its guest the size by hand, then on the host: lvchange " + shlex.join(
            [
                *(word for tag in grown for word in ("--deltag", tag)),
                f"{lv.vg_name}/{lv.name}",
            ]
        )
    if any(each.what == LEFT_OVER and each not in drift.differences for each in drift.lasting):
        # What is recorded as its cache exists, and no volume uses it.
        return "Repair it instead. If you want no cache, remove it on the volume's page then."
    return "Repair it instead."


def _is_away(row: VolumeSnapshot) -> bool:
    """What is there is not the volume as its guest knows it: it has no device, or its cache is not
    registered."""
    if row.lv is None:
        return False
    cache, technology = row.cache, row.technology
    is_own = cache is not None and cache.technology == technology.name
    is_unknown = cache is not None and is_own and cache.size_bytes is None
    return bool(technology.why_not_running(row.lv)) or is_unknown


def _away(row: VolumeSnapshot) -> Refused:
    if loss_of_row(row) is not None:
        return Refused(
            "degraded",
            f"The SSD of {row.volume} is missing, and the record holds the last known state of its "
            "cache.",
            "See the card about the lost SSD on the volume's page.",
        )
    return Refused(
        "unregistered",
        f"{row.volume} is not registered with {row.technology.name}, so its size and its cache are "
        "unknown.",
        f"As root on the host: {AGENT_PATH} boot. Then read the host again.",
    )
