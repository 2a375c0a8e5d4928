"""A PostgreSQL of one's own, that may be killed: made in a temporary folder, thrown away after."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panel.management.commands import secrets
from panel.operations.local_services import CHECKOUT, Place
from panel.operations.local_services.postgres import Postgres
from storage import row_security


@contextmanager
def cluster() -> Iterator[tuple[Path, Postgres]]:
    """The folder and the running server, with tables; the environment names it, and Django is set
    up to use it. Only for a program's main thread, before anything imports Django's models."""
    folder = Path(tempfile.mkdtemp(prefix="tiercel-own-"))
    place = Place(folder)
    postgres = Postgres(place)
    os.environ.update(secrets.make_secrets(), TIERCEL_DEBUG="0", TIERCEL_DB_ROLE="app")
    os.environ["DJANGO_SETTINGS_MODULE"] = "panel.settings"
    os.environ["TIERCEL_LOG_LEVEL"] = "CRITICAL"
    os.environ["DATABASE_URL"] = place.database_url("tiercel_app")
    os.environ["DATABASE_OWNER_URL"] = place.database_url("tiercel_owner")
    # A signal that ends the program leaves no server behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    place.make()
    try:
        postgres.start()
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity=0", "--skip-checks"],
            cwd=CHECKOUT,
            check=True,
        )
        import django

        django.setup()
        row_security.open_process()
        yield folder, postgres
    finally:
        if postgres.is_running():
            postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(place.sockets, ignore_errors=True)
