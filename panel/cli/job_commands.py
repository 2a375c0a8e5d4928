"""`tiercel jobs` and `tiercel audit`: what is done to hosts, and what was."""

from __future__ import annotations

import click

from .cache_commands import show_job
from .command_session import (
    NAME,
    CommandSession,
    asks_the_panel,
    confirmed,
    listing,
    path_of,
    waiting,
    yes_option,
)
from .exit_codes import CommandError, ExitCode, PanelRefusal
from .job_progress import OVER, ProgressNotes, commands_of, ending, new_lines, until_over
from .option_values import NONE, read_window, window_text
from .panel_client import Json
from .terminal import Column, duration, json_text, pairs, paragraphs, plain, shown_time
from .volume_commands import name_of

STATES = ("queued", "running", "waiting", "succeeded", "failed", "cancelled", "needs_attention")
JOBS = (
    Column("KEY", lambda row: row["key"]),
    Column("KIND", lambda row: row["kind"]),
    Column("STATE", lambda row: row["state"]),
    Column("VOLUME", lambda row: name_of(row, "volume"), shrinks=True),
    Column("HOST", lambda row: name_of(row, "host"), shrinks=True, spare=True),
    Column("CREATED", lambda row: shown_time(row["created_at"]), spare=True),
)
ENTRIES = (
    Column("AT", lambda row: shown_time(row["at"])),
    Column("PHASE", lambda row: row["phase"]),
    Column("VERB", lambda row: row["verb"], shrinks=True),
    Column("STATE", lambda row: row["result"].get("state")),
    Column("VOLUME", lambda row: row["volume_label"], shrinks=True),
    Column("ACTOR", lambda row: row["actor"], shrinks=True, spare=True),
    Column("JOB", lambda row: row["job"], spare=True),
)


@click.group("jobs", help="Jobs on hosts.")
def jobs_group() -> None:
    """Jobs."""


@jobs_group.command("list")
@click.option("--volume", type=NAME, help="Key or external id.")
@click.option("--host", type=NAME, help="Key or name.")
@click.option("--state", type=click.Choice(STATES), multiple=True, help="May be repeated.")
@click.option("--dry-runs", is_flag=True, help="List plans instead of jobs.")
@listing
@asks_the_panel
def list_jobs(
    session: CommandSession,
    volume: str | None,
    host: str | None,
    state: tuple[str, ...],
    dry_runs: bool,
    most: int | None,
) -> None:
    """List jobs, newest first."""
    rows = session.listed(
        "/jobs/",
        most,
        volume=session.volume_key(volume) if volume is not None else None,
        host=host,
        state=state,
        dry_run=True if dry_runs else None,
    )
    session.show_table(rows, JOBS, "No jobs.")


@jobs_group.command("show")
@click.argument("job", type=NAME)
@asks_the_panel
def job_details(session: CommandSession, job: str) -> None:
    """Show a job with its steps and their commands."""
    row = session.client.get(path_of("jobs", job))
    session.show(row, _job_lines(row))


@jobs_group.command("lines")
@click.argument("job", type=NAME)
@click.option("--after", type=click.IntRange(0), default=0, help="Only lines after this number.")
@asks_the_panel
def show_lines(session: CommandSession, job: str, after: int) -> None:
    """Show the output of a job's commands."""
    rows, _ = new_lines(session.client, job, after)
    session.show(rows, (text for row in rows for text in paragraphs(row["text"])))


@jobs_group.command("follow")
@click.argument("job", type=NAME)
@click.option("--timeout", type=click.FloatRange(0, min_open=True), help="Seconds to wait at most.")
@asks_the_panel
def follow_job(session: CommandSession, job: str, timeout: float | None) -> None:
    """Show the output of a job until it ends; the exit code is its result.

    With --json, each line of output is a JSON object on a line of its own, and the job is the last.
    """
    output = _FollowedOutput(session, job)
    try:
        ended = until_over(session.client, job, timeout=timeout, on_look=output.show)
    finally:
        output.notes.clear()
    if session.as_json:
        click.echo(json_text(ended))
    else:
        click.echo(f"Job {ended['key']}: {plain(ended['state'])}")
    if (error := ending(ended)) is not None:
        raise error


