"""Readers that hang in the kernel, recorded on disk so that no process of the agent ever starts a
second one. They are identified by boot, pid and start time, because pids are reused."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..calls.refusals import Refusal
from .local_host import Reader

PROC = Path("/proc")


def refusal(reader: Reader) -> Refusal:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(reader.since_ns / 1e9))
    return Refusal(
        "stuck",
        f"`{reader.command}` (pid {reader.pid}) hangs on this host since {since} UTC: a disk or a "
        "suspended device does not answer. Nothing else is started meanwhile.",
        "Look at `dmesg` and `ps -eo pid,stat,wchan,args | grep ' D'` on the host. When the disk "
        "answers again, work continues automatically; otherwise restart the host.",
    )


class HungReaderFiles:
    """The file `stuck.json` in a folder that is emptied by a restart."""

    def __init__(self, folder: Path, proc: Path = PROC) -> None:
        self._file = folder / "stuck.json"
        self._proc = proc

    def remember(self, argv: Sequence[str], pid: int) -> Reader:
        """Raises OSError."""
        reader = Reader(" ".join(argv[:2]), pid, time.time_ns())
        which = {"start": self._start(pid), "boot_id": self._boot_id()}
        document = {**asdict(reader), **which}
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self._file.with_name(f".stuck-{os.getpid()}-{pid}")
        temporary.write_text(json.dumps(document))
        temporary.replace(self._file)
        return reader

    def find(self) -> Reader | None:
        """The reader, as long as it is alive."""
        try:
            document: Any = json.loads(self._file.read_text())
            reader = Reader(document["command"], document["pid"], document["since_ns"])
            known = document["boot_id"], document["start"]
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError):
            self._file.unlink(missing_ok=True)
            return None
        if known[1] and known == (self._boot_id(), self._start(reader.pid)):
            return reader
        self._file.unlink(missing_ok=True)
        return None

    def _start(self, pid: int) -> str:
        """When the process started, in the kernel's ticks; "" when it is gone or only waits to be
        collected by its parent."""
        try:
            text = (self._proc / str(pid) / "stat").read_text()
        except OSError:
            return ""
        # The name in parentheses may hold anything.
        words = text.rpartition(")")[2].split()
        return "" if words[0] in ("Z", "X") else words[19]

    def _boot_id(self) -> str:
        return (self._proc / "sys/kernel/random/boot_id").read_text().strip()
