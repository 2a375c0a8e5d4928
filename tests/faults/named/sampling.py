"""Collector, PostgreSQL or Redis away for five minutes: what is lost of the hosts' figures.

Five minutes are five rounds of samples in production; here a round is every `INTERVAL` seconds, and
they are away for as many, or for FAULTS_AWAY_SECONDS. What does not pass faster is how long each
takes to find the others again.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from django.db import connection

from panel.operations.local_services.postgres import Postgres, disguise, installed
from storage.models import Host, LatestSample, Sample
from tests.fake import crowd
from tests.fake.crowd_process import crowd_of, enrol
from tests.faults.fault import Fault, Play, Played
from tests.faults.workers import Workers
from tests.integration.running import REDIS, Running
from tests.integration.until import until

INTERVAL: Final = 2
ROUNDS: Final = 5
AWAY_SECONDS: Final = int(os.environ.get("FAULTS_AWAY_SECONDS") or ROUNDS * INTERVAL)
HOSTS, VOLUMES = 6, 3
PATIENCE_SECONDS: Final = 60.0
BACK_SECONDS: Final = 20.0
"""So long the next round may take to come after what was away is back."""
RATE_TOLERANCE: Final = 0.1
POSTGRES: Final = "PostgreSQL"


def faults(postgres: Postgres | None) -> Iterator[Fault]:
    expected = "only the rounds of that time are missing; what the hosts did in it is counted once"
    for fault_id, name in (("C01", "collector"), ("C02", REDIS), ("C03", POSTGRES)):
        if name == POSTGRES and postgres is None:
            continue
        yield Fault(f"samples: {name} is killed and stays away for {AWAY_SECONDS} s", expected,
                    _play(name, postgres), fault_id, alone=True)  # fmt: skip


def _play(name: str, postgres: Postgres | None) -> Play:
    def play(workers: Workers) -> Played:
        with _collecting() as scene:
            return _away(scene, name, postgres)

    return play


@dataclass(frozen=True, slots=True)
class Scene:
    """A collector and beat at work on hosts of this scene only."""

    panel: Running
    host_ids: list[int]

    def is_sampled_since(self, at: float, rounds: int = 1) -> bool:
        """Whether every volume has so many rows of later than that moment (Unix time)."""
        since = datetime.fromtimestamp(at).astimezone()
        rows = Sample.objects.filter(ts__gt=since, volume__placement__host__in=self.host_ids)
        return rows.count() >= HOSTS * VOLUMES * rounds


@contextmanager
def _collecting() -> Iterator[Scene]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tiercel-faults-")))
        there = stack.enter_context(crowd_of(VOLUMES))
        settings = {"TIERCEL_SAMPLE_SECONDS": str(INTERVAL)}
        panel = Running({**os.environ, **settings}, folder)
        panel.environment |= settings
        host_ids = [host.pk for host in enrol(there, HOSTS, VOLUMES, name=f"c{time.time_ns()}-")]
        stack.callback(connection.close)
        stack.callback(Host.objects.filter(pk__in=host_ids).update, state="quarantined")
        stack.callback(panel.stop_all)
        for name in (REDIS, "beat", "collector"):
            panel.start(name)
        yield Scene(panel, host_ids)


def _away(scene: Scene, name: str, postgres: Postgres | None) -> Played:
    began = time.time()
    until("samples come", lambda: scene.is_sampled_since(began, 4), PATIENCE_SECONDS)
    restart = _kill(scene, name, postgres)
    time.sleep(AWAY_SECONDS)
    restart()
    back = time.time()
    until("samples come again", lambda: scene.is_sampled_since(back), PATIENCE_SECONDS)
    recovery = time.time() - back
    until("they go on", lambda: scene.is_sampled_since(time.time() - 4 * INTERVAL, 3), 60)
    problems = _problems(scene, AWAY_SECONDS + BACK_SECONDS)
    rows = Sample.objects.filter(volume__placement__host__in=scene.host_ids).count()
    return Played(f"{rows} intervals of {HOSTS * VOLUMES} volumes", problems, recovery)


def _kill(scene: Scene, name: str, postgres: Postgres | None) -> Callable[[], object]:
    """Kill it at once; what is returned starts it again."""
    if name != POSTGRES:
        scene.panel.kill(name)
        return lambda: scene.panel.start(name)
    assert postgres is not None
    program = [*disguise(), str(installed() / "pg_ctl")]
    subprocess.run(
        [*program, "stop", "-m", "immediate", "-w", "-s", "-D", str(postgres.data)],
        check=True,
    )
    connection.close()
    return postgres.start


def _problems(scene: Scene, longest_seconds: float) -> list[str]:
    """Intervals that are missing, doubled or wrong: those of a volume follow one after the other
    from its first round to its last, one of them is long, and in all of them it was as busy."""
    problems = []
    latest = LatestSample.objects.filter(host__in=scene.host_ids)
    if latest.count() != HOSTS * VOLUMES:
        problems.append(f"{latest.count()} volumes have a last sample")
    for last in latest:
        rows = list(Sample.objects.filter(volume_id=last.volume_id).order_by("ts"))
        long = [row.dt_ms for row in rows if row.dt_ms > 1.9 * INTERVAL * 1000]
        if len(long) != 1 or long[0] > longest_seconds * 1000:
            problems.append(f"volume {last.volume_id}: long intervals {long}")
        for before, row in pairwise(rows):
            apart = (row.ts - before.ts).total_seconds() * 1000
            if abs(apart - row.dt_ms) > 1000:
                problems.append(f"{row}: {row.dt_ms} ms, {apart:.0f} ms after the one before")
        for row in rows:
            rate = row.reads * 1000 / row.dt_ms / crowd.READS_A_SECOND
            if abs(rate - 1) > RATE_TOLERANCE:
                problems.append(f"{row}: {rate:.2f} of its usual reads")
        if last.gap:
            problems.append(f"volume {last.volume_id}: {last.gap}")
    return problems
