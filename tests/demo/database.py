"""An empty database for every demo, made with the embedded server's own superuser."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping

import psycopg

from panel.operations.local_services import CHECKOUT, Place
from tests.demo.settings import DATABASE

GATHERED = CHECKOUT / "var" / "static" / ".gathered"
OTHERS = ("node_modules/.package-lock.json", "panel/settings.py", "panel/apps.py")
OWNER, APP = "tiercel_owner", "tiercel_app"


def fresh(place: Place, name: str = DATABASE) -> None:
    """Drop what the last run left, and make an empty database that both roles may use."""
    with psycopg.connect(place.database_url("postgres", "postgres"), autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {name} OWNER {OWNER}")


def migrate(environment: Mapping[str, str]) -> None:
    """Tables and static files, as `make up` does it; files that are gathered already are left."""
    manage(environment, "migrate", "--verbosity=0", "--skip-checks")
    now = _sources()
    if not GATHERED.is_file() or GATHERED.read_text() != now:
        manage(environment, "collectstatic", "--no-input", "-v0")
        GATHERED.write_text(now)


def _sources() -> str:
    """A digest of what is gathered: our files, the installed packages, the settings."""
    found = hashlib.sha256()
    ours = sorted(path for path in (CHECKOUT / "static").rglob("*") if path.is_file())
    for path in (*ours, *(CHECKOUT / name for name in OTHERS)):
        about = path.stat()
        found.update(f"{path} {about.st_mtime_ns} {about.st_size}\n".encode())
    return found.hexdigest()


def manage(environment: Mapping[str, str], *command: str) -> str:
    """Run manage.py in a process of its own; returns its output, raises with it on failure."""
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=CHECKOUT,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"manage.py {command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
