"""The Procfile's processes for the tests: own database, own Redis, logs kept for failures."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import redis

from panel.operations import supervisor
from panel.operations.local_services import CHECKOUT
from panel.operations.local_services.redis import program
from tests.integration.until import until
from tests.lab.vm import free_port

STOP_SECONDS = 20.0
SAMPLE_SECONDS = 10
PROOF_SECONDS = 60
REDIS = "redis"


class Running:
    """A panel at work. A context manager; everything it starts it stops, by its own pid."""

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: Path,
        *,
        settings_module: str = "panel.settings",
    ) -> None:
        """`environment` names a database with its tables, and its owner; logs go to `folder`."""
        self.folder = folder
        self.port = free_port()
        # A socket's path must be short, whatever the checkout's is.
        self._sockets = Path(tempfile.mkdtemp(prefix="tiercel-test-"))
        self.environment = {
            **environment,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}",
            "PORT": str(self.port),
            "REDIS_URL": f"unix://{self._sockets}/redis.sock?db=0",
            "TIERCEL_PUBLIC_URL": self.url,
            "TIERCEL_ALLOWED_HOSTS": "localhost,127.0.0.1,10.0.2.2",
            "TIERCEL_SAMPLE_SECONDS": str(SAMPLE_SECONDS),
            "TIERCEL_CUSTOMERS_MAY_ORDER": "1",
            "TIERCEL_MANDATE_REQUIRED": "1",
            "TIERCEL_PROOF_SECONDS": str(PROOF_SECONDS),
            "TIERCEL_PROOF_WARM_SECONDS": str(2 * PROOF_SECONDS),
            "TIERCEL_STAFF_NEED_SECOND_FACTOR": "0",
            "DJANGO_SETTINGS_MODULE": settings_module,
            "WEB_CONCURRENCY": "1",
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def __enter__(self) -> Self:
        try:
            self.start(REDIS)
            for name in procfile():
                self.start(name)
            until("the web answers", lambda: supervisor.answers(f"{self.url}/health"), 60)
        except BaseException:
            self.stop_all()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop_all()

    def start(self, name: str, *, prefix: Sequence[str] = (), **settings: str) -> int:
        """Start a process of the Procfile, or Redis; returns its pid. `prefix` is a command that
        runs it elsewhere, `settings` are more of its environment; one like it under another name is
        `name:another`."""
        if name == REDIS:
            command = (
                f"{program()} --port 0 --unixsocket {self._sockets}/redis.sock --save '' "
                f"--appendonly no --dir {self._sockets}"
            )
        else:
            command = procfile()[name.partition(":")[0]]
        with self.log(name).open("ab") as log:
            self._processes[name] = subprocess.Popen(
                # It ends with the tests, also when they are killed.
                ["setpriv", "--pdeathsig", "TERM", *prefix, "sh", "-c", f"exec {command}"],
                cwd=CHECKOUT,
                env={**self.environment, **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if name == REDIS:
            until("Redis answers", self._redis_answers, 20)
        return self._processes[name].pid

    def kill(self, name: str) -> None:
        """SIGKILL, as by the kernel when memory is short: nothing is tidied up."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def stop(self, name: str) -> None:
        """Ask one to end; what does not is killed with all of its session."""
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def stop_all(self) -> None:
        # All at once, Redis last: the others still talk to it while they end.
        for name, process in self._processes.items():
            if name != REDIS:
                process.terminate()
        for name in sorted(self._processes, key=lambda each: each == REDIS):
            self.stop(name)
        shutil.rmtree(self._sockets, ignore_errors=True)

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def running(self) -> list[str]:
        """Processes that were started and not stopped or killed since."""
        return list(self._processes)

    def dead(self) -> list[str]:
        """Processes that ended without being stopped."""
        return [name for name, each in self._processes.items() if each.poll() is not None]

    def manage(self, *command: str) -> str:
        """Run manage.py in a process of its own; returns its output."""
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=CHECKOUT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _redis_answers(self) -> bool:
        try:
            return bool(redis.Redis.from_url(self.environment["REDIS_URL"]).ping())
        except redis.RedisError:
            return False


def procfile() -> dict[str, str]:
    """Name -> command of the Procfile."""
    lines = (CHECKOUT / "Procfile").read_text().splitlines()
    return {name: command.strip() for name, _, command in (line.partition(":") for line in lines)}
