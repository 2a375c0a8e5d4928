"""An empty database for every demo, made with the embedded server's own superuser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import psycopg

from panel.embedded import CHECKOUT, Place
from tests.demo.settings import DATABASE

OWNER, APP = "tiercel_owner", "tiercel_app"


def fresh(place: Place, name: str = DATABASE) -> None:
    """Drop what the last run left, and make an empty database that both roles may use."""
    with psycopg.connect(place.database_url("postgres", "postgres"), autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {name} OWNER {OWNER}")


def migrate(environment: Mapping[str, str]) -> None:
    """Tables and static files, as `make up` does it."""
    for command in (["migrate", "--verbosity=0"], ["collectstatic", "--no-input", "-v0"]):
        manage(environment, *command)


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
