"""`make bench-metrics`: how long a scrape of `/metrics` takes with 2,000 volumes, beside
prometheus-client writing the same samples.

Method: a PostgreSQL of its own with an invented fleet (`tests.fleet`) and an hour of samples,
analysed. The panel's text is made ROUNDS times in this process; then prometheus-client's own
exposition writes the same samples, from objects that are ready, the same number of times in turn.
The whole request is asked through the WSGI application with a token, with gzip as Prometheus asks
for it (`packed_request`) and without. `cpu_ms` is this process's
alone. The last line is `BENCH {json}`. HOSTS, VOLUMES and ROUNDS change the size.
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

HOSTS, VOLUMES, ROUNDS = 200, 2000, 15


def main() -> int:
    hosts, volumes, rounds = (
        int(os.environ.get(name) or default)
        for name, default in (("HOSTS", HOSTS), ("VOLUMES", VOLUMES), ("ROUNDS", ROUNDS))
    )
    with cluster():
        from django.conf import settings
        from django.db import connection

        settings.DEBUG = False
        try:
            result = measure(hosts, volumes, rounds)
        finally:
            connection.close()
    print(f"BENCH {json.dumps(result)}")
    return 0


def measure(hosts: int, volumes: int, rounds: int) -> dict[str, Any]:
    from django.test import Client
    from prometheus_client.exposition import generate_latest
    from prometheus_client.parser import text_string_to_metric_families
    from prometheus_client.registry import CollectorRegistry

    from panel.accounts import api_tokens
    from panel.api.exposition.metrics_endpoint import exposition
    from storage.models import LatestSample
    from tests import fleet

    made = fleet.build(hosts, volumes, hours=1, crowd=volumes // 5)
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute("UPDATE storage_latestsample SET at = now() + interval '1 hour'")
        owner.execute("ANALYZE")
    _, token = api_tokens.issue(made.admin, name="bench", scopes=["metrics:read"], days=1)
    client, headers = Client(), {"Host": "localhost", "Authorization": f"Bearer {token}"}
    packing = {**headers, "Accept-Encoding": "gzip"}
    text = exposition()
    families = list(text_string_to_metric_families(text))

    class Ready:
        def collect(self) -> Any:
            return families

    registry = CollectorRegistry()
    registry.register(Ready())
    ways: dict[str, Callable[[], Any]] = {
        "packed_request": lambda: client.get("/metrics", headers=packing).content,
        "request": lambda: client.get("/metrics", headers=headers).content,
        "text": exposition,
        "prometheus_client": lambda: generate_latest(registry),
    }
    assert ways["request"]().startswith(b"# HELP")
    packed_bytes = len(ways["packed_request"]())
    clock: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            began, began_cpu = time.perf_counter(), time.process_time()
            way()
            clock[name].append((time.perf_counter() - began) * 1000)
            cpu[name].append((time.process_time() - began_cpu) * 1000)
    samples = sum(len(family.samples) for family in families)
    result: dict[str, Any] = {
        "volumes": volumes,
        "hosts": hosts,
        "with_counters": LatestSample.objects.exclude(counters={}).count(),
        "samples": samples,
        "bytes": len(text),
        "packed_bytes": packed_bytes,
    }
    for name in ways:
        result[name] = {
            "p50_ms": round(statistics.median(clock[name]), 1),
            "worst_ms": round(max(clock[name]), 1),
            "cpu_ms": round(statistics.median(cpu[name]), 1),
        }
    ratio = result["prometheus_client"]["cpu_ms"] / result["text"]["cpu_ms"]
    result["ratio"] = round(ratio, 2)
    print(f"{samples} samples, {len(text) / 1e6:.1f} MB")
    for name in ways:
        print(f"{name:20} {result[name]}")
    return result


if __name__ == "__main__":
    sys.exit(main())
