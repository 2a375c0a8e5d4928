"""`tiercel volumes trace` and `traces`: what a volume reads and writes, seen whole for some
minutes."""

from __future__ import annotations

from time import monotonic, sleep

import click

from .command_session import (
    NAME,
    CommandSession,
    asks_the_panel,
    listing,
    path_of,
    waiting,
)
from .exit_codes import CommandError, ExitCode
from .panel_client import Json
from .terminal import Column, duration, percent, plain, screen_width, shown_time, size, table
from .volume_commands import volume_argument

OVER = ("done", "failed", "cancelled")
POLL_SECONDS = 5.0
TRACES = (
    Column("KEY", lambda row: row["key"]),
    Column("STATE", lambda row: row["state"]),
    Column("MINUTES", lambda row: str(row["minutes"]), right=True),
    Column("CREATED", lambda row: shown_time(row["created_at"])),
    Column("ENDED", lambda row: shown_time(row["ended_at"])),
    Column("MESSAGE", lambda row: row["message"], shrinks=True, spare=True),
)


@click.command("trace")
@volume_argument
@click.option("--minutes", type=click.IntRange(1, 30), default=15, show_default=True)
@waiting
@asks_the_panel
def trace_volume(
    session: CommandSession,
    volume: str,
    minutes: int,
    waits: bool,
    timeout: float | None,
    request_key: str,
) -> None:
    """Trace the reads and writes of a volume, to find the chunk size that serves the most reads.

    The host's agent sees each I/O for this time, and stores only counts.
    """
    path = path_of("volumes", session.volume_key(volume), "traces")
    asked = session.client.ask("POST", path, body={"minutes": minutes}, key=request_key).data
    one = f"{path}{path_of(asked['key'])}"
    trace = _until_over(session, one, timeout) if waits else asked
    session.show(trace, _lines(trace, one))
    if trace["state"] in ("failed", "cancelled"):
        raise CommandError(
            f"The trace did not finish: {trace['state']}. {trace['message']}",
            trace["correction"],
            ends_with=ExitCode.FAILED,
        )


@click.command("traces")
@volume_argument
@click.option("--show", "shown", type=NAME, help="Key of a trace, to show its results.")
@listing
@asks_the_panel
def list_traces(session: CommandSession, volume: str, shown: str | None, most: int | None) -> None:
    """List the traces of a volume, newest first, or show one."""
    path = path_of("volumes", session.volume_key(volume), "traces")
    if shown is None:
        session.show_table(session.listed(path, most), TRACES, "No traces.")
        return
    one = f"{path}{path_of(shown)}"
    trace = session.client.get(one)
    session.show(trace, _lines(trace, one))


def _until_over(session: CommandSession, path: str, timeout: float | None) -> Json:
    """The trace once it has ended; raises `CommandError` after the timeout."""
    begun, noted = monotonic(), ""
    while True:
        trace: Json = session.client.get(path)
        if trace["state"] in OVER:
            return trace
        if trace["state"] != noted:
            noted = trace["state"]
            session.note(_progress(trace))
        waited = monotonic() - begun
        if timeout is not None and waited >= timeout:
            raise CommandError(
                f"The trace has not ended after {duration(timeout)}; it continues.",
                f"See the result later: tiercel api GET {path}",
                ends_with=ExitCode.WAITED_TOO_LONG,
            )
        sleep(POLL_SECONDS if timeout is None else min(POLL_SECONDS, max(timeout - waited, 0.05)))


def _progress(trace: Json) -> str:
    if trace["state"] == "running":
        return f"Running, {duration(trace['seconds_left'])} left."
    return f"Waiting for the host. {trace['message']}"


def _lines(trace: Json, path: str) -> list[str]:
    state = plain(" ".join(filter(None, (trace["state"], trace["message"]))))
    sizes = trace.get("sizes") or []
    if sizes:
        return [f"Trace of {trace['minutes']} min: {state}", *_table(sizes)]
    lines = [f"Trace {trace['key']} of {trace['minutes']} min: {state}"]
    if trace["state"] == "done":
        lines.append("The volume read nothing meanwhile.")
    if trace["state"] not in OVER:
        lines.append(f"Cancel it: tiercel api DELETE {path}")
    return lines


def _table(sizes: list[Json]) -> list[str]:
    columns = [Column("SSD", lambda row: size(row["size_bytes"]), right=True)]
    for n, chunk in enumerate(sizes[0]["chunks"]):
        title = f"CHUNKS OF {size(chunk['chunk_bytes'])}"
        columns.append(Column(title, lambda row, n=n: _share(row["chunks"][n]), right=True))  # type: ignore[misc]
    columns.append(Column("MOST", lambda row: size(row["best_chunk_bytes"]), right=True))
    return ["Reads from SSD:", *table(sizes, columns, width=screen_width())]


def _share(chunk: Json) -> str:
    return f"{percent(chunk['hit_rate_low'])} to {percent(chunk['hit_rate_high'])}"
