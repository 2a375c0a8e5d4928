"""Whether a cache survives the loss of a disk: writeback requires it."""

from __future__ import annotations

from ..calls.refusals import Refusal
from .view import Facts, View


def redundant(view: View, subject: str, lv: Facts | None, what: str) -> None:
    """Raises Refusal(not_redundant) unless every PV under a pool or cache set survives the loss
    of a disk, and has lost none. `lv` is None while it is only planned."""
    if subject in view.planned.pvs:
        names: list[str] = list(view.planned.pvs[subject])
    elif lv is None or _mirrored(view, lv):
        return
    else:
        names = view.pvs_under(lv)
    by_name = {pv["name"]: pv for pv in view.facts["pvs"]}
    weak = [name for name in names if not (name in by_name and by_name[name]["redundant"])]
    sick = [name for name in names if name not in weak and not by_name[name]["healthy"]]
    if weak or not names:
        raise Refusal(
            "not_redundant",
            f"writeback keeps the only copy of new data on {what}, and "
            f"{', '.join(weak) or 'its device'} is no redundant array: a dead SSD would lose it.",
            "Use writethrough, or put the cache on an md RAID1 of two SSDs.",
        )
    if sick:
        raise Refusal(
            "not_redundant",
            f"The array under {what} is degraded: {', '.join(sick)}.",
            "Replace the failed disk and let the array recover, or use writethrough.",
        )


def _mirrored(view: View, lv: Facts) -> bool:
    """A RAID LV, or a pool whose data and metadata both are, with nothing wrong."""
    parts = [
        part
        for part in view.facts["lvs"]
        if part["vg_uuid"] == lv["vg_uuid"]
        and part["name"] in (f"{lv['name']}_cdata", f"{lv['name']}_cmeta")
    ]
    levels = {"raid1", "raid5", "raid6", "raid10", "raid4"}
    return all(levels & set(part["layout"]) and part["health"] == "" for part in parts or [lv])
