"""`make bench-samples`: how samples are collected, stored and read, beside Prometheus and
VictoriaMetrics, in one run on one machine.

The same invented volumes (`tests.fleet.workload`) are everywhere: in Tiercel all of them with a day
of every figure, in the others as many as the size says. Some volumes have 30 days before that and,
of the rest of a year, one interval an hour. Tiercel is asked over HTTP for what its page of a
volume draws, gunicorn as the Procfile runs it; the others are asked for eight figures by one
request each on a connection that is kept, as Grafana does. What promtool and the imports do is not
how these servers are fed when they run; it is what can be measured with a day of data.

All is on loopback and stopped at the end. SIZE is full, medium (half an hour) or small (two
minutes, prints only). The last line is `BENCH {json}`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Final

from tests.bench.report import write_page
from tests.faults.cluster import cluster

SIZES: Final = {
    "small": (10, 200, 24, 3, 30, 100, 5, 20.0),
    "medium": (40, 1000, 100, 8, 60, 500, 10, 600.0),
    "full": (100, 5000, 300, 20, 100, 500, 10, 600.0),
}
"""As `tests.bench.comparison.Size`."""


def main() -> int:
    name = os.environ.get("SIZE") or "full"
    with cluster() as (folder, postgres):
        from django.conf import settings
        from django.db import connection

        from tests.bench.comparison import Size, collected, stored
        from tests.integration.running import REDIS, Running

        settings.DEBUG = False
        size = Size(*SIZES[name])
        panel = Running(os.environ, folder)
        panel.environment |= {"TIERCEL_LOG_LEVEL": "ERROR", "TIERCEL_DEBUG": "0"}
        server = int((postgres.data / "postmaster.pid").read_text().split()[0])
        result: dict[str, Any] = {
            "size": name,
            "volumes": size.volumes,
            "cpus": os.cpu_count(),
            "load_before": round(os.getloadavg()[0], 1),
        }
        try:
            panel.start(REDIS)
            result |= stored(size, panel, folder)
            result |= collected(size, panel, server, folder)
        finally:
            connection.close()
            panel.stop_all()
    result["load_after"] = round(os.getloadavg()[0], 1)
    write_page(result, is_kept=name != "small")
    print(f"BENCH {json.dumps(result)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
