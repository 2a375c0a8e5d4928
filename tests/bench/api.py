"""`make bench-api`: what programs wait for with 10,000 volumes on 200 hosts: a page of the list, a
volume, its series, /metrics, and all volumes page by page; beside a bare ModelViewSet of Django
REST framework with pages by offset (`tests.bench.bare_api`) in the same run.

Method: a PostgreSQL and a Redis of its own, an invented fleet (`tests.fleet`) whose volumes came to
their hosts in any order, so that those of a page lie on most of the hosts. Both are served by
gunicorn as the Procfile runs it, one process each, on loopback, and asked on one connection that is
kept, in turn, `BLOCK` times each, so that what else runs on the machine hits all alike. `cpu_ms` is
what the processes of the server computed for a request, `postgres_cpu_ms` what PostgreSQL did.

The panel has a token's rate limit as an operator may set it (TIERCEL_API_TOKEN_RATE): with the
default of 5 requests a second a program that reads all volumes waits for that limit alone. SIZE is
full or small. The last line is `BENCH {json}`.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

import psycopg
from django.utils import timezone

from tests.bench.http_timing import WebServer, percentiles, say, tree_cpu_seconds
from tests.faults.cluster import cluster

BLOCK: Final = 10
LIMIT: Final = 100
MOST: Final = 200
"""Items of a page, at most."""
SAMPLED_HOURS: Final = 1
SCRAPE: Final = "metrics"
"""Asked once where the others are asked a whole block."""
RATES: Final = {"TIERCEL_API_TOKEN_RATE": "10000", "TIERCEL_API_ADDRESS_RATE": "10000"}
ONE_PROCESS: Final = {"WEB_CONCURRENCY": "1", "TIERCEL_LOG_LEVEL": "ERROR", "TIERCEL_DEBUG": "0"}
PAGE_GOAL_MS, ALL_GOAL_SECONDS, DEEP_OF_FIRST_GOAL = 60.0, 5.0, 1.2
FIRST: Final = "page 1"
SHUFFLE: Final = (
    "UPDATE storage_volume SET created_at = now() - interval '1 year'"
    " * (hashtextextended(key, 0) & 65535) / 65536"
)
VOLUMES: Final = "/api/v1/volumes/"
Ways = Mapping[str, Callable[[], object]]
Pages = Iterator[tuple[str, list[str]]]
"""The address of each page, and the keys of its volumes."""


@dataclass(frozen=True, slots=True)
class Size:
    """`blocks` times `BLOCK` requests of each kind; a page `deep` in the list is asked for."""

    hosts: int
    volumes: int
    blocks: int
    deep: int


SIZES: Final = {"small": Size(10, 500, 2, 5), "full": Size(200, 10_000, 10, 100)}


def main() -> int:
    name = os.environ.get("SIZE") or "full"
    with cluster() as (folder, postgres):
        from django.conf import settings
        from django.db import connection

        from tests.integration.running import REDIS, Running

        settings.DEBUG = False
        panel = Running(os.environ, folder)
        panel.environment |= ONE_PROCESS
        server = int((postgres.data / "postmaster.pid").read_text().split()[0])
        load_before = os.getloadavg()[0]
        try:
            panel.start(REDIS)
            result = measure(SIZES[name], panel, server)
        finally:
            connection.close()
            panel.stop_all()
    machine = {
        "cpus": os.cpu_count(),
        "load_before": round(load_before, 1),
        "load_after": round(os.getloadavg()[0], 1),
    }
    report(result)
    print(f"load {machine['load_before']} before, {machine['load_after']} after")
    print(f"BENCH {json.dumps({'size': name, **machine, **result})}")
    return 0


@dataclass(frozen=True, slots=True)
class Fleet:
    """What there is to ask for, and with what."""

    keys: Sequence[str]
    listed: int
    token: str
    scrape_token: str


def invent(size: Size) -> Fleet:
    """The fleet, with an hour of samples of the volumes that are asked for one by one."""
    from panel.accounts import api_tokens
    from storage.models import Volume
    from tests import fleet
    from tests.fleet import load

    began = time.monotonic()
    made = fleet.build(size.hosts, size.volumes, hours=0.1)
    now = timezone.now()
    asked = made.sources[: size.blocks * BLOCK]
    load.store_past(asked, now - timedelta(hours=SAMPLED_HOURS), now - timedelta(minutes=6), 60)
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute(SHUFFLE)
        # As fresh at the end of the run as at its beginning.
        owner.execute("UPDATE storage_latestsample SET at = now() + interval '1 hour'")
        owner.execute("VACUUM (ANALYZE)")
    say(f"{size.volumes} volumes on {size.hosts} hosts made", began)
    key_by_id = {volume.pk: volume.key for volume in made.volumes}
    tokens = [
        api_tokens.issue(made.admin, name="bench", scopes=[scope], days=1)[1]
        for scope in ("read", "metrics:read")
    ]
    return Fleet(
        [key_by_id[each.volume_id] for each in asked], Volume.objects.existing().count(), *tokens
    )


def measure(size: Size, panel: Any, postgres: int) -> dict[str, Any]:
    from storage.models import Volume

    there = invent(size)
    bare_settings = {"DJANGO_SETTINGS_MODULE": "tests.bench.bare_settings"}
    with (
        WebServer(panel, bearer(there.token), **RATES) as web,
        WebServer(panel, {}, name="web:bare", ready="/volumes/?limit=1", **bare_settings) as bare,
    ):
        deep = f"page {size.deep}"
        address, _ = next(itertools.islice(pages(web, LIMIT), size.deep - 1, None))
        keys = itertools.cycle(there.keys)
        ours: Ways = {
            FIRST: lambda: web.ask(f"{VOLUMES}?limit={LIMIT}"),
            deep: lambda: web.ask(address),
            f"{FIRST}, gzip": lambda: web.ask(
                f"{VOLUMES}?limit={LIMIT}", {"Accept-Encoding": "gzip"}
            ),
            "detail": lambda: web.ask(f"{VOLUMES}{next(keys)}"),
            "series": lambda: web.ask(f"{VOLUMES}{next(keys)}/series"),
            SCRAPE: lambda: web.ask("/metrics", bearer(there.scrape_token)),
        }
        theirs: Ways = {
            FIRST: lambda: bare.ask(f"/volumes/?limit={LIMIT}"),
            deep: lambda: bare.ask(f"/volumes/?limit={LIMIT}&offset={LIMIT * (size.deep - 1)}"),
            "detail": lambda: bare.ask(f"/volumes/{next(keys)}/"),
        }
        panel_spent, bare_spent = in_turn(((web, ours), (bare, theirs)), postgres, size.blocks)
        read = {
            f"pages of {LIMIT}": walk(web, postgres, pages(web, LIMIT), there.listed),
            f"pages of {MOST}": walk(web, postgres, pages(web, MOST), there.listed),
            f"bare pages of {LIMIT}": walk(
                bare, postgres, bare_pages(bare), Volume.objects.count()
            ),
        }
    return {
        "hosts": size.hosts,
        "volumes": size.volumes,
        "ours": panel_spent,
        "bare": bare_spent,
        "all": read,
        "goals": goals(panel_spent[FIRST], panel_spent[deep], read[f"pages of {LIMIT}"]),
    }


def pages(web: WebServer, limit: int) -> Pages:
    """From page to page by cursor."""
    address = f"{VOLUMES}?limit={limit}"
    while address:
        page = json.loads(web.ask(address))
        yield address, [each["key"] for each in page["items"]]
        after = page["next_cursor"]
        address = f"{VOLUMES}?limit={limit}&cursor={quote(after)}" if after else ""


def bare_pages(bare: WebServer) -> Pages:
    """From page to page by offset."""
    address = f"/volumes/?limit={LIMIT}"
    while address:
        page = json.loads(bare.ask(address))
        yield address, [each["key"] for each in page["results"]]
        address = (page["next"] or "").removeprefix(f"http://localhost:{bare.port}")


def in_turn(
    servers: Sequence[tuple[WebServer, Ways]], postgres: int, blocks: int
) -> list[dict[str, dict[str, Any]]]:
    """What each server was asked for, a block of each kind after the other."""
    by_server = [{name: Spent() for name in ways} for _, ways in servers]
    for n in range(blocks + 1):
        for (server, ways), spent in zip(servers, by_server, strict=True):
            for name, way in ways.items():
                times = 1 if name == SCRAPE else BLOCK
                block = measured(server, postgres, way, times)
                if n:  # the first one finds everything warm
                    spent[name].add(block)
    return [{name: each.figures() for name, each in spent.items()} for spent in by_server]


@dataclass(slots=True)
class Spent:
    """Of requests of one kind."""

    milliseconds: list[float] = field(default_factory=list)
    cpu_seconds: float = 0.0
    postgres_cpu_seconds: float = 0.0

    def add(self, other: Spent) -> None:
        self.milliseconds += other.milliseconds
        self.cpu_seconds += other.cpu_seconds
        self.postgres_cpu_seconds += other.postgres_cpu_seconds

    def figures(self) -> dict[str, Any]:
        count = len(self.milliseconds)
        return {
            **percentiles(self.milliseconds),
            "cpu_ms": round(self.cpu_seconds / count * 1000, 1),
            "postgres_cpu_ms": round(self.postgres_cpu_seconds / count * 1000, 1),
            "requests": count,
        }


def measured(server: WebServer, postgres: int, way: Callable[[], object], times: int) -> Spent:
    cpu, database = tree_cpu_seconds(server.process), tree_cpu_seconds(postgres)
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        way()
        spent.append((time.perf_counter() - began) * 1000)
    return Spent(
        spent, tree_cpu_seconds(server.process) - cpu, tree_cpu_seconds(postgres) - database
    )


def walk(server: WebServer, postgres: int, there: Pages, expected: int) -> dict[str, Any]:
    """All volumes, page after page; raises AssertionError where one is missing or comes twice."""
    cpu, database, began = (
        tree_cpu_seconds(server.process), tree_cpu_seconds(postgres), time.perf_counter()
    )  # fmt: skip
    listed = [keys for _, keys in there]
    seconds = time.perf_counter() - began
    keys = list(itertools.chain(*listed))
    assert len(keys) == len(set(keys)) == expected, (len(keys), len(set(keys)), expected)
    return {
        "volumes": len(keys),
        "requests": len(listed),
        "seconds": round(seconds, 2),
        "cpu_s": round(tree_cpu_seconds(server.process) - cpu, 2),
        "postgres_cpu_s": round(tree_cpu_seconds(postgres) - database, 2),
    }


def goals(
    first: Mapping[str, float], deep: Mapping[str, float], read: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """Each with what was measured, and whether it is met. Pages are compared by CPU, which hardly
    suffers from what else runs on the machine."""
    cost, deep_cost = (each["cpu_ms"] + each["postgres_cpu_ms"] for each in (first, deep))
    p95 = max(first["p95_ms"], deep["p95_ms"])
    reached = {
        "page_p95_ms": (p95, PAGE_GOAL_MS),
        "deep_of_first_page": (round(deep_cost / cost, 2), DEEP_OF_FIRST_GOAL),
        "all_volumes_s": (read["seconds"], ALL_GOAL_SECONDS),
    }
    return {
        name: {"is": is_, "goal": goal, "is_met": is_ <= goal}
        for name, (is_, goal) in reached.items()
    }


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def report(result: Mapping[str, Any]) -> None:
    for server in ("ours", "bare"):
        for name, each in result[server].items():
            print(
                f"  {server} {name:14}  p50 {each['p50_ms']:7.1f} ms   p95 {each['p95_ms']:7.1f} ms"
                f"   cpu {each['cpu_ms']:6.1f} ms   PostgreSQL {each['postgres_cpu_ms']:6.1f} ms"
            )
    for name, each in result["all"].items():
        print(
            f"  all {each['volumes']} volumes by {name}: {each['requests']} requests,"
            f" {each['seconds']} s, cpu {each['cpu_s']} s, PostgreSQL {each['postgres_cpu_s']} s"
        )
    for name, each in result["goals"].items():
        words = "met" if each["is_met"] else "not met"
        print(f"  {name}: {each['is']} (goal {each['goal']}), {words}")


if __name__ == "__main__":
    sys.exit(main())
