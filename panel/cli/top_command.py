"""`tiercel top`: the volumes whose guests wait most, as they are measured."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence

import click

from .command_session import NAME, CommandSession, asks_the_panel
from .panel_client import Json
from .terminal import Column, figure, json_text, percent, screen_width, size, table
from .volume_commands import name_of

ALTERNATE_SCREEN, MAIN_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, TO_END = "\x1b[H", "\x1b[J"
REFRESH_SECONDS = 10.0
LINES = 20


def _figure(title: str, name: str, *digits: int) -> Column:
    return Column(title, lambda row: figure((row["figures"] or {}).get(name), *digits), right=True)


TOP = (
    _figure("WAITING", "waiting_reads", 2),
    _figure("READ MS", "read_ms"),
    _figure("READ/S", "read_iops"),
    _figure("WRITE/S", "write_iops"),
    Column("HIT RATE", lambda row: percent((row["figures"] or {}).get("hit_rate")), right=True),
    Column("CACHE", lambda row: size((row["cache"] or {}).get("size_bytes")), right=True),
    Column("VOLUME", lambda row: row["label"], shrinks=True),
    Column("HOST", lambda row: name_of(row, "host"), shrinks=True, spare=True),
    Column("KEY", lambda row: row["key"], spare=True),
)


@click.command("top")
@click.option("--host", type=NAME, help="Key or name.")
@click.option("--customer", type=NAME, help="Key.")
@click.option(
    "--lines", type=click.IntRange(1), help="Number of volumes.  [default: as many as fit, or 20]"
)
@click.option(
    "--every",
    type=click.FloatRange(1),
    default=REFRESH_SECONDS,
    show_default=True,
    help="Seconds between refreshes.",
)
@click.option("--once", is_flag=True, help="Show one snapshot and exit.")
@asks_the_panel
def top(
    session: CommandSession,
    host: str | None,
    customer: str | None,
    lines: int | None,
    every: float,
    once: bool,
) -> None:
    """Show the volumes whose guests wait most for reads. Ctrl+C ends it.

    WAITING is how many reads wait at a time, on average. With --json, each look is one line.
    """
    is_live = not once and not session.as_json and sys.stdout.isatty()
    try:
        if is_live:
            click.echo(ALTERNATE_SCREEN, nl=False)
        while True:
            most = lines or LINES
            if is_live:
                # Title, a blank line, the head of the table, and where the cursor stands.
                most = max(1, min(lines or sys.maxsize, screen_lines() - 4))
            query = {"sort": "-waiting_reads", "host": host, "customer": customer}
            rows = list(session.client.items("/volumes/", most, **query))
            if session.as_json:
                click.echo(json_text(rows))
            else:
                _show(rows, is_live=is_live)
            if once:
                return
            time.sleep(every)
    except KeyboardInterrupt:
        # The end that a person gives it.
        return
    finally:
        if is_live:
            click.echo(MAIN_SCREEN, nl=False)


def screen_lines() -> int:
    """As they are now: people change their windows."""
    return shutil.get_terminal_size().lines


def _show(rows: Sequence[Json], *, is_live: bool) -> None:
    if not is_live:
        for line in table(rows, TOP, width=screen_width()):
            click.echo(line)
        return
    title = f"Volumes whose guests wait most, {time.strftime('%H:%M:%S')}"
    shown = [title, "", *table(rows, TOP, width=shutil.get_terminal_size().columns)]
    click.echo(HOME + "".join(f"{line}\x1b[K\n" for line in shown) + TO_END, nl=False)
