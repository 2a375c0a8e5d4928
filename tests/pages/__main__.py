"""`python -m tests.pages`: what `make pages` runs, a panel on an invented fleet to look at.

An empty database each time, filled by `tests.fleet`, a development server that reloads the code
beside the terminal (PORT, 8300 by default), and a round of samples every minute, so that the
figures stay fresh. No worker runs: what a page asks for is recorded, and nothing happens.
HOSTS and VOLUMES size the fleet. With SCREENSHOTS=1 it takes its part of README's pictures and
ends.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from datetime import timedelta

from panel.management.commands import secrets
from panel.operations import supervisor
from storage import row_security

SAMPLE_SECONDS = 60
JUDGED = timedelta(minutes=5)
"""So long the fleet is judged at first: what is wrong for a moment is no alert."""
DATABASE = "tiercel_pages"


def main() -> int:
    port = os.environ.get("PORT") or "8300"
    if not supervisor.is_free(int(port)):
        print(f"Something listens on port {port}: stop it, or choose PORT=8301.")
        return 1
    prepare(port)
    import django

    django.setup()
    row_security.open_process()
    from django.db import connection
    from django.utils import timezone

    from tests import fleet
    from tests.fleet import heat

    hosts, volumes = int(os.environ.get("HOSTS") or 6), int(os.environ.get("VOLUMES") or 60)
    few = volumes <= 200
    built = timezone.now() - JUDGED
    made = fleet.build(hosts, volumes, hours=24 if few else 2, days=13 if few else 0, now=built)
    heat.warm(made.hosts, built)
    print(f"A panel with {hosts} hosts and {volumes} volumes: http://localhost:{port}")
    for user in (made.admin, made.owner):
        print(f"  {user.email}   password: {fleet.PASSWORD}", flush=True)
    while (built := built + timedelta(seconds=SAMPLE_SECONDS)) <= timezone.now():
        fleet.live_on(made, built, SAMPLE_SECONDS)
    # A shell that starts a script in the background has it, and the server, ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with_pictures = os.environ.get("SCREENSHOTS") == "1"
    command = ["manage.py", "runserver", *["--noreload"] * with_pictures, f"127.0.0.1:{port}"]
    server = subprocess.Popen([sys.executable, *command])
    try:
        if with_pictures:
            from tests.pages import screenshots

            _wait_until_answering(server, int(port))
            screenshots.take(f"http://localhost:{port}", made)
            return 0
        while not _ended(server):
            fleet.live_on(made, timezone.now(), SAMPLE_SECONDS)
    except KeyboardInterrupt:
        print("Stopping.")
    finally:
        # The server is a pair, one of which watches the source: both know SIGINT.
        server.send_signal(signal.SIGINT)
        server.wait()
        connection.close()
    return 0


def _wait_until_answering(server: subprocess.Popen[bytes], port: int) -> None:
    while server.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.5)
    raise RuntimeError("the server has ended")


def _ended(server: subprocess.Popen[bytes]) -> bool:
    """Wait for the next round, or for the end of the server."""
    try:
        server.wait(SAMPLE_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def prepare(port: str) -> None:
    """An empty database with tables, and an environment that names it."""
    from panel.operations.local_services import here
    from tests.demo import database

    place = here()
    os.environ.update(
        secrets.make_secrets(),
        DJANGO_SETTINGS_MODULE="tests.pages.settings",
        TIERCEL_DEBUG="1",
        TIERCEL_DB_ROLE="app",
        TIERCEL_PUBLIC_URL=f"http://localhost:{port}",
        TIERCEL_CUSTOMERS_MAY_ORDER="1",
        TIERCEL_NOTICE="",
        TIERCEL_SUPPORT_EMAIL="support@example.com",
        TIERCEL_TRIAL_DAYS="7",
        TIERCEL_INVOICES_URL="https://billing.example.com/invoices",
        DATABASE_URL=place.database_url("tiercel_app", DATABASE),
        DATABASE_OWNER_URL=place.database_url("tiercel_owner", DATABASE),
        REDIS_URL=place.redis_url.replace("db=0", "db=15"),
    )
    database.fresh(place, DATABASE)
    database.manage(
        os.environ | {"TIERCEL_DB_ROLE": "owner"}, "migrate", "--verbosity=0", "--skip-checks"
    )


if __name__ == "__main__":
    sys.exit(main())
