"""A job, watched until it has ended: its step, how far it is, and how long it still takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Final

import click

from .exit_codes import CommandError, ExitCode
from .panel_client import Json, PanelClient
from .terminal import cut, duration, paragraphs, percent, plain, screen_width, size

OVER: Final = ("succeeded", "failed", "cancelled")
NEEDS_ATTENTION: Final = "needs_attention"
POLL_SECONDS: Final = ((10.0, 0.5), (60.0, 1.0), (float("inf"), 2.0))
"""After so long, how long to pause between two looks."""
CLEAR_LINE: Final = "\r\x1b[K"
DONE_STATES: Final = ("done", "succeeded", "skipped")


class RemainingTime:
    """How long a step still takes, by what it did since it was first seen."""

    def __init__(self) -> None:
        self._step: object = None
        self._first: tuple[float, float] = (0.0, 0.0)

    def seconds(self, step: Json, now: float) -> float | None:
        """None where it is not known."""
        progress = step.get("progress") or {}
        if isinstance(left := progress.get("left_s"), int | float):
            return float(left)
        done, total = progress.get("done_bytes"), progress.get("total_bytes")
        if not isinstance(done, int | float) or not isinstance(total, int | float):
            return None
        if self._step != step.get("n"):
            self._step, self._first = step.get("n"), (now, float(done))
            return None
        began, before = self._first
        if done <= before or now <= began:
            return None
        return (total - done) * (now - began) / (done - before)


class ProgressNotes:
    """Standard error: one line that changes on a terminal, else a line for each change."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last = ""
        self._remaining = RemainingTime()

    def show(self, job: Json) -> None:
        """The job as it is now."""
        steps = job.get("steps") or []
        step = _current(steps)
        left = self._remaining.seconds(step, monotonic()) if step is not None else None
        brief = _brief(job, step, len(steps))
        if self._is_terminal:
            text = brief + _measured(step, left)
            click.echo(CLEAR_LINE + cut(text, (screen_width() or 80) - 1), err=True, nl=False)
        elif brief != self._last:
            click.echo(brief, err=True)
        self._last = brief

    def clear(self) -> None:
        """Leave nothing of the line."""
        if self._is_terminal and self._last:
            click.echo(CLEAR_LINE, err=True, nl=False)


def until_over(
    client: PanelClient,
    key: str,
    *,
    timeout: float | None = None,
    on_look: Callable[[Json], None] = lambda job: None,
) -> Json:
    """The job once it has ended or needs a person; raises `CommandError` after the timeout."""
    begun = monotonic()
    while True:
        job: Json = client.get(f"/jobs/{key}")
        on_look(job)
        if job["state"] in OVER or job["state"] == NEEDS_ATTENTION:
            return job
        waited = monotonic() - begun
        if timeout is not None and waited >= timeout:
            raise CommandError(
                f"Job {key} has not ended after {duration(timeout)}; it continues.",
                f"Keep waiting: tiercel jobs follow {key}.",
                ends_with=ExitCode.WAITED_TOO_LONG,
            )
        pause = next(seconds for after, seconds in POLL_SECONDS if waited < after)
        sleep(pause if timeout is None else min(pause, max(timeout - waited, 0.05)))


def watched(client: PanelClient, key: str, *, timeout: float | None, is_silent: bool) -> Json:
    """The same, with its progress on standard error."""
    if is_silent:
        return until_over(client, key, timeout=timeout)
    notes = ProgressNotes()
    try:
        return until_over(client, key, timeout=timeout, on_look=notes.show)
    finally:
        notes.clear()


def new_lines(client: PanelClient, key: str, after: int) -> tuple[list[Json], int]:
    """The lines of output after that one, and the number of the last."""
    rows: list[Json] = []
    while True:
        answer = client.get(f"/jobs/{key}/lines", cursor=after)
        rows += answer["lines"]
        after = int(answer["next_cursor"])
        if not answer["lines"] or answer["complete"]:
            return rows, after


def ending(job: Json) -> CommandError | None:
    """The error that a command ends with, None where the job succeeded."""
    if job["state"] == "succeeded":
        return None
    error = job.get("error") or {}
    words = {
        "failed": "failed",
        "cancelled": "was cancelled",
        NEEDS_ATTENTION: "needs attention: resume it, roll it back or resolve it",
    }
    message = f"Job {job['key']} {words.get(job['state'], job['state'])}."
    if error.get("message"):
        message = f"{message} {error['message']}"
    corrections = [str(error.get("correction") or "")]
    if job["state"] == NEEDS_ATTENTION:
        corrections.append(f"Then: tiercel jobs resume, rollback or resolve {job['key']}.")
    needs_person = job["state"] == NEEDS_ATTENTION
    ended = CommandError(
        message,
        " ".join(filter(None, corrections)),
        ends_with=ExitCode.NEEDS_ATTENTION if needs_person else ExitCode.FAILED,
        code=str(error.get("code") or job["state"]),
    )
    ended.body = {**ended.body, "job": job["key"], "state": job["state"]}
    return ended


def commands_of(job: Json) -> Iterator[str]:
    """The steps of a dry run and their commands, as they would run."""
    for step in job.get("steps") or []:
        yield f"{step['n']}. {plain(step['title'])}"
        for command in step["commands"]:
            for line in paragraphs(command["shell"]):
                yield f"     {line}"


def _current(steps: list[Json]) -> Json | None:
    running = [each for each in steps if each["state"] == "running"]
    return running[0] if running else None


def _brief(job: Json, step: Json | None, count: int) -> str:
    if step is None:
        return f"Job {job['key']}: {plain(job['state'])}"
    return f"[{step['n']}/{count}] {plain(step['title'])}"


def _measured(step: Json | None, left: float | None) -> str:
    progress = (step or {}).get("progress") or {}
    done, total = progress.get("done_bytes"), progress.get("total_bytes")
    text = ""
    if isinstance(done, int | float) and isinstance(total, int | float) and total > 0:
        text = f"  {percent(done / total)} of {size(total)}"
    return text if left is None else f"{text}, about {duration(left)} left"
