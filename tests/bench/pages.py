"""`make bench-pages`: how long the panel's own time for its pages is with 200 hosts and 2,000
volumes, of which 400 lie on one host.

Method: a PostgreSQL of its own with an invented fleet (`tests.fleet`) and an hour of samples,
analysed; the panel's WSGI application called in this process, with an admin's session, one request
after the other, so that neither a web server nor a browser is measured. Each page is asked some
times first (the second request finds code, templates and connection warm), then ROUNDS times in
turn with the others. `cpu_ms` is what this process alone computed (median): unlike the time on the
clock it hardly suffers from what else runs on the machine, but it leaves PostgreSQL out. The
queries of a page are counted apart. The last line is `BENCH {json}`. HOSTS, VOLUMES and ROUNDS
change the size.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import psycopg

from tests.faults.cluster import cluster

HOSTS, VOLUMES, CROWD, ROUNDS = 200, 2000, 400, 30
WARM_ROUNDS = 3
Ask = Callable[[str], int]


def main() -> int:
    hosts, volumes, rounds = (
        int(os.environ.get(name) or default)
        for name, default in (("HOSTS", HOSTS), ("VOLUMES", VOLUMES), ("ROUNDS", ROUNDS))
    )
    with cluster():
        from django.conf import settings
        from django.db import connection

        # As in production: no list of queries is kept, no template is looked at twice.
        settings.DEBUG = False
        try:
            result = measure(hosts, volumes, rounds)
        finally:
            connection.close()
    print(f"BENCH {json.dumps(result)}")
    return 0


def measure(hosts: int, volumes: int, rounds: int) -> dict[str, Any]:
    from tests import fleet

    began = time.monotonic()
    made = fleet.build(hosts, volumes, hours=1, crowd=min(CROWD, volumes // 5))
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute("ANALYZE")
    print(f"{hosts} hosts, {volumes} volumes: made in {time.monotonic() - began:.0f} s")
    by_host = {source.host_id: source.volume_id for source in made.sources}
    crowded, usual = made.hosts[0], made.hosts[-1]
    volume = next(each for each in made.volumes if each.pk == by_host[usual.pk])
    paths = {
        "overview": "/",
        "overview, renewed": "/overview",
        "overview's tables": "/overview?part=tables",
        "hosts": "/hosts/",
        "plans": "/plans/",
        "volumes": "/volumes/",
        "volumes, by hit rate": "/volumes/?sort=hits",
        "volumes, searched": "/volumes/?q=web1&state=slow",
        "host": f"/hosts/{usual.key}/",
        "host of 400 volumes": f"/hosts/{crowded.key}/",
        "volume": f"/volumes/{volume.key}/",
        "volume on that host": f"/volumes/{made.volumes[3].key}/",
        "jobs": "/jobs/",
    }
    ask = asker(made.admin)
    queries = {name: _queries(ask, path) for name, path in paths.items()}
    times: dict[str, list[float]] = {name: [] for name in paths}
    computed: dict[str, list[float]] = {name: [] for name in paths}
    for n in range(WARM_ROUNDS + rounds):
        for name, path in paths.items():
            start, cpu = time.perf_counter(), time.process_time()
            ask(path)
            if n >= WARM_ROUNDS:
                times[name].append((time.perf_counter() - start) * 1000)
                computed[name].append((time.process_time() - cpu) * 1000)
    pages = {
        name: {
            "p50_ms": round(statistics.median(spent), 1),
            "p95_ms": round(statistics.quantiles(spent, n=20, method="inclusive")[18], 1),
            "cpu_ms": round(statistics.median(computed[name]), 1),
            "queries": queries[name],
        }
        for name, spent in times.items()
    }
    for name, figures in pages.items():
        print(
            f"  {name:22}  p50 {figures['p50_ms']:7.1f} ms   p95 {figures['p95_ms']:7.1f} ms"
            f"   cpu {figures['cpu_ms']:6.1f} ms   {figures['queries']:3} queries"
        )
    print(f"load of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return {"hosts": hosts, "volumes": volumes, "rounds": rounds, "pages": pages}


def asker(person: Any) -> Ask:
    """A function that asks the WSGI application for a path as that person and returns the length
    of the page; raises RuntimeError for another answer than 200."""
    from allauth.mfa.models import Authenticator
    from django.test import Client, RequestFactory

    from panel.wsgi import application

    # As the panel asks of staff.
    Authenticator.objects.create(user=person, type=Authenticator.Type.TOTP, data={})
    client = Client()
    client.force_login(person)
    requests = RequestFactory()
    requests.cookies = client.cookies

    def ask(path: str) -> int:
        said: list[str] = []
        environ = requests.get(path, headers={"host": "localhost"}).environ
        answer = application(environ, lambda status, headers, info=None: said.append(status))
        size = sum(map(len, answer))
        answer.close()
        if not said[0].startswith("200"):
            raise RuntimeError(f"{path}: {said[0]}")
        return size

    return ask


def _queries(ask: Ask, path: str) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    ask(path)
    with CaptureQueriesContext(connection) as found:
        ask(path)
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
