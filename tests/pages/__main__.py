"""`python -m tests.pages`: what `make pages` runs, a panel on an invented fleet to look at.

An empty database each time, filled by `tests.fleet`, a development server that reloads the code
beside the terminal (PORT, 8300 by default), and a round of samples every minute, so that the
figures stay fresh. No worker runs: what a page asks for is recorded, and nothing happens.
HOSTS and VOLUMES size the fleet.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from panel import secrets

SAMPLE_SECONDS = 60
DATABASE = "tiercel_pages"


def main() -> int:
    port = os.environ.get("PORT") or "8300"
    prepare(port)
    import django

    django.setup()
    from django.db import connection
    from django.utils import timezone

    from tests import fleet

    hosts, volumes = int(os.environ.get("HOSTS") or 6), int(os.environ.get("VOLUMES") or 60)
    made = fleet.build(hosts, volumes, hours=24 if volumes <= 200 else 2)
    print(f"A panel with {hosts} hosts and {volumes} volumes: http://localhost:{port}")
    for user in (made.admin, made.owner):
        print(f"  {user.email}   password: {fleet.PASSWORD}", flush=True)
    server = subprocess.Popen([sys.executable, "manage.py", "runserver", f"127.0.0.1:{port}"])
    try:
        while server.poll() is None:
            time.sleep(SAMPLE_SECONDS)
            fleet.live_on(made, timezone.now(), SAMPLE_SECONDS)
    except KeyboardInterrupt:
        print("Stopping.")
    finally:
        server.terminate()
        server.wait()
        connection.close()
    return server.returncode


def prepare(port: str) -> None:
    """An empty database with tables, and an environment that names it."""
    from panel.embedded import here
    from tests.demo import database

    place = here()
    os.environ.update(
        secrets.make(),
        DJANGO_SETTINGS_MODULE="tests.pages.settings",
        TIERCEL_DEBUG="1",
        TIERCEL_DB_ROLE="app",
        TIERCEL_PUBLIC_URL=f"http://localhost:{port}",
        TIERCEL_CUSTOMERS_MAY_ORDER="1",
        TIERCEL_NOTICE="",
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
