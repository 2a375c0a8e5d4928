"""The charts of what lies below volumes: the legs of a cache, and the disks of a host. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from panel.charts.definitions import LATENCIES, Axis, ChartLine, ChartPanel, Scale

LEG_TITLES: Final = {
    "hdd_leg": "HDD latency (misses)",
    "ssd_leg": "SSD latency (hits)",
}


def leg_panels(*, are_open: bool, kept_days: int, longest_days: int) -> tuple[ChartPanel, ...]:
    """How long I/O took on the two legs of a cache."""
    days = min(kept_days, longest_days)
    note = f"Up to {days} days at a time; kept for {kept_days} days."
    return tuple(
        replace(
            LATENCIES,
            name=leg,
            title=title,
            lines=tuple(
                replace(line, name=line.name.replace("latency", leg)) for line in LATENCIES.lines
            ),
            of_cache=True,
            is_folded=not are_open,
            is_apart=True,
            note=note,
        )
        for leg, title in LEG_TITLES.items()
    )


SLOW_COLOURS: Final = ("orange", "red", "yellow", "pink")
FAST_COLOURS: Final = ("blue", "cyan", "indigo", "purple")
USER_COLOURS: Final = ("blue", "orange", "green", "purple", "yellow")
OTHERS, UNEXPLAINED = "others_in_flight", "unexplained_in_flight"


def busy_name(disk: str) -> str:
    """The series of how busy a disk was."""
    return f"busy_{disk}"


def user_name(n: int) -> str:
    """The series of the volume at place n of those that a disk works for; which one that is depends
    on the time."""
    return f"volume_{n + 1}_in_flight"


UNITS: Final = {
    Scale.IOPS: "1/s",
    Scale.MS: "ms",
    Scale.SPEED: "B/s",
    Scale.PERCENT: "ratio",
    Scale.IN_FLIGHT: "I/Os",
}


def units_of(panels: Sequence[ChartPanel]) -> dict[str, str]:
    """The unit of each line."""
    return {
        line.name: UNITS[panel.axes[line.axis].scale] for panel in panels for line in panel.lines
    }


def own_name(figure: str) -> str:
    """The series of a figure of the disk that is shown."""
    return f"disk_{figure}"


def own_panels(shown: str) -> tuple[ChartPanel, ...]:
    """The I/O of the disk that is `shown`."""
    return (
        ChartPanel(
            "disk_operations",
            f"{shown}: IOPS and latency",
            (Axis(Scale.IOPS, ""), Axis(Scale.MS, "latency")),
            (
                ChartLine(own_name("read_iops"), "Disk reads", "blue"),
                ChartLine(own_name("write_iops"), "Disk writes", "orange"),
                ChartLine(own_name("read_ms"), "Disk read latency", "blue", 1, "dashed"),
                ChartLine(own_name("write_ms"), "Disk write latency", "orange", 1, "dashed"),
            ),
        ),
        ChartPanel(
            "disk_queue",
            f"{shown}: queue",
            (Axis(Scale.IN_FLIGHT, "in flight"),),
            (ChartLine(own_name("queue"), "Disk queue", "purple", 0, "filled"),),
        ),
        ChartPanel(
            "disk_throughput",
            f"{shown}: throughput",
            (Axis(Scale.SPEED, ""),),
            (
                ChartLine(own_name("read_bytes_per_s"), "Read from disk", "blue"),
                ChartLine(own_name("write_bytes_per_s"), "Written to disk", "orange"),
            ),
            is_folded=True,
        ),
    )


def disk_panels(disks: Sequence[tuple[str, bool]], used: str, shown: str) -> tuple[ChartPanel, ...]:
    """How busy disks were (True: fast), who `used` one, and what the one did that is `shown`: the
    same or a member of it."""
    lines = []
    for colours, fast in ((SLOW_COLOURS, False), (FAST_COLOURS, True)):
        names = [name for name, is_fast in disks if is_fast is fast]
        lines += [
            ChartLine(
                busy_name(name),
                f"{name} ({'SSD' if fast else 'HDD'})",
                colours[n % len(colours)],
                0,
                "dashed" if fast else "",
            )
            for n, name in enumerate(names)
        ]
    users = [
        ChartLine(user_name(n), f"Volume {n + 1}", colour, 0, "stacked")
        for n, colour in enumerate(USER_COLOURS)
    ]
    users.append(ChartLine(OTHERS, "Other volumes", "cyan", 0, "stacked"))
    users.append(ChartLine(UNEXPLAINED, "Other: no volume", "secondary", 0, "stacked"))
    return (
        ChartPanel("disks", "Disks busy", (Axis(Scale.PERCENT, "busy"),), tuple(lines)),
        ChartPanel(
            "users", f"{used} by volume", (Axis(Scale.IN_FLIGHT, "in flight"),), tuple(users)
        ),
        *own_panels(shown),
    )
