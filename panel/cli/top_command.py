"""`tiercel top`: the volumes whose guests wait most, as they are measured."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence

import click

from .command_session import CommandSession, asks_the_panel
from .panel_client import Json
from .terminal import Column, figure, json_text, percent, screen_width, size, table
from .volume_commands import name_of

ALTERNATE_SCREEN, MAIN_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, TO_END = "\x1b[H", "\x1b[J"
REFRESH_SECONDS = 10.0


def waiting_reads(row: Json) -> float | None:
    """Reads that wait at a time, on average: their rate times the time of each (Little's law)."""
    figures = row["figures"] or {}
    rate, milliseconds = figures.get("read_iops"), figures.get("read_ms")
    if rate is None or milliseconds is None:
        return None
    return float(rate) * float(milliseconds) / 1000


def _figure(name: str) -> Column:
    titles = {"read_iops": "READ/S", "write_iops": "WRITE/S", "read_ms": "READ MS"}
    return Column(titles[name], lambda row: figure((row["figures"] or {}).get(name)), right=True)


TOP = (
    Column("WAITING", lambda row: figure(waiting_reads(row), 2), right=True),
    _figure("read_ms"),
    _figure("read_iops"),
    _figure("write_iops"),
    Column("HIT RATE", lambda row: percent((row["figures"] or {}).get("hit_rate")), right=True),
    Column("CACHE", lambda row: size((row["cache"] or {}).get("size_bytes")), right=True),
    Column("VOLUME", lambda row: row["label"], shrinks=True),
    Column("HOST", lambda row: name_of(row, "host"), shrinks=True, spare=True),
    Column("KEY", lambda row: row["key"], spare=True),
)


@click.command("top")
@click.option("--host", help="Key or name.")
@click.option("--customer", help="Key.")
@click.option("--lines", type=click.IntRange(1), help="Volumes.  [default: as many as fit, or 20]")
@click.option(
    "--every",
    type=click.FloatRange(1),
    default=REFRESH_SECONDS,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--once", is_flag=True, help="Look once.")
@asks_the_panel
def top(
    session: CommandSession,
    host: str | None,
    customer: str | None,
    lines: int | None,
    every: float,
    once: bool,
) -> None:
    """Show the volumes whose guests wait most for their reads. Ctrl+C ends it.

    WAITING is how many reads wait at a time, on average. With --json, each look is one line.
    """
    is_live = not once and not session.as_json and sys.stdout.isatty()
    try:
        if is_live:
            click.echo(ALTERNATE_SCREEN, nl=False)
        while True:
            rows = _ranked(session, host, customer)
            if session.as_json:
                click.echo(json_text(rows[:lines]))
            else:
                _show(rows, lines, is_live=is_live)
            if once:
                return
            time.sleep(every)
    except KeyboardInterrupt:
        # The end that a person gives it.
        return
    finally:
        if is_live:
            click.echo(MAIN_SCREEN, nl=False)


def _ranked(session: CommandSession, host: str | None, customer: str | None) -> list[Json]:
    rows = list(session.client.items("/volumes/", None, host=host, customer=customer))
    for row in rows:
        row["waiting_reads"] = waiting_reads(row)
    return sorted(rows, key=lambda row: (-(row["waiting_reads"] or -1.0), row["key"]))


def _show(rows: Sequence[Json], lines: int | None, *, is_live: bool) -> None:
    if not is_live:
        for line in table(rows[: lines or 20], TOP, width=screen_width()):
            click.echo(line)
        return
    terminal = shutil.get_terminal_size()
    fitting = min(lines or terminal.lines, terminal.lines - 4)
    measured = sum(row["waiting_reads"] is not None for row in rows)
    title = f"{len(rows)} volumes, {measured} measured, {time.strftime('%H:%M:%S')}"
    shown = [title, "", *table(rows[:fitting], TOP, width=terminal.columns)]
    click.echo(HOME + "".join(f"{line}\x1b[K\n" for line in shown) + TO_END, nl=False)
