"""One transient systemd unit per operation: it outlives the SSH channel that asked for it."""

from __future__ import annotations

from .host import MissingTool, TimedOut
from .policy import AGENT
from .tools import Runner


def name(op: str) -> str:
    return f"tiercel-op-{op}"


def start_argv(op: str, agent: str = AGENT) -> list[str]:
    """SIGINT lets an LVM command end its step and restore what it changed for a while; a SIGKILL
    could leave a device suspended and a guest frozen with it."""
    return [
        "systemd-run",
        f"--unit={name(op)}",
        "--collect",
        "--no-block",
        "--quiet",
        "-p",
        "Type=exec",
        "-p",
        "KillSignal=SIGINT",
        "-p",
        "SendSIGKILL=no",
        "-p",
        "StandardInput=null",
        "-p",
        "StandardOutput=journal",
        "-p",
        "TimeoutStopSec=infinity",
        agent,
        "run-op",
        op,
    ]


def start(op: str, runner: Runner) -> None:
    """Raises OSError with systemd's words."""
    try:
        result = runner.run(start_argv(op), timeout=30.0)
    except MissingTool:
        raise OSError("systemd-run is not installed") from None
    except TimedOut:
        raise OSError("systemd-run did not answer within 30 seconds") from None
    if result.rc != 0:
        raise OSError(result.stderr.strip() or f"systemd-run failed with exit code {result.rc}")


def alive(op: str, runner: Runner) -> bool:
    """Whether the unit is there and has not ended. Unknown counts as alive: only a certain answer
    may turn an operation into an interrupted one."""
    try:
        result = runner.run(["systemctl", "show", "-P", "ActiveState", name(op)], timeout=10.0)
    except (MissingTool, TimedOut):
        return True
    return result.stdout.strip() not in ("inactive", "failed")
