"""What `op.get` says of an operation, checked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from jobs.transport.replies import AgentError, BadLine, clean, decode_error

STATES = ("running", "done", "failed", "interrupted")
COMMANDS_LIMIT = 64
PACE = ("rate_bytes_s", "left_s", "stalled_s")
"""How long work gets on; each is left out where the agent cannot tell."""
OTHERS = ("p95_us", "alone_p95_us", "allowed_percent", "share_percent")
"""What the other volumes on the same disks feel of it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`lines` are (counter, text) of the operation's own counter; `progress` {} when none."""

    state: Literal["running", "done", "failed", "interrupted"]
    commands: list[dict[str, Any]]
    lines: tuple[tuple[int, str], ...]
    progress: dict[str, Any]
    error: AgentError | None

    @property
    def is_over(self) -> bool:
        return self.state != "running"


def decode_outcome(data: dict[str, Any]) -> Outcome:
    """The data of an `op.get` reply; raises `BadLine`."""
    state = data.get("state")
    if state not in STATES:
        raise BadLine(f"{state!r:.40} is no state of an operation")
    error = data.get("error")
    return Outcome(
        state=cast("Any", state),
        commands=decode_commands(data.get("commands")),
        lines=_lines(data.get("lines")),
        progress=_progress(data.get("progress")),
        error=None if error is None else decode_error(error),
    )


def decode_commands(commands: object) -> list[dict[str, Any]]:
    """Commands `{argv, shell, rc?, started_ns?}` of an operation or a preview; raises `BadLine`."""
    if not isinstance(commands, list) or len(commands) > COMMANDS_LIMIT:
        raise BadLine("commands is not a list, or too long")
    return [_command(command) for command in commands]


def has_begun(commands: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the host began one of an operation's commands. One without a word about that counts
    as begun."""
    return any(_began(command) for command in commands)


def has_changed(commands: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of the commands ended well, or began and nobody knows how it ended."""
    return any(
        command.get("rc") == 0 or (command.get("rc") is None and _began(command))
        for command in commands
    )


def _began(command: Mapping[str, Any]) -> bool:
    return command.get("rc") is not None or command.get("started_ns", 0) is not None


def _command(command: object) -> dict[str, Any]:
    if not isinstance(command, dict) or not isinstance(command.get("shell"), str):
        raise BadLine("a command has no shell line")
    argv, rc = command.get("argv"), command.get("rc")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise BadLine("a command's argv is not a list of texts")
    if rc is not None and not isinstance(rc, int):
        raise BadLine("a command's rc is not a number")
    found = {"argv": [clean(word) for word in argv], "shell": clean(command["shell"]), "rc": rc}
    if "started_ns" in command:
        started_ns = command["started_ns"]
        if started_ns is not None and not (type(started_ns) is int and 0 <= started_ns < 2**63):
            raise BadLine("a command's start is no time")
        found["started_ns"] = started_ns
    return found


def _lines(lines: object) -> tuple[tuple[int, str], ...]:
    if not isinstance(lines, list):
        raise BadLine("lines is not a list")
    checked = []
    for line in lines:
        if not isinstance(line, dict) or not isinstance(line.get("text"), str):
            raise BadLine("a line has no text")
        n = line.get("n")
        if not isinstance(n, int) or not 0 < n < 2**31:
            raise BadLine("a line has no number")
        checked.append((n, clean(line["text"])))
    return tuple(checked)


def _progress(progress: object) -> dict[str, Any]:
    if progress is None:
        return {}
    if not isinstance(progress, dict) or not isinstance(progress.get("label"), str):
        raise BadLine("progress has no label")
    done, total = progress.get("done_bytes"), progress.get("total_bytes")
    for value in (done, total):
        if value is not None and not (isinstance(value, int) and 0 <= value < 2**63):
            raise BadLine("progress is not in bytes")
    found = {"label": clean(progress["label"]), "done_bytes": done, "total_bytes": total}
    for name in PACE:
        value = progress.get(name)
        if value is None:
            continue
        if type(value) is not int or not 0 <= value < 2**63:
            raise BadLine(f"progress has a {name} that is no amount")
        found[name] = value
    if (others := progress.get("others")) is not None:
        found["others"] = _others(others)
    return found


def _others(others: object) -> dict[str, int]:
    if not isinstance(others, dict):
        raise BadLine("progress has others that are no object")
    found = {}
    for name in OTHERS:
        value = others.get(name)
        if type(value) is not int or not 0 <= value < 2**63:
            raise BadLine(f"progress has others whose {name} is no amount")
        found[name] = value
    return found
