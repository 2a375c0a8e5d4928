"""qemu's monitor: commands to the machine itself.

Source of the protocol: QEMU's docs/interop/qmp-spec.txt. One JSON object a line; events come
between the answers.
"""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from tests.lab.packages import LabUnavailable

Words = tuple[str, Mapping[str, object]]
"""A command and its arguments."""
ANSWER_SECONDS = 60
START_SECONDS = 10


class Monitor:
    """One connection to the socket of a running machine; qemu takes one at a time."""

    def __init__(self, lines: TextIOWrapper) -> None:
        self._lines = lines

    def tell(self, command: str, **arguments: object) -> Any:
        """Execute a command and return its answer. Raises LabUnavailable where qemu refuses."""
        self._lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._lines.flush()
        while "return" not in (answer := self._next()):
            if "error" in answer:
                raise LabUnavailable(f"qemu refuses {command}: {answer['error']['desc']}")
        return answer["return"]

    def wait_for(self, event: str, **data: object) -> dict[str, Any]:
        """Return all data of the next `event` that has these."""
        while True:
            message = self._next()
            if message.get("event") == event and data.items() <= message["data"].items():
                found: dict[str, Any] = message["data"]
                return found

    def _next(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise LabUnavailable("qemu closed its monitor.")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def connect(path: Path) -> Iterator[Monitor]:
    """Open the monitor at `path`, of a qemu that may just have been started."""
    deadline = time.monotonic() + START_SECONDS
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_SECONDS)
        connection.connect(str(path))
        with connection.makefile("rw") as lines:
            lines.readline()
            monitor = Monitor(lines)
            monitor.tell("qmp_capabilities")
            yield monitor
