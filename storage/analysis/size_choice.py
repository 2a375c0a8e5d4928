"""Which size of cache to choose for a volume, in which mode, and why: from its curves, or where
there are none from how much it reads and writes. Pure; the sentences are the staff's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storage.analysis.curve.bands import DAY
from storage.analysis.curve.prospects import LEAST_SHARE, Prospect
from storage.byte_sizes import SECTOR_BYTES
from storage.formatting import percent, seconds, size
from storage.metrics.rates import Sums
from storage.planner.wish import TechnologyName

ENOUGH: Final = 0.9
"""A size that saves this part of what the largest saves is enough: beyond, SSD buys little."""
HOUR: Final = 3600
HOURS: Final = 24
RISK: Final = "Until new data reach the HDD, they are on the SSD alone: if it fails, they are lost."


def saved_seconds(prospect: Prospect) -> float:
    """A day, in the middle of its range."""
    return (prospect.saved_seconds_per_day.low + prospect.saved_seconds_per_day.high) / 2


def enough_of(prospects: Sequence[Prospect]) -> Prospect | None:
    """The smallest that saves nearly as much as the largest, of those that help; where none is
    certain to be worth it, of those that save something at least. They begin with the smallest."""
    helping = [each for each in prospects if each.verdict == "helps"]
    if helping:
        most = max(saved_seconds(each) for each in helping)
        return next(each for each in helping if saved_seconds(each) >= ENOUGH * most)
    least = max((each.saved_seconds_per_day.low for each in prospects), default=0.0)
    if least <= 0 or helps_never(prospects):
        return None
    return next(each for each in prospects if each.saved_seconds_per_day.low >= ENOUGH * least)


def helps_never(prospects: Sequence[Prospect]) -> bool:
    """Whether each of these sizes would not help, which more counting does not change."""
    return all(each.verdict == "no_help" for each in prospects)


def bytes_per_day(sums: Sums) -> float:
    """What was read and written, as if each day were like it."""
    moved = (sums.read_sectors + sums.write_sectors) * SECTOR_BYTES
    return moved * DAY * 1000 / sums.dt_ms if sums.dt_ms else 0.0


@dataclass(frozen=True, slots=True)
class SizeChoice:
    """`size_bytes` None: none is chosen. `prospect` is what the curve says of
    the size, None without a curve, and `missing` why there is none. `reason` says why, with
    figures."""

    size_bytes: int | None
    reason: str
    prospect: Prospect | None = None
    missing: str = ""


def by_curve(
    prospects: Sequence[Prospect],
    offered_bytes: Collection[int] | None = None,
    *,
    has_cache: bool = False,
) -> SizeChoice:
    """Of a curve, the smallest size first: what is enough by all of it, where that is offered; else
    by the sizes that are, of which it has at least one. None: all are."""
    enough = enough_of(prospects)
    if offered_bytes is not None and (enough is None or enough.size_bytes not in offered_bytes):
        prospects = [each for each in prospects if each.size_bytes in offered_bytes]
        enough = enough_of(prospects)
    if enough is None:
        return SizeChoice(None, why_no_size(prospects, has_cache=has_cache))
    rates = share_range(enough.hit_rate.low, enough.hit_rate.high)
    brings = f"{size(enough.size_bytes)} serves {rates} of reads from SSD"
    if enough.verdict == "unknown":
        reason = f"{brings}. Whether that saves time is not certain yet."
    elif len(prospects) > 1 and enough is not prospects[-1]:
        reason = f"{brings}. {size(prospects[-1].size_bytes)} would save little more."
    else:
        reason = f"{brings} and saves {saved_range(enough)} of waiting a day."
    return SizeChoice(enough.size_bytes, reason, enough)


def by_traffic(sizes_bytes: Sequence[int], bytes_per_day: float, volume_bytes: int) -> SizeChoice:
    """Without a curve: data used again within a day are in a cache that holds a day's reads and
    writes, or the whole volume. Where that is more than any size, an hour's; else the smallest. At
    least one size, the smallest first."""
    for hours, name in ((HOURS, "on a usual day"), (1, "in a usual hour")):
        traffic = bytes_per_day * hours / HOURS
        for each in sizes_bytes if traffic else ():
            if traffic >= volume_bytes and each >= volume_bytes:
                return SizeChoice(each, f"{size(each)} holds the whole volume.")
            if each >= traffic:
                holds = f"holds what it reads and writes {name} ({size(traffic)})"
                return SizeChoice(each, f"{size(each)} {holds}.")
    smallest = sizes_bytes[0]
    if smallest >= volume_bytes:
        return SizeChoice(smallest, f"{size(smallest)} holds the whole volume.")
    why = "It reads and writes more in an hour than any size holds" if bytes_per_day else (
        "It has read and written nothing that was measured"
    )  # fmt: skip
    return SizeChoice(smallest, f"{why}: begin with {size(smallest)}.")


def why_no_size(prospects: Sequence[Prospect], *, has_cache: bool = False) -> str:
    """Why no size is chosen. What sizes save is beside the cache that the volume has."""
    largest = prospects[-1]
    most = seconds(max(0.0, *(each.saved_seconds_per_day.high for each in prospects)))
    if not helps_never(prospects):
        what = "another size" if has_cache else "a cache"
        return (
            f"It is not certain yet that {what} would help: it may save up to {most} of waiting "
            "a day, or nothing. More days of counting will show."
        )
    if has_cache:
        return f"No other size would help: none would save more than {most} of waiting a day."
    back = percent(round(largest.hit_rate.high, 2))
    return (
        f"A cache would not help: with {size(largest.size_bytes)}, at most {back} of reads would "
        "come from SSD, because the same data are not read again soon enough."
        if largest.hit_rate.high < 1 / 2
        else f"A cache would not help: even {size(largest.size_bytes)} would save no more than "
        f"{seconds(max(0.0, largest.saved_seconds_per_day.high))} of waiting a day."
    )


def share_range(low: float, high: float) -> str:
    """Two shares (0 to 1) as "62 to 88 %"; one where both read alike."""
    first, last = f"{low * 100:.0f}", f"{high * 100:.0f}"
    return f"{last} %" if first == last else f"{first} to {last} %"


def saved_range(prospect: Prospect) -> str:
    """The waiting saved a day as "2.1 to 5 h"."""
    low = max(0.0, prospect.saved_seconds_per_day.low)
    high = max(0.0, prospect.saved_seconds_per_day.high)
    if high >= 2 * HOUR:
        first, last = (f"{each / HOUR:.1f}".removesuffix(".0") for each in (low, high))
        return f"{last} h" if first == last else f"{first} to {last} h"
    shown = seconds(low), seconds(high)
    return shown[1] if shown[0] == shown[1] else " to ".join(shown)


def writeback_gain(through: Prospect, back: Prospect, refusal: str) -> str:
    """What writeback would save beside writethrough, with what it risks; "" where it is not worth
    it. `refusal` is why it cannot be had here."""
    more = saved_seconds(back) - saved_seconds(through)
    if more < LEAST_SHARE * max(saved_seconds(back), 1.0) or back.verdict == "no_help":
        return ""
    gain = f"Writes wait too: writeback would save about {seconds(more)} more a day."
    return f"{gain} {refusal}" if refusal else f"{gain} {RISK}"


def technology_reason(
    own: TechnologyName,
    through: Mapping[TechnologyName, Prospect],
    back: Mapping[TechnologyName, Prospect],
) -> str:
    """Which technology fits the load, and why: by what each saves with the same size, in
    writethrough and in writeback. `own` is the one that the volume can have."""
    for prospects, why_bcache in ((through, TAKES_IN), (back, TAKES_WRITES)):
        saved = {name: saved_seconds(each) for name, each in prospects.items()}
        more = saved["bcache"] - saved["lvmcache"]
        if abs(more) < LEAST_SHARE * max(*saved.values(), 1.0):
            continue
        fits: TechnologyName = "bcache" if more > 0 else "lvmcache"
        why = why_bcache if more > 0 else KEEPS_RUNS
        if fits == own:
            return f"{own} fits: {why}."
        return (
            f"{fits} would save about {seconds(abs(more))} more a day: {why}. A volume that was "
            f"made for {own} cannot have it."
        )
    return f"{own} fits: {'bcache' if own == 'lvmcache' else 'lvmcache'} would save about as much."


TAKES_IN: Final = "it keeps what is read for the first time, lvmcache only what is read again"
TAKES_WRITES: Final = "it takes all small writes on SSD, lvmcache only those to data that it holds"
KEEPS_RUNS: Final = "it keeps long sequential reads too, which bcache lets pass"
