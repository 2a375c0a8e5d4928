"""What asking hosts costs: a poll over a new OpenSSH connection beside one over the connection that
the panel keeps, and the collector itself with hundreds of hosts.

The hosts are `tests.fake.crowd`, in a process of its own, the same for both. The collector is the
Procfile's, with beat, Redis and PostgreSQL, and polls every `interval` seconds.
"""

from __future__ import annotations

import json
import resource
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.bench.http_timing import cpu_seconds, percentiles, tree_cpu_seconds
from tests.fake import crowd
from tests.fake.crowd_process import Crowd
from tests.integration.until import until

OPENSSH_POLLS: Final = 30
KEPT_POLLS: Final = 1000
SETTLE_SECONDS: Final = 60.0


def polls(there: Crowd, host: Any, folder: Path) -> dict[str, Any]:
    """One host asked again and again: over new OpenSSH connections, and over the kept one."""
    return {"openssh": _openssh(there, folder), "kept": _kept(host)}


def _openssh(there: Crowd, folder: Path) -> dict[str, float]:
    key, known = folder / "crowd-key", folder / "crowd-known"
    key.write_bytes(there.private_key)
    key.chmod(0o600)
    known.write_text(f"[127.0.0.1]:{there.port} {there.host_key}\n")
    command = [
        "ssh", "-F", "none", "-i", str(key), "-p", str(there.port), "-o", "IdentitiesOnly=yes",
        "-o", f"UserKnownHostsFile={known}", "-o", "StrictHostKeyChecking=yes",
        "-o", "LogLevel=ERROR", f"{crowd.account(0)}@127.0.0.1", "sample",
    ]  # fmt: skip
    spent, before = [], resource.getrusage(resource.RUSAGE_CHILDREN)
    for n in range(OPENSSH_POLLS):
        began = time.perf_counter()
        line = json.dumps({"v": 1, "id": f"poll-{n}", "verb": "sample", "args": {}, "expect": {}})
        done = subprocess.run(
            command, input=f"{line}\n", capture_output=True, text=True, check=True
        )
        spent.append(time.perf_counter() - began)
        json.loads(done.stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _poll_figures(spent, cpu)


def _kept(host: Any) -> dict[str, float]:
    from jobs import transport

    transport.call(host, "sample")
    spent, cpu = [], time.process_time()
    for _ in range(KEPT_POLLS):
        began = time.perf_counter()
        transport.call(host, "sample")
        spent.append(time.perf_counter() - began)
    return _poll_figures(spent, time.process_time() - cpu)


def _poll_figures(spent: Sequence[float], cpu: float) -> dict[str, float]:
    return {
        **percentiles([each * 1000 for each in spent]),
        "client_cpu_ms": round(cpu / len(spent) * 1000, 2),
        "polls": len(spent),
    }


def collector(
    panel: Any, postgres: int, there: Crowd, hosts: int, interval: int, seconds: float
) -> dict[str, Any]:
    """The Procfile's collector with all `hosts`, for so many seconds after it has met them.
    `postgres` is the server's process."""
    from django.db import connection

    panel.environment["TIERCEL_SAMPLE_SECONDS"] = str(interval)
    process = panel.start("collector")
    panel.start("beat")
    query = (
        "SELECT count(*) FROM storage_hostactivity JOIN storage_host ON host_id = id"
        " WHERE state = 'active'"
    )

    def met() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(query)
            return bool(cursor.fetchone()[0] >= hosts)

    until("every host has reported a round", met, SETTLE_SECONDS + 6 * interval)
    time.sleep(2 * interval)
    began, cpu, database, crowd_before = (
        time.monotonic(), cpu_seconds(process), tree_cpu_seconds(postgres), there.figures()
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        start = cursor.fetchone()[0]
    time.sleep(seconds)
    elapsed = time.monotonic() - began
    spent = cpu_seconds(process) - cpu
    answered = there.figures()
    result = {
        "hosts": hosts,
        "interval_s": interval,
        "seconds": round(elapsed),
        "cores": round(spent / elapsed, 4),
        "cpu_ms_a_poll": round(
            spent / max(1, answered["requests"] - crowd_before["requests"]) * 1000, 2
        ),
        "postgres_cores": round((tree_cpu_seconds(postgres) - database) / elapsed, 4),
        "crowd_cores": round((answered["cpu_seconds"] - crowd_before["cpu_seconds"]) / elapsed, 4),
        "new_connections": answered["connections"] - crowd_before["connections"],
        **missed(start, interval),
    }
    for name in ("beat", "collector"):
        panel.stop(name)
    return result


def missed(start: Any, interval: int) -> dict[str, int]:
    """Rounds since `start`, by the samples stored: those that are there, and those that are not
    because an interval lasted longer than it should."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), coalesce(sum(round(dt_ms / 1000.0 / %s) - 1), 0)"
            " FROM (SELECT DISTINCT ON (host_id, ts) host_id, ts, dt_ms FROM storage_sample"
            " JOIN storage_placement USING (volume_id) WHERE ts > %s) AS rounds",
            [interval, start],
        )
        there, lost = cursor.fetchone()
        cursor.execute(
            "SELECT count(*) FROM storage_host LEFT JOIN storage_hostactivity ON host_id = id"
            " WHERE state = 'active' AND (at IS NULL OR at < now() - %s * interval '1 second')",
            [2 * interval],
        )
        silent = cursor.fetchone()[0]
    return {"rounds": int(there), "missed_rounds": int(lost), "silent_hosts": int(silent)}
