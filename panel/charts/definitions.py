"""The contents of charts: panels, lines, axes, and the summary in words.

Pure. `static/js/charts/drawing.js` draws panels as they are described here. The words are for staff
or, where `plain`, for customers, in the language spoken now.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from storage import formatting
from storage.language import gettext
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.series import UNITS, Series, Values
from storage.models.host import BUSY_PERCENT, SLOW_READ_MS


class Scale(StrEnum):
    """What an axis counts in; the axis of bytes is shown in the binary unit that fits."""

    IOPS = "iops"
    PER_SECOND = "per_second"
    MS = "ms"
    PERCENT = "percent"
    SPEED = "speed"
    SIZE = "size"
    IN_FLIGHT = "in_flight"


SHOWN: Final = {
    Scale.IOPS: formatting.iops,
    Scale.PER_SECOND: formatting.iops,
    Scale.MS: formatting.ms,
    Scale.PERCENT: formatting.percent,
    Scale.SPEED: formatting.speed,
    Scale.SIZE: formatting.size,
    Scale.IN_FLIGHT: formatting.iops,
}


class ChartLack(StrEnum):
    """Why a chart has nothing to draw in a time."""

    NO_CACHE = "no_cache"
    AT_REST = "at_rest"
    NO_LATENCIES = "no_latencies"
    NO_FIGURES = "no_figures"


@dataclass(frozen=True, slots=True)
class Limit:
    """From which figure on something is wrong, in milliseconds or as a ratio, and what the line
    there says."""

    figure: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """`title` names what is counted, "" where the unit says it. Axes of a panel stand above each
    other, the first on top, each with a share of the height by its `weight`. A line marks its
    `limit`."""

    scale: Scale
    title: str
    weight: int = 2
    limit: Limit | None = None


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A series by its name of `storage.metrics.load_series.LOAD_UNITS`. `colour` is one of
    Tabler's; `axis` the number of its axis in the panel; `dash` is "", "dashed", "dotted",
    "filled" or, upon the others of its axis, "stacked"."""

    name: str
    label: str
    colour: str
    axis: int = 0
    dash: str = ""


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """One chart. `of_cache`: it says nothing where there is no cache, and is hidden. `is_folded`:
    its title alone is shown until a person opens it. `is_heat`: a map of latencies,
    with its lines upon it. `is_apart`: its figures cost more, and come only while it is open;
    `note` says of which times there are any. `known` and `lack` are of the time with which its page
    begins (`panel.charts.lacking`): the labels of the lines of which anything is known, whose
    legend takes its room before the chart is drawn, so that nothing moves when it comes; and why
    there is nothing to draw, None where there is something."""

    name: str
    title: str
    axes: tuple[Axis, ...]
    lines: tuple[ChartLine, ...]
    of_cache: bool = False
    is_folded: bool = False
    is_heat: bool = False
    is_apart: bool = False
    note: str = ""
    known: tuple[str, ...] = ()
    lack: ChartLack | None = None

    @property
    def is_hidden(self) -> bool:
        """A chart whose figures come apart keeps its title where there is a cache."""
        return self.lack is not None and not (self.is_apart and self.lack is not ChartLack.NO_CACHE)

    @property
    def json(self) -> str:
        """As the script reads it, which hears with each answer what has nothing to draw."""
        return json.dumps(asdict(replace(self, known=(), lack=None)))


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of the data table."""

    name: str
    label: str
    scale: Scale

    @property
    def unit(self) -> str:
        """What its cells count in, where they do not say it themselves."""
        return {
            Scale.IOPS: "IOPS",
            Scale.PER_SECOND: gettext("per second"),
            Scale.IN_FLIGHT: "I/Os",
        }.get(self.scale, "")


def panels(*, plain: bool) -> tuple[ChartPanel, ...]:
    """The charts of a volume, in the words of staff or of customers: five, or four."""

    def words(staff: str, customer: str) -> str:
        return customer if plain else staff

    writes_from_cache = (
        ChartLine("write_hit_rate", "Write hit rate", "orange", 0, "dashed"),
        ChartLine("write_accesses_per_s", "Write accesses", "orange", 1, "filled"),
    )
    return (
        ChartPanel(
            "operations",
            words("IOPS and latency", gettext("Reads, writes and latency")),
            (
                Axis(Scale.PER_SECOND, gettext("operations")) if plain else Axis(Scale.IOPS, ""),
                Axis(Scale.MS, gettext("latency")),
            ),
            (
                ChartLine("read_iops", gettext("Reads"), "blue"),
                ChartLine("write_iops", gettext("Writes"), "orange"),
                ChartLine("read_ms", gettext("Read latency"), "blue", 1, "dashed"),
                ChartLine("write_ms", gettext("Write latency"), "orange", 1, "dashed"),
            ),
        ),
        *(() if plain else (LATENCIES,)),
        ChartPanel(
            "hits",
            words("Hit rate", gettext("Reads from SSD")),
            (
                Axis(Scale.PERCENT, words("hit rate", gettext("from SSD"))),
                Axis(Scale.PER_SECOND, words("accesses", gettext("reads"))),
            ),
            (
                ChartLine("hit_rate", words("Read hit rate", gettext("Reads from SSD")), "green"),
                *(() if plain else writes_from_cache[:1]),
                ChartLine(
                    "accesses_per_s",
                    words("Read accesses", gettext("All reads")),
                    "blue",
                    1,
                    "filled",
                ),
                *(() if plain else writes_from_cache[1:]),
            ),
            of_cache=True,
        ),
        ChartPanel(
            "throughput",
            words("Throughput", gettext("Data read and written")),
            (Axis(Scale.SPEED, ""),),
            (
                ChartLine("read_bytes_per_s", gettext("Read"), "blue"),
                ChartLine("write_bytes_per_s", gettext("Written"), "orange"),
            ),
            is_folded=not plain,
        ),
        ChartPanel(
            "contents",
            words("Cache contents", gettext("Your SSD space")),
            (Axis(Scale.SIZE, ""),),
            (
                ChartLine("cache_size_bytes", gettext("Size"), "secondary", 0, "dotted"),
                ChartLine("used_bytes", words("Used", gettext("Filled")), "green", 0, "filled"),
                ChartLine(
                    "dirty_bytes", words("Dirty", gettext("Not yet copied to disk")), "orange"
                ),
            ),
            of_cache=True,
        ),
        *(() if plain else (CHURN,)),
    )


LATENCIES: Final = ChartPanel(
    "latencies",
    "Latency of reads and writes",
    (Axis(Scale.MS, "latency"),),
    (
        ChartLine("latency_p50_ms", "p50", "body-color"),
        ChartLine("latency_p95_ms", "p95", "body-color", 0, "dashed"),
        ChartLine("latency_p99_ms", "p99", "body-color", 0, "dotted"),
    ),
    is_heat=True,
)
INSIDE: Final = ChartPanel(
    "inside",
    "Bypass and metadata",
    (Axis(Scale.PERCENT, "share"),),
    (
        ChartLine("bypass_share", "Accesses that bypass the cache", "orange"),
        ChartLine("metadata_share", "Metadata used", "purple", 0, "dashed"),
    ),
    of_cache=True,
)
RARE: Final = ChartPanel(
    "rare",
    "Flushes, discards and suspensions",
    (
        Axis(Scale.PER_SECOND, "operations"),
        Axis(Scale.MS, "latency"),
        Axis(Scale.PERCENT, "suspended"),
    ),
    (
        ChartLine("flushes_per_s", "Flushes", "blue"),
        ChartLine("discards_per_s", "Discards", "orange"),
        ChartLine("flush_ms", "Flush latency", "blue", 1, "dashed"),
        ChartLine("suspended_share", "Suspended", "red", 2, "filled"),
    ),
    is_folded=True,
)
SSD_WRITES: Final = ChartPanel(
    "churn",
    "SSD writes",
    (Axis(Scale.SPEED, ""),),
    (ChartLine("ssd_write_bytes_per_s", "Written to SSD", "pink", 0, "filled"),),
    of_cache=True,
    is_folded=True,
)
CHURN: Final = replace(
    SSD_WRITES,
    title="Promotions and SSD writes",
    axes=(Axis(Scale.PER_SECOND, "blocks"), *SSD_WRITES.axes),
    lines=(
        ChartLine("promotions_per_s", "Promoted", "purple"),
        ChartLine("demotions_per_s", "Demoted", "secondary", 0, "dashed"),
        *(replace(line, axis=1) for line in SSD_WRITES.lines),
    ),
)


def load_panels(*, space_title: str = "SSD space") -> tuple[ChartPanel, ...]:
    """The charts of a host or of the fleet."""
    operations, latencies, hits, throughput, contents, churn = panels(plain=False)
    return (
        operations,
        latencies,
        hits,
        replace(SPACE, title=space_title),
        replace(contents, title="Caches"),
        throughput,
        churn,
    )


WAITS: Final = ChartPanel(
    "waits",
    "Waits",
    (Axis(Scale.IN_FLIGHT, "in flight"),),
    (ChartLine("in_flight", "Queued reads and writes", "purple", 0, "filled"),),
)
SATURATION: Final = ChartPanel(
    "saturation",
    "Disks busy",
    (Axis(Scale.PERCENT, "busy"),),
    (
        ChartLine("hdd_busy", "HDDs, average", "orange"),
        ChartLine("hdd_busy_most", "Busiest HDD", "orange", 0, "dashed"),
        ChartLine("ssd_busy", "SSDs, average", "blue"),
        ChartLine("ssd_busy_most", "Busiest SSD", "blue", 0, "dashed"),
    ),
)
SPACE: Final = ChartPanel(
    "space",
    "SSD space",
    (Axis(Scale.SIZE, ""),),
    (
        ChartLine("ssd_total_bytes", "Total", "secondary", 0, "dotted"),
        ChartLine("ssd_used_bytes", "Used", "blue", 0, "filled"),
        ChartLine("ssd_sold_bytes", "Sold", "green"),
        ChartLine("ssd_free_bytes", "Free", "orange", 0, "dashed"),
    ),
)


def limited(
    shown: Iterable[ChartPanel],
    slow_read_ms: int = SLOW_READ_MS,
    busy_percent: int = BUSY_PERCENT,
) -> tuple[ChartPanel, ...]:
    """The panels with lines where reads of a volume are slow, and where an HDD is too busy."""
    limits = {
        "operations": (
            Scale.MS,
            Limit(slow_read_ms, f"{gettext('slow reads')}: {slow_read_ms} ms"),
        ),
        LATENCIES.name: (Scale.MS, Limit(slow_read_ms, f"slow reads: {slow_read_ms} ms")),
        **dict.fromkeys(
            (SATURATION.name, "disks"),
            (Scale.PERCENT, Limit(busy_percent / 100, f"busy HDD: {busy_percent} %")),
        ),
    }
    return tuple(_limited(panel, *limits.get(panel.name, (None, None))) for panel in shown)


def _limited(panel: ChartPanel, scale: Scale | None, limit: Limit | None) -> ChartPanel:
    return replace(
        panel,
        axes=tuple(
            replace(axis, limit=limit) if axis.scale is scale else axis for axis in panel.axes
        ),
    )


def labelled(shown: tuple[ChartPanel, ...], labels: Mapping[str, str]) -> tuple[ChartPanel, ...]:
    """The panels with the labels that some of their lines have in a time."""
    return tuple(
        replace(
            panel,
            lines=tuple(
                replace(line, label=labels.get(line.name, line.label)) for line in panel.lines
            ),
        )
        for panel in shown
    )


def names(*, plain: bool) -> tuple[str, ...]:
    """The series that the charts draw, each once, in the order of
    `storage.metrics.series.UNITS`."""
    drawn = {line.name for panel in panels(plain=plain) for line in panel.lines}
    return tuple(name for name in UNITS if name in drawn)


def known_panels(shown: tuple[ChartPanel, ...], measured: Series) -> tuple[ChartPanel, ...]:
    """The panels and their lines of which anything is known."""
    known_names = {name for name in measured.units if measured.knows(name)}
    lines_by_panel = (
        (panel, tuple(line for line in panel.lines if line.name in known_names)) for panel in shown
    )
    return tuple(replace(panel, lines=lines) for panel, lines in lines_by_panel if lines)


def columns(shown: tuple[ChartPanel, ...]) -> list[TableColumn]:
    """The columns of the data table: every line of the panels."""
    return [
        TableColumn(line.name, line.label, panel.axes[line.axis].scale)
        for panel in shown
        for line in panel.lines
    ]


def table(
    measured: Series, shown: list[TableColumn], *, rows: int, now: datetime
) -> list[tuple[datetime, list[str]]]:
    """The last buckets, newest first: when each ended and its figures with units, "-" if unknown.

    A bucket that still lasts is left out while nothing is known of it.
    """
    picked = [
        (measured.at(n), [SHOWN[column.scale](values[column.name]) for column in shown])
        for n, values in enumerate(measured.values)
        if measured.at(n) <= now or values["read_iops"] is not None
    ]
    return picked[: -rows - 1 : -1]


PACE: Final = timedelta(days=6)
"""A shorter time tells no pace."""
MOST_DAYS: Final = 3650
DAY_SECONDS: Final = 86_400
MOSTLY: Final = 0.9
"""The share of the time, or of the I/O, from which on data need not be said to be missing."""


def summary(measured: Series, span: str, *, of_many: bool = False) -> str:
    """The whole time in a few sentences, for those who do not see the charts; "" without figures.

    `span` is the time in words, such as "Last 1 h"; `of_many`: the figures are of many volumes,
    not all of which have a cache or percentiles.
    """
    if measured.is_empty:
        return ""
    total = measured.totals
    averages = gettext("{span}: {reads} reads and {writes} writes per second on average.")
    reads, writes = formatting.iops(total["read_iops"]), formatting.iops(total["write_iops"])
    parts = [averages.format(span=span, reads=reads, writes=writes), *_times(total)]
    if total["hit_rate"] is not None:
        came = gettext("{share} of reads came from SSD.")
        if of_many:
            came = "{share} of reads on cached volumes came from SSD."
        parts.append(came.format(share=formatting.percent(total["hit_rate"])))
    timed = measured.timed_share
    if of_many and total["latency_p50_ms"] is not None and timed is not None and timed < MOSTLY:
        parts.append(
            f"Percentiles cover {formatting.percent(timed)} of I/O (not available for bcache)."
        )
    if of_many and (words := until_full(measured)):
        parts.append(words)
    if measured.seconds < MOSTLY * (measured.end - measured.start).total_seconds():
        based = gettext("Based on {span} of data.")
        parts.append(based.format(span=formatting.seconds(measured.seconds)))
    return " ".join(parts)


def until_full(measured: Series) -> str:
    """When the SSD space is used up at the pace of this period; "" where it does not shrink, or the
    period is too short."""
    space = [
        (measured.at(n), values["ssd_used_bytes"], values["ssd_free_bytes"])
        for n, values in enumerate(measured.values)
        if values["ssd_used_bytes"] is not None
    ]
    if not space or space[-1][0] - space[0][0] < PACE:
        return ""
    (first_at, first, _), (last_at, last, free) = space[0], space[-1]
    grown = (last or 0.0) - (first or 0.0)
    if grown <= 0 or not free:
        return ""
    days = free / grown * (last_at - first_at).total_seconds() / DAY_SECONDS
    return f"At this pace the SSD space is full in {days:,.0f} days." if days < MOST_DAYS else ""


def _times(total: Values) -> list[str]:
    read, write = total["read_ms"], total["write_ms"]
    if read is None and write is None:
        return []
    text = gettext("Average read latency {read}, average write latency {write}.")
    if write is None:
        text = gettext("Average read latency {read}.")
    elif read is None:
        text = gettext("Average write latency {write}.")
    return [text.format(read=formatting.ms(read), write=formatting.ms(write))]


def latency_classes() -> list[str]:
    """The classes of `Series.histograms` in words, the fastest first."""
    bounds = [formatting.ms(ns / 1e6) for ns in LATENCY_BOUNDS_NS]
    return [*(f"≤ {bound}" for bound in bounds), f"> {bounds[-1]}"]


def latency_rows(measured: Series, *, rows: int) -> list[tuple[datetime, list[str]]]:
    """The last buckets with I/O, newest first: when each ended, and the share of its I/O in each
    class."""
    picked = [
        (measured.at(n), [formatting.share(count, sum(counts)) for count in counts])
        for n, counts in enumerate(measured.histograms)
        if counts is not None and any(counts)
    ]
    return picked[: -rows - 1 : -1]


def inside_json(measured: Series) -> dict[str, Any]:
    """What happened within the buckets: the histograms of latencies, by the names of the charts
    that map them, and the least and the most of single intervals."""
    histograms = {LATENCIES.name: measured.histograms, **measured.leg_histograms}
    counts = {
        name: [each if each is not None and any(each) else None for each in by_bucket]
        for name, by_bucket in histograms.items()
    }
    return {
        "heat": {"bounds_ms": [ns / 1e6 for ns in LATENCY_BOUNDS_NS], "counts": counts},
        **measured.band_json(),
    }


HEAT_TEXTS: Final = {
    "between": "Most common: {low} to {high} ms ({share} % of I/O)",
    "above": "Most common: more than {low} ms ({share} % of I/O)",
}


LACKING_TEXTS: Final = {"lacking": "Not shown, {reason}: {titles}."}


def script_texts(*, plain: bool) -> str:
    """What `static/js/charts` writes itself, as JSON: by name, with the gaps that it fills."""
    return json.dumps(
        {
            "last": gettext("last"),
            "spoken": gettext("{title}. Last: {values}."),
            "few": gettext("(few)"),
            **({} if plain else HEAT_TEXTS),
            "beside": gettext("{value} ({other}: {beside})"),
            "line": gettext("Show or hide this line"),
            **({} if plain else LACKING_TEXTS),
            "zone": gettext("Times in {zone}"),
            "before": gettext("before"),
            "after": gettext("after"),
            "earlier": gettext("{n} earlier changes") if plain else "{n} earlier ones",
            "one_earlier": gettext("1 earlier change") if plain else "1 earlier one",
        }
    )
