"""Classifies a failed command by its error messages."""

from __future__ import annotations

from ..calls.refusals import Refusal
from .command import Command

LOCKED = ("Resource temporarily unavailable", "Can't get lock")
NO_SPACE = ("nsufficient free space", "nsufficient suitable")


def of_command(command: Command, rc: int, stderr: str) -> Refusal:
    """The refusal for a command that ended with exit code `rc`."""
    code = "cmd_failed"
    correction = "Read the command's output, fix the cause on the host, then plan again."
    if any(sign in stderr for sign in LOCKED):
        code, correction = "busy", "Another LVM command holds the VG. Try again when it has ended."
    elif any(sign in stderr for sign in NO_SPACE):
        code, correction = "no_space", "Request less space, or add a device to the VG."
    stderr_lines = stderr.strip().splitlines()
    last = f": {stderr_lines[-1].strip()}" if stderr_lines else "."
    return Refusal(
        code,
        f"{command.argv[0]} failed with exit code {rc}{last}",
        correction,
        argv=command.argv,
        rc=rc,
        stderr=stderr,
    )
