"""Why a host's state cannot become the record of a volume, and the remedy, in words."""

from __future__ import annotations

import shlex

from storage.health.drift import LEFT_OVER, VolumeDrift
from storage.health.lost_cache import loss_of_row
from storage.naming import AGENT_PATH, grown_tags
from storage.planner import Refused
from storage.volumes.snapshot import VolumeSnapshot


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
        "unsupported", f"No record of {row.volume} can say this: {left}.", _instead(row, drift)
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
        # What is recorded as its cache is there and in nobody's use.
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
