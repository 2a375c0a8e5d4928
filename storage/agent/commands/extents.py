"""The physical extents of an LV as LVM's commands take them: /dev/sdc:0-9:20-29."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..calls.refusals import Refusal
from ..kernel import lvm
from ..kernel.local_host import LocalHost

_DEVICE = re.compile(r"(/dev/.+)\((\d+)\)")
_WORD = re.compile(r"<extents of ([^/>]+)/([^>]+)>")


def word_for(vg: str, lv: str) -> str:
    """One word for the physical extents of an LV: which they are, is known when it runs."""
    return f"<extents of {vg}/{lv}>"


def of(host: LocalHost, vg_uuid: str, vg: str, lv: str) -> tuple[str, ...]:
    """One word for each PV. The VG is found by its uuid: a guest may call its own by the same name.
    Raises Refusal(not_found | unsupported), and what lvm.read raises."""
    report = lvm.read(host, fresh=vg, needed=(vg,))
    size = {row["vg_uuid"]: lvm.number(row["vg_extent_size"]) for row in report.vgs}.get(vg_uuid, 0)
    rows = [row for row in report.segments if (row["vg_uuid"], row["lv_name"]) == (vg_uuid, lv)]
    if not rows or not size:
        raise Refusal("not_found", f"There is no volume {vg}/{lv}.", "Plan again.")
    ranges: dict[str, list[str]] = {}
    for row in rows:
        match = _DEVICE.fullmatch(row["devices"])
        if match is None:
            raise Refusal(
                "unsupported",
                f"{vg}/{lv} does not lie on physical volumes alone ({row['devices']}).",
                f"Look at it on the host: lvs -o +devices {vg}/{lv}",
            )
        first = int(match.group(2))
        last = first + lvm.number(row["seg_size"]) // size - 1
        ranges.setdefault(match.group(1), []).append(f"{first}-{last}")
    return tuple(":".join((path, *each)) for path, each in ranges.items())


def filled(argv: Sequence[str], known: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """`argv` with each word of `word_for` replaced by the extents in `known`, which are by
    name of the LV. Raises Refusal(stale) for an LV that is not there."""
    words: list[str] = []
    for word in argv:
        match = _WORD.fullmatch(word)
        if match is None:
            words.append(word)
        elif match.group(2) in known:
            words += known[match.group(2)]
        else:
            raise Refusal("stale", f"The {word[1:-1]} are unknown.", "Plan again.")
    return tuple(words)
