"""Settings of the demo's processes: its own database, faster samples, the port."""

from __future__ import annotations

import os

from panel.operations import local_services
from tests.lab.vm import Lab

DATABASE = "tiercel_demo"
REDIS_DB = 1
SAMPLE_SECONDS = 10
SEEDED = "(seeded for the demo)"
SIMULATED = "Simulated storage host: no real disks behind it."
INVENTED = f"Volumes named “{SEEDED}” show invented history, not measured figures."
"""What every page says of figures that were not measured on real disks."""


def environment(port: int) -> dict[str, str]:
    """The environment of every process of the demo. Its database is a separate one, so that the
    data of `make up` in the same checkout stays as it is."""
    place = local_services.here()
    redis_url = place.redis_url.replace("db=0", f"db={REDIS_DB}")
    hosts = ["localhost", "127.0.0.1", Lab.panel_address]
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "panel.settings",
        "DATABASE_URL": place.database_url("tiercel_app", DATABASE),
        "DATABASE_OWNER_URL": place.database_url("tiercel_owner", DATABASE),
        "REDIS_URL": redis_url,
        "PORT": str(port),
        "TIERCEL_PUBLIC_URL": f"http://localhost:{port}",
        "TIERCEL_ALLOWED_HOSTS": ",".join(hosts),
        "TIERCEL_SAMPLE_SECONDS": str(SAMPLE_SECONDS),
        "TIERCEL_CUSTOMERS_MAY_ORDER": "1",
        "TIERCEL_TRIAL_DAYS": "7",
        "TIERCEL_SUPPORT_EMAIL": "support@example.com",
        "TIERCEL_PROOF_SECONDS": "60",
        "TIERCEL_PROOF_WARM_SECONDS": "120",
        "TIERCEL_STAFF_NEED_SECOND_FACTOR": "0",
    }
