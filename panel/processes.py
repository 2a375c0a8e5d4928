"""The Procfile's processes on this machine, started and stopped together."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from panel.embedded import CHECKOUT

STOP_SECONDS = 30.0
POLL_SECONDS = 0.25


class ProcessesError(Exception):
    """The processes did not start; the message says where to look."""


class Processes:
    """honcho with the Procfile. A context manager that stops what it started."""

    def __init__(
        self, environment: Mapping[str, str], port: int, *, output: Path | None = None
    ) -> None:
        """Take the whole environment of the processes; the web process listens on `port`.

        Their lines go to the file `output`, or else to our own standard output.
        """
        programs = str(Path(sys.executable).parent)
        self.port = port
        self.output = output
        self.environment = {
            **environment,
            "PORT": str(port),
            "PATH": f"{programs}{os.pathsep}{environment.get('PATH', os.defpath)}",
        }
        self.honcho: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Processes":
        """Start them."""
        with ExitStack() as stack:
            output = stack.enter_context(self.output.open("wb")) if self.output else None
            # A session of its own: Ctrl-C reaches us alone, and we stop them in order.
            self.honcho = subprocess.Popen(
                [sys.executable, "-m", "honcho", "start", "--procfile", "Procfile"],
                cwd=CHECKOUT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                start_new_session=True,
            )
        return self

    def __exit__(self, *exception: object) -> None:
        """Ask honcho to stop every process, and wait."""
        if self.honcho is None or self.honcho.poll() is not None:
            return
        self.honcho.send_signal(signal.SIGTERM)
        try:
            self.honcho.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.honcho.pid, signal.SIGKILL)
            self.honcho.wait()

    def wait_healthy(self, seconds: float = 60.0) -> None:
        """Return when the web process answers; raise when one ends or time is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._check_alive()
            if answers(f"http://127.0.0.1:{self.port}/health"):
                return
            time.sleep(POLL_SECONDS)
        raise ProcessesError(f"no answer from port {self.port} after {seconds:.0f} s; see above")

    def wait(self) -> None:
        """Block until they end, which they do only when one of them fails."""
        if self.honcho is not None:
            self.honcho.wait()
            self._check_alive()

    def _check_alive(self) -> None:
        if self.honcho is not None and self.honcho.poll() is not None:
            raise ProcessesError(
                f"a process ended and honcho stopped the others ({self.honcho.returncode});"
                " its lines above say why"
            )


def answers(url: str) -> bool:
    """Say whether a GET of a loopback URL gives 200."""
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:  # noqa: S310 - http only
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def is_free(port: int) -> bool:
    """Say whether nothing listens on a loopback port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


if __name__ == "__main__":
    # The health check of the web container: `python -m panel.processes URL`.
    sys.exit(0 if answers(sys.argv[1]) else 1)
