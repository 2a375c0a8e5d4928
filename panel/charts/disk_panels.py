"""The charts of what lies below volumes: the legs of a cache, and the disks of a host. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from panel.charts.definitions import LATENCIES, Axis, ChartLine, ChartPanel, Scale

LEG_TITLES: Final = {
    "hdd_leg": "HDD leg: latency below the cache",
    "ssd_leg": "SSD leg: latency of the cache",
}


def leg_panels(*, are_open: bool, kept_days: int, longest_days: int) -> tuple[ChartPanel, ...]:
    """How long I/O took on the two legs of a cache."""
    days = min(kept_days, longest_days)
    note = f"Kept for {kept_days} days. Shown for times of up to {days} days."
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


def disk_panels(disks: Sequence[tuple[str, bool]], shown: str) -> tuple[ChartPanel, ...]:
    """How busy disks were (True: fast), and who made the one that is `shown`."""
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
            "users", f"Who uses {shown}", (Axis(Scale.IN_FLIGHT, "under way"),), tuple(users)
        ),
    )