class _FollowedOutput:
    """What a job's commands say, beneath its progress."""

    def __init__(self, session: CommandSession, key: str) -> None:
        self.notes = ProgressNotes()
        self._session, self._key, self._after = session, key, 0
        self._has_lines = True

    def show(self, job: Json) -> None:
        """The new lines, then where the job is. A customer's token sees no lines."""
        for line in self._new_lines():
            self.notes.clear()
            if self._session.as_json:
                click.echo(json_text(line))
            else:
                click.echo("\n".join(paragraphs(line["text"])))
        if not self._session.as_json and job["state"] not in OVER:
            self.notes.show(job)

    def _new_lines(self) -> list[Json]:
        if not self._has_lines:
            return []
        try:
            rows, self._after = new_lines(self._session.client, self._key, self._after)
        except PanelRefusal as refusal:
            if refusal.status != 404:
                raise
            self._has_lines = False
            return []
        return rows


def _steer(name: str, summary: str, *, asks: bool) -> None:
    @jobs_group.command(name, help=summary)
    @click.argument("job", type=NAME)
    @yes_option
    @waiting
    @asks_the_panel
    def steer(
        session: CommandSession,
        job: str,
        is_sure: bool,
        waits: bool,
        timeout: float | None,
        request_key: str,
    ) -> None:
        confirmed(f"{summary} Go on?", is_sure=is_sure or not asks)
        answer = session.client.ask("POST", path_of("jobs", job, name), key=request_key)
        show_job(session, answer.data, waits=waits, timeout=timeout)


_steer(
    "cancel", "Cancel a job before its next step, and undo its changes where possible.", asks=True
)
_steer("resume", "Resume a job that needs attention.", asks=False)
_steer("rollback", "Roll back a job that needs attention.", asks=True)
_steer("pace", "Speed up a flush, zeroing or a move; guests wait longer meanwhile.", asks=True)


@jobs_group.command("window")
@click.argument("job", type=NAME)
@click.argument("window", type=NAME)
@click.option("--zone", default="UTC", show_default=True, help="Time zone of the window.")
@asks_the_panel
def set_job_window(session: CommandSession, job: str, window: str, zone: str) -> None:
    """Set the window of a job, such as 02:00-05:00, or start it now (none)."""
    path = path_of("jobs", job, "window")
    if window == NONE:
        answer = session.client.ask("DELETE", path)
    else:
        answer = session.client.ask("PUT", path, body=read_window(window, zone))
    show_job(session, answer.data, waits=False, timeout=None)


@jobs_group.command("resolve")
@click.argument("job", type=NAME)
@click.option("--why", required=True, help="What was done on the host.")
@waiting
@asks_the_panel
def resolve_job(
    session: CommandSession,
    job: str,
    why: str,
    waits: bool,
    timeout: float | None,
    request_key: str,
) -> None:
    """Mark a job that needs attention as resolved, after work by hand on its host."""
    path = path_of("jobs", job, "resolve")
    answer = session.client.ask("POST", path, body={"why": why}, key=request_key)
    if waits:
        ended = until_over(session.client, job, timeout=timeout)
        session.show(ended, [f"Job {job}: {plain(ended['state'])}"])
        if ended["state"] != "cancelled":
            raise ending(ended) or CommandError(
                "The job was not resolved.", ends_with=ExitCode.FAILED
            )
        return
    show_job(session, answer.data, waits=False, timeout=None)


@click.command("audit")
@click.option("--volume", type=NAME, help="Key or label.")
@click.option("--host", type=NAME, help="Key or name.")
@click.option("--job", type=NAME, help="Key.")
@click.option("--actor", type=NAME, help="Part of an e-mail address.")
@click.option("--since", help="A day or an RFC 3339 time.")
@click.option("--until", help="A day or an RFC 3339 time.")
@listing
@asks_the_panel
def audit(
    session: CommandSession,
    volume: str | None,
    host: str | None,
    job: str | None,
    actor: str | None,
    since: str | None,
    until: str | None,
    most: int | None,
) -> None:
    """Read the audit trail, newest first."""
    rows = session.listed(
        "/audit/", most, volume=volume, host=host, job=job, actor=actor, since=since, until=until
    )
    session.show_table(rows, ENTRIES, "No entries.")


def _job_lines(row: Json) -> list[str]:
    error, cost = row.get("error") or {}, row.get("cost") or {}
    lines = pairs(
        [
            ("key", row["key"]),
            ("kind", row["kind"]),
            ("state", row["state"]),
            ("dry run", "yes" if row["dry_run"] else ""),
            ("window", window_text(row.get("window"))),
            ("volume", name_of(row, "volume")),
            ("host", name_of(row, "host")),
            ("actor", row.get("actor")),
            ("created", shown_time(row["created_at"])),
            ("started", shown_time(row["started_at"])),
            ("ended", shown_time(row["ended_at"])),
            ("takes about", duration(cost["seconds"]) if cost else ""),
            ("error", error.get("message")),
            ("what to do", error.get("correction")),
        ]
    )
    if row.get("steps"):
        lines += ["", *commands_of(row)]
    return lines
