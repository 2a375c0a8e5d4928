"""How a command ends, and the errors that it ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import IO, Any

import click

from .terminal import json_text, plain


class ExitCode(IntEnum):
    """What a script can tell from the exit code; docs/cli.md lists them."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    NOT_ALLOWED = 5
    IN_THE_WAY = 6
    NO_ANSWER = 7
    NEEDS_ATTENTION = 8
    WAITED_TOO_LONG = 9
    INTERRUPTED = 130


BY_STATUS = {
    401: ExitCode.NOT_ALLOWED,
    402: ExitCode.REFUSED,
    403: ExitCode.NOT_ALLOWED,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.IN_THE_WAY,
    412: ExitCode.IN_THE_WAY,
    429: ExitCode.IN_THE_WAY,
}


class CommandError(click.ClickException):
    """Ends the command: what happened, what to do, and the exit code. `body` is what `--json`
    writes."""

    def __init__(
        self, message: str, correction: str = "", *, ends_with: ExitCode, code: str = ""
    ) -> None:
        super().__init__(message)
        self.correction = correction
        self.ends_with = ends_with
        self.code = code
        self.details: list[str] = []
        self.body: Mapping[str, Any] = {
            "detail": message,
            "code": code or ends_with.name.lower(),
            "correction": correction,
        }
        self.as_json = False

    def show(self, file: IO[Any] | None = None) -> None:
        """To standard error: what was written there has no control characters."""
        if self.as_json:
            click.echo(json_text(self.body), err=True)
            return
        suffix = f" ({plain(self.code)})" if self.code else ""
        click.echo(f"tiercel: {plain(self.message)}{suffix}", err=True)
        for detail in self.details:
            click.echo(f"  {plain(detail)}", err=True)
        if self.correction:
            click.echo(f"  {plain(self.correction)}", err=True)


class PanelRefusal(CommandError):
    """A problem (RFC 9457) that the panel answered with."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        ends_with = BY_STATUS.get(status, ExitCode.REFUSED)
        if status >= 500:
            ends_with = ExitCode.NO_ANSWER
        super().__init__(
            str(body.get("detail") or f"The panel answers with status {status}."),
            str(body.get("correction") or ""),
            ends_with=ends_with,
            code=str(body.get("code") or status),
        )
        self.status = status
        self.body = body
        self.details = [*_faults(body.get("errors")), *_conflicts(body.get("conflicting_jobs"))]
        if status >= 500:
            self.details.append(f"Request: {body.get('instance', 'unknown')}")


def _faults(errors: object) -> list[str]:
    return [
        f"{each.get('pointer') or each.get('parameter') or 'body'}: {each.get('message', '')}"
        for each in _objects(errors)
    ]


def _conflicts(jobs: object) -> list[str]:
    return [
        f"Job {each.get('key')}: {each.get('kind')}, {each.get('state')}" for each in _objects(jobs)
    ]


def _objects(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
