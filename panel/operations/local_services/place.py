"""Where one checkout keeps its services: data below `var/`, sockets in a short private folder."""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

PORT = 8000
# A Unix socket's path holds at most 107 bytes, so it cannot lie below any checkout's path.
SOCKET_BASE = Path("/tmp")  # noqa: S108 - the folder made in it is private and checked


class ServiceError(Exception):
    """A service did not start, answer or stop; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """Paths and URLs that follow from the checkout's folder and the user alone."""

    checkout: Path

    @property
    def var(self) -> Path:
        """All runtime data of this checkout."""
        return self.checkout / "var"

    @property
    def log(self) -> Path:
        """The services' logs."""
        return self.var / "log"

    @property
    def sockets(self) -> Path:
        """The private folder of this checkout and user; two checkouts never share one."""
        key = f"{os.getuid()}:{self.checkout.resolve()}"
        return SOCKET_BASE / f"tiercel-{hashlib.sha256(key.encode()).hexdigest()[:12]}"

    @property
    def redis_url(self) -> str:
        """The embedded Redis, over its Unix socket."""
        return f"unix://{self.sockets}/redis.sock?db=0"

    def database_url(self, role: str, name: str = "tiercel") -> str:
        """Return the embedded PostgreSQL's URL for a role."""
        return f"postgresql://{role}@/{name}?host={quote(str(self.sockets), safe='')}"

    def remember_port(self, port: int) -> None:
        """Store the port of this checkout's panel, so that links which later commands print lead
        to it."""
        self.var.mkdir(parents=True, exist_ok=True)
        (self.var / "port").write_text(f"{port}\n")

    def last_port(self) -> int:
        """Where the panel of this checkout listens, or did last."""
        try:
            text = (self.var / "port").read_text().strip()
        except OSError:
            return PORT
        return int(text) if text.isdecimal() and 0 < int(text) < 65536 else PORT

    def make(self) -> None:
        """Make the folders; refuse a socket folder that another user could have made."""
        for folder in (self.var, self.log):
            folder.mkdir(parents=True, exist_ok=True)
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        status = self.sockets.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise ServiceError(
                f"{self.sockets} is not a folder of this user; remove it and start again"
            )
        if stat.S_IMODE(status.st_mode) != 0o700:
            raise ServiceError(f"{self.sockets} is open to others; remove it and start again")


def tail(path: Path, lines: int = 15) -> str:
    """Return the last lines of a log, for an error message."""
    if not path.exists():
        return f"{path} was not written"
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
