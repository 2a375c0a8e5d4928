"""`make bench-charts`: how long a person waits for the first chart of a volume's, a host's and the
fleet's page with a year of figures.

Method: a PostgreSQL and a Redis of its own, an invented fleet (`tests.fleet`) with a year of
samples, packed as the packer leaves them; gunicorn as the Procfile runs it, one process; headless
Chromium, whose cache has the page's files (each page is opened some times first). A time is that
from the start of the navigation to the first frame after a chart was drawn; the others are made
after it, and the time until all are is printed too. ROUNDS changes how often each page is opened;
LOOK names a folder for a picture of each page, wide and narrow, light and dark. The last line is
`BENCH {json}`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

from tests.bench.http_timing import WebServer, percentiles, say
from tests.faults.cluster import cluster

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from storage.metrics.samples.chunk_store import SampleKind
    from storage.metrics.samples.interval_table import IntervalTable
    from tests.fleet import Fleet

HOSTS_MADE, VOLUMES_MADE, YEAR_DAYS, ROUNDS, WARM_ROUNDS = 2, 8, 364, 40, 3
GOAL_P95_MS: Final = 400.0
PATIENCE_MS: Final = 60_000
POLL_MS: Final = 20
WIDTHS, SCHEMES = (1440, 360), ("light", "dark")
# Chart.js knows its charts; the frame after that shows them.
DRAWN: Final = """() => {
  const look = () => {
    const now = performance.now();
    if (globalThis.madeMs) globalThis.drawnMs ??= now;
    else if (globalThis.Chart && Object.keys(Chart.instances).length > 0) globalThis.madeMs = now;
    const isBusy = !document.querySelector("[data-charts-panels][aria-busy=false]");
    if (globalThis.drawnMs && !isBusy) globalThis.allMs = now;
    else requestAnimationFrame(look);
  };
  look();
}"""
TIMES: Final = "globalThis.allMs ? [globalThis.drawnMs, globalThis.allMs] : null"
FIRST, ALL = "first chart", "all charts"
ONE_PROCESS: Final = {"WEB_CONCURRENCY": "1", "TIERCEL_LOG_LEVEL": "ERROR", "TIERCEL_DEBUG": "0"}


def main() -> int:
    rounds = int(os.environ.get("ROUNDS") or ROUNDS)
    look = os.environ.get("LOOK")
    with cluster() as (folder, _postgres):
        from django.conf import settings
        from django.db import connection

        from tests.bench.door import session_of
        from tests.integration.running import REDIS, Running
        from tests.panel.browser.chromium import started

        settings.DEBUG = False
        panel = Running(os.environ, folder)
        try:
            panel.start(REDIS)
            made = filled()
            session, paths = session_of(made.admin), pages(made)
            with WebServer(panel, {"Cookie": session}, **ONE_PROCESS) as web, started() as browser:
                cookie = cookie_of(session, web.port)
                result = measure(browser, web.port, cookie, paths, rounds)
                if look:
                    picture(browser, web.port, cookie, paths, Path(look))
        finally:
            connection.close()
            panel.stop_all()
    print(f"BENCH {json.dumps(result)}")
    return 0


def filled() -> Fleet:
    """A fleet with a year of figures, as the packer leaves them."""
    from django.utils import timezone

    from storage.metrics.samples import ensure_partitions
    from storage.metrics.samples.chunk_store import DEVICES, FLEET, HOSTS, VOLUMES
    from storage.models import Device
    from tests import fleet

    began, now = time.monotonic(), timezone.now()
    made = fleet.build(HOSTS_MADE, VOLUMES_MADE, hours=24, days=YEAR_DAYS, now=now)
    say(f"{VOLUMES_MADE} volumes with a year of samples made", began)
    hosts = [host.pk for host in made.hosts]
    for kind, subjects in (
        (VOLUMES, [volume.pk for volume in made.volumes]),
        (DEVICES, list(Device.objects.filter(host__in=hosts).values_list("pk", flat=True))),
        (HOSTS, hosts),
        (FLEET, [0]),
    ):
        into_chunks(kind, subjects, now)
    ensure_partitions(now)
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute("ANALYZE")
    say("packed", began)
    return made


def into_chunks(kind: SampleKind, subjects: Sequence[int], now: datetime) -> None:
    """What these subjects did, but for the last hours, as the chunks that charts of months and of
    the year read: the packer takes hour by hour, which is not what is measured here."""
    from django.db import connection, transaction

    from storage.metrics.samples import packer
    from storage.metrics.samples.aggregate import intervals
    from storage.metrics.samples.chunk_store import chunk_end, chunk_start
    from storage.metrics.samples.interval_table import bucketed
    from storage.models import Resolution

    month = chunk_start(Resolution.HOUR, now - timedelta(days=30))
    settled = chunk_start(Resolution.RAW, now - kind.settled)
    year = month - timedelta(days=YEAR_DAYS)
    with transaction.atomic():
        older = intervals(subjects, year, month, kind=kind)
        newer = intervals(subjects, month, settled, kind=kind)
        for table, length, resolution in (
            (older, 3600, Resolution.HOUR),
            (older, 86_400, Resolution.DAY),
            (newer, 300, Resolution.FIVE_MINUTES),
        ):
            at = year if table is older else month
            while at < (month if table is older else settled):
                first = chunk_start(resolution, at)
                at = chunk_end(resolution, first)
                inside = within(table, first, at)
                if len(inside):
                    packer._replace(kind, resolution, first, at, bucketed(inside, length))
        with connection.cursor() as cursor:
            cursor.execute(
                kind.sql("DELETE FROM {inbox} WHERE {within}"), kind.within(year, settled)
            )
    while not packer.pack_samples(kind, now).is_done:
        pass


def within(table: IntervalTable, first: datetime, end: datetime) -> IntervalTable:
    """Those that ended after `first`, up to and with `end`."""
    from storage.metrics.samples.columns import ENDED
    from storage.metrics.samples.interval_table import microseconds

    ended = table.line(ENDED)
    return table.where((ended > microseconds(first)) & (ended <= microseconds(end)))


def pages(made: Fleet) -> dict[str, str]:
    """A volume with a cache, its host, and the fleet."""
    cached = next(each for each in made.sources if each.volume.technology)
    volume = next(each for each in made.volumes if each.pk == cached.volume_id)
    host = next(each for each in made.hosts if each.pk == cached.host_id)
    return {
        f"{name}, {length}": f"{path}?range={length}"
        for name, path in (
            ("volume", f"/volumes/{volume.key}/"),
            ("host", f"/hosts/{host.key}/"),
            ("fleet", "/"),
        )
        for length in ("24h", "1y")
    }


def measure(
    browser: Browser, port: int, cookie: Any, paths: Mapping[str, str], rounds: int
) -> dict[str, Any]:
    """Milliseconds to the first chart of each page, opened in turn."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    context.add_cookies([cookie])
    context.add_init_script(f"({DRAWN})()")
    tab = context.new_page()
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in paths}
    for n in range(WARM_ROUNDS + rounds):
        for name, path in paths.items():
            tab.goto(f"http://localhost:{port}{path}", wait_until="commit")
            times = None
            while times is None:
                # The page's policy forbids what waits for an expression.
                tab.wait_for_timeout(POLL_MS)
                times = tab.evaluate(TIMES)
            tab.wait_for_load_state("networkidle")
            if n >= WARM_ROUNDS:
                spent[name].append(tuple(times))
    context.close()
    figures = {
        name: {
            what: percentiles(each)
            for what, each in zip((FIRST, ALL), zip(*times, strict=True), strict=True)
        }
        for name, times in spent.items()
    }
    for name, each in figures.items():
        first, all_made = each[FIRST], each[ALL]
        is_met = "met" if first["p95_ms"] <= GOAL_P95_MS else "not met"
        print(
            f"  {name:12}  p50 {first['p50_ms']:7.1f} ms   p95 {first['p95_ms']:7.1f} ms"
            f"   (goal {GOAL_P95_MS:.0f}: {is_met})   all charts: p50 {all_made['p50_ms']:7.1f} ms"
        )
    return {
        "rounds": rounds,
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "goal_p95_ms": GOAL_P95_MS,
        "figures": figures,
    }


def picture(
    browser: Browser, port: int, cookie: Any, paths: Mapping[str, str], folder: Path
) -> None:
    """Each page whole, in each look."""
    folder.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            context.set_default_timeout(PATIENCE_MS)
            context.add_cookies([cookie])
            tab = context.new_page()
            for name, path in paths.items():
                tab.goto(f"http://localhost:{port}{path}", wait_until="networkidle")
                tab.locator("[data-charts-panels][aria-busy=false]").wait_for()
                file = f"{name.replace(', ', '-')}-{width}-{scheme}.png"
                tab.screenshot(path=folder / file, full_page=True)
            context.close()


def cookie_of(session: str, port: int) -> Any:
    """As a browser takes it."""
    name, _, value = session.partition("=")
    return {"name": name, "value": value, "url": f"http://localhost:{port}"}


if __name__ == "__main__":
    sys.exit(main())
