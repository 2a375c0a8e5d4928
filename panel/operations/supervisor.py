"""Runs the Procfile's processes on this machine: starts and stops them together, and restarts a
process, or an embedded service, that ends early."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from panel.operations import local_services

PROCFILE: Final = local_services.CHECKOUT / "Procfile"
STOP_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.25
WATCH_SECONDS: Final = 2.0
MOST_PAUSE_SECONDS: Final = 32.0
"""Between two starts of what ends again and again."""
MARK: Final = "TIERCEL_STARTED_BY"
"""A variable that all we start has, and hands on to what it starts itself."""


class ProcessesError(Exception):
    """The processes did not start; the message says where to look."""


class Process:
    """One line of the Procfile, run by a honcho of its own: honcho stops all it runs when one of
    them ends, and a worker that was killed must not take the pages down with it."""

    def __init__(self, name: str, environment: Mapping[str, str], output: IO[bytes] | None) -> None:
        self.name = name
        self._environment = environment
        self._output = output
        self._pause_seconds = 0.0
        self._due = 0.0
        self.start()

    def start(self) -> None:
        """Start it. A session of its own: Ctrl-C reaches us alone, and we stop it in order."""
        self._began = time.monotonic()
        self.honcho = subprocess.Popen(
            [sys.executable, "-m", "honcho", "start", "--procfile", str(PROCFILE), self.name],
            cwd=local_services.CHECKOUT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT if self._output else None,
            start_new_session=True,
        )

    @property
    def has_ended(self) -> bool:
        return self.honcho.poll() is not None

    def keep(self) -> str:
        """Start it again where it has ended: at once where it had run for a while, else after
        longer and longer pauses. Returns a message about it, or an empty text."""
        if not self.has_ended:
            return ""
        now = time.monotonic()
        if self._due <= self._began:
            longer = min(max(1.0, self._pause_seconds * 2), MOST_PAUSE_SECONDS)
            lasted = now - self._began > MOST_PAUSE_SECONDS
            self._pause_seconds = 0.0 if lasted else longer
            self._due = now + self._pause_seconds
        if now < self._due:
            return ""
        ended = self.honcho.returncode
        self.start()
        return f"{self.name} ended ({ended}) and was started again"

    def stop(self) -> None:
        """Ask it to stop; `wait` for it then."""
        if not self.has_ended:
            self.honcho.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        """Wait until it has stopped; after the time, kill it and all that it started."""
        try:
            self.honcho.wait(seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.honcho.pid, signal.SIGKILL)
            self.honcho.wait()


class Processes:
    """All processes of the Procfile. A context manager that stops what it started."""

    def __init__(
        self, environment: Mapping[str, str], port: int, *, output: Path | None = None
    ) -> None:
        """Take the whole environment of the processes; the web process listens on `port`.

        Their lines go to the file `output`, or else to our own standard output.
        """
        programs = str(Path(sys.executable).parent)
        self.port = port
        self.environment = {
            **environment,
            "PORT": str(port),
            MARK: uuid.uuid4().hex,
            "PATH": f"{programs}{os.pathsep}{environment.get('PATH', os.defpath)}",
        }
        self._output_path = output
        self._output: IO[bytes] | None = None
        self.processes: list[Process] = []

    def __enter__(self) -> "Processes":
        """Start them."""
        if self._output_path:
            # Each process writes at the end of what all of them wrote.
            self._output_path.write_bytes(b"")
            self._output = self._output_path.open("ab", buffering=0)
        for line in PROCFILE.read_text().splitlines():
            name = line.partition(":")[0]
            self.processes.append(Process(name, self.environment, self._output))
        return self

    def __exit__(self, *exception: object) -> None:
        """Ask every process to stop, and wait."""
        for process in self.processes:
            process.stop()
        end = time.monotonic() + STOP_SECONDS
        for process in self.processes:
            process.wait(max(0.0, end - time.monotonic()))
        # A honcho that was stopped during its start, or killed, leaves what it had started.
        while lost := marked(self.environment[MARK]):
            for pid in lost:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM if time.monotonic() < end else signal.SIGKILL)
            time.sleep(POLL_SECONDS)
        if self._output:
            self._output.close()

    def wait_healthy(self, seconds: float = 60.0) -> None:
        """Return when the web process answers; raise when a process ends or time is up."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ended = [process.name for process in self.processes if process.has_ended]
            if ended:
                raise ProcessesError(f"{', '.join(ended)} ended; the lines above say why")
            if answers(f"http://127.0.0.1:{self.port}/health"):
                return
            time.sleep(POLL_SECONDS)
        raise ProcessesError(f"no answer from port {self.port} after {seconds:.0f} s; see above")

    def keep(self, services: Iterable[local_services.Service]) -> None:
        """Never return: start again what ends of the processes and of these services."""
        kept = list(services)
        while True:
            time.sleep(WATCH_SECONDS)
            self.look(kept)

    def look(self, services: Iterable[local_services.Service]) -> None:
        """Once: start again what has ended. A service that does not start is tried next time."""
        try:
            for service in local_services.start_services(services):
                self._print(f"{service.name} had ended and was started again")
        except local_services.ServiceError as error:
            self._print(str(error))
        for process in self.processes:
            self._print(process.keep())

    def _print(self, line: str) -> None:
        if line and self._output:
            self._output.write(f"{line}\n".encode())
        elif line:
            print(line, flush=True)


def marked(mark: str, name: str = MARK) -> list[int]:
    """The processes of our user that were started with this value of a variable, dead ones left
    out."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it ended meanwhile, or belongs to another user
            if f"{name}={mark}".encode() in path.read_bytes().split(b"\0"):
                pids.append(int(path.parent.name))
    return pids


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
    # The health check of the web container: `python -m panel.operations.supervisor URL`.
    sys.exit(0 if answers(sys.argv[1]) else 1)
