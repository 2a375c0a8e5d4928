"""Root's shell in the lab, over one shared SSH connection."""

import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.keys import Keys
from tests.lab.packages import program

CLOSE_SECONDS = 5
OPEN_SECONDS = 120
COMMAND_SECONDS = 300
"""What takes a second takes minutes where others have the processors."""


class LabCommandFailed(AssertionError):
    """A command in the lab ended with a non-zero status."""


@dataclass(slots=True)
class Shell:
    """Runs commands as root. `open()` keeps one connection, so that a command costs 0.1 s, not 1 s.

    Without `open()`, as in another process, each command makes its own connection.
    """

    port: int
    keys: Keys
    control: Path
    _master: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def argv(self, *options: str) -> list[str]:
        """Return the ssh command line up to and including the host."""
        return [
            program("ssh"),
            "-F", "none",
            "-p", str(self.port),
            "-i", str(self.keys.client),
            "-o", "IdentitiesOnly=yes",
            "-o", f"UserKnownHostsFile={self.keys.known_hosts}",
            "-o", "StrictHostKeyChecking=yes",
            "-o", "BatchMode=yes",
            "-o", "ConnectTimeout=100",
            "-o", "LogLevel=ERROR",
            "-o", f"ControlPath={self.control}",
            *options,
            "root@127.0.0.1",
        ]  # fmt: skip

    def open(self, timeout_seconds: float = OPEN_SECONDS) -> None:
        """Start the shared connection and wait until it takes commands."""
        # Our own child and no ControlPersist: a connection that puts itself in the background
        # keeps the caller's stderr, and capture_output would then wait for it for ever.
        self._master = subprocess.Popen(
            [program("setpriv"), "--pdeathsig", "TERM", *self.argv("-M", "-N")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        deadline = time.monotonic() + timeout_seconds
        while not self.control.exists():
            if self._master.poll() is not None or time.monotonic() > deadline:
                self._master.kill()
                _, stderr = self._master.communicate()
                self._master = None
                raise LabCommandFailed(f"ssh to the lab failed: {stderr.decode().strip()}")
            time.sleep(0.05)

    def close(self) -> None:
        """Stop the shared connection."""
        if self._master is not None:
            self._master.terminate()
            try:
                self._master.wait(CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                # It waits for the far end now and then, which is not needed.
                self._master.kill()
                self._master.wait()
            if self._master.stderr is not None:
                self._master.stderr.close()
            self._master = None

    def run(
        self,
        command: str | Sequence[str],
        *,
        stdin: bytes | str = b"",
        timeout_seconds: float = COMMAND_SECONDS,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run an argv or a shell script as root and return its outcome as text.

        Raises LabCommandFailed on a non-zero status unless `check` is False, and
        subprocess.TimeoutExpired.
        """
        script = command if isinstance(command, str) else shlex.join(command)
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*self.argv(), script], input=given, capture_output=True, timeout=timeout_seconds
        )
        outcome = subprocess.CompletedProcess(
            script,
            done.returncode,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )
        if check and outcome.returncode != 0:
            raise LabCommandFailed(
                f"in the lab, status {outcome.returncode}:\n{script}\n"
                f"{outcome.stdout}{outcome.stderr}"
            )
        return outcome

    def write(self, path: str, content: bytes | str, mode: int = 0o644) -> None:
        """Put a file into the lab."""
        quoted = shlex.quote(path)
        self.run(f"cat > {quoted} && chmod {mode:o} {quoted}", stdin=content)
