"""`make bench-jobs`: how fast an accepted request becomes a command on the host, and how many jobs
that find nothing to do go through the whole engine, beside Ansible on the same SSH server and
beside a task of Celery's that does nothing. The goals are ratios within one run.

The engine is the real one: PostgreSQL, Redis, a Celery worker, SSH, the agent's code; the host is
simulated, so that no disk is measured. Some dozens of jobs are under way at any time: a volume is
asked for again as soon as its job has ended. Ansible gets its best case: `raw` (no Python is copied
to the host), connections kept open, and all jobs in one run with as many forks as the worker has
threads. The last line is `BENCH {json}`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import asyncssh
import redis
from django.db import connection

from panel.configuration.environment import broker
from tests.bench import bare_celery
from tests.bench.http_timing import cpu_seconds, tree_cpu_seconds
from tests.faults.cluster import cluster
from tests.integration.until import until

FIRST_COMMANDS = 30
VOLUMES, ROUNDS = 40, 10
SINGLE_RUNS, ALIASES, FORKS = 5, 40, 16
SIZE_BYTES = 16 << 20
PATIENCE_SECONDS = 120.0
POLL_SECONDS = 0.05
BURST = 1000
FIRST_COMMAND_GOAL, NOOP_GOAL, CPU_GOAL, BURST_GOAL = 1 / 20, 9.0, 2.5, 50


def main() -> int:
    with cluster() as (folder, postgres):
        from tests.integration.running import REDIS, Running

        panel = Running(os.environ, folder)
        try:
            redis = panel.start(REDIS)
            # The panel's own processes and this one speak to the same Redis.
            os.environ["REDIS_URL"] = panel.environment["REDIS_URL"]
            worker = panel.start("worker")
            server = int((postgres.data / "postmaster.pid").read_text().split()[0])
            processor = Processor(worker=worker, postgresql=server, redis=redis)
            result = measure(panel.environment["REDIS_URL"], folder, processor)
        finally:
            connection.close()
            panel.stop_all()
    for name, each in result["goals"].items():
        words = "met" if each["is_met"] else "not met"
        print(f"  {name}: {each['is']} (goal {each['goal']}), {words}")
    print(f"BENCH {json.dumps(result)}")
    return 0


class Processor:
    """What each process has had of the processor."""

    def __init__(self, *, worker: int, postgresql: int, redis: int) -> None:
        self._processes = {"worker": worker, "redis": redis}
        self._postgresql = postgresql

    def seconds(self) -> dict[str, float]:
        """By process; `bench` is this one: the client, the SSH server and the agent."""
        others = {name: cpu_seconds(process) for name, process in self._processes.items()}
        postgresql = tree_cpu_seconds(self._postgresql)
        return {**others, "postgresql": postgresql, "bench": time.process_time()}


def measure(redis_url: str, folder: Path, processor: Processor) -> dict[str, Any]:
    from django.conf import settings

    from jobs import notify_workers
    from jobs.engine import operation
    from panel.celery import app
    from tests.faults.operations import BY_NAME
    from tests.faults.stage import Stage

    app.conf.broker_url = settings.CELERY_BROKER_URL = broker(redis_url)
    settings.REDIS_URL = redis_url
    real_send = notify_workers.send
    with Stage(_NoWorkers(), BY_NAME["create"]) as stage:  # type: ignore[arg-type]
        operation.POLL_SECONDS = (0.01, 0.05)
        notify_workers.send = lambda task, *args: True
        volumes = []
        for _ in range(VOLUMES):
            volume, wish = stage.another(SIZE_BYTES)
            stage.bring(volume, wish)
            volumes.append((volume, wish))
        notify_workers.send = real_send
        # Warm: the worker has its connections.
        _noop_jobs(stage, volumes, 1)
        first = _first_commands(stage)
        before = processor.seconds()
        seconds = _noop_jobs(stage, volumes, ROUNDS)
        after = processor.seconds()
        messages = _burst(volumes, redis_url)
        ansible = _ansible(stage, folder)
    bare_ms = _bare_celery(redis_url, processor)
    count = VOLUMES * ROUNDS
    ours = count / seconds
    best = max(ansible["single_jobs_per_s"], ansible["many_jobs_per_s"])
    first_ms = round(1000 * statistics.median(first), 1)
    cpu_ms = {name: (after[name] - before[name]) / count * 1000 for name in after}
    panel_ms = cpu_ms["worker"] + cpu_ms["postgresql"] + cpu_ms["redis"]
    return {
        "goals": {
            "first command, of Ansible's": at_most(
                first_ms / ansible["first_command_ms_median"], FIRST_COMMAND_GOAL
            ),
            "jobs a second, times Ansible's best": at_least(ours / best, NOOP_GOAL),
            "CPU of a job without host and client, times a bare task's": at_most(
                panel_ms / bare_ms, CPU_GOAL
            ),
            f"messages for a burst of {BURST} jobs": at_most(messages, BURST_GOAL),
        },
        "bare_celery_cpu_ms": round(bare_ms, 2),
        "panel_cpu_ms": round(panel_ms, 2),
        "first_command_ms_median": first_ms,
        "first_command_ms_max": round(1000 * max(first), 1),
        "noop_jobs_per_s": round(ours, 1),
        "noop_cpu_ms": {name: round(milliseconds, 2) for name, milliseconds in cpu_ms.items()},
        "ansible": ansible,
        "cpus": os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 1),
    }


def at_most(ratio: float, goal: float) -> dict[str, Any]:
    """A goal that smaller figures meet."""
    return {"is": round(ratio, 3), "goal": goal, "is_met": ratio <= goal}


def at_least(ratio: float, goal: float) -> dict[str, Any]:
    """A goal that larger figures meet."""
    return {"is": round(ratio, 2), "goal": goal, "is_met": ratio >= goal}


class _NoWorkers:
    """The bench forks no workers: its worker is Celery's."""


def _first_commands(stage) -> list[float]:  # type: ignore[no-untyped-def]
    """Seconds from the commit of a job to the first command that changes the host."""
    found = []
    for _ in range(FIRST_COMMANDS):
        volume, wish = stage.another(SIZE_BYTES)
        begun = len(stage.fake.ran)
        job = stage.submit(volume, wish)
        accepted = time.monotonic()
        stage.rest(job)
        if len(stage.fake.ran) == begun:
            raise AssertionError(f"no command ran: {job.state} {job.error} {job.explanation}")
        found.append(stage.fake.ran[begun].began - accepted)
    return found


def _noop_jobs(stage, volumes, rounds: int) -> float:  # type: ignore[no-untyped-def]
    """Seconds for `rounds` jobs of each volume whose wish is already true, from the first request
    to the last end."""
    from jobs.models import OVER, Job, State

    began = time.monotonic()
    free = [(volume, wish, rounds) for volume, wish in volumes]
    at_work = {}
    while free or at_work:
        for volume, wish, left in free:
            at_work[stage.submit(volume, wish).pk] = (volume, wish, left - 1)
        free = []
        time.sleep(POLL_SECONDS)
        over = Job.objects.filter(pk__in=at_work, state__in=(*OVER, State.NEEDS_ATTENTION))
        for key, state, error in list(over.values_list("pk", "state", "error")):
            if state != State.SUCCEEDED:
                raise AssertionError(f"a job with nothing to do ended {state}: {error}")
            volume, wish, left = at_work.pop(key)
            free += [(volume, wish, left)] if left else []
        if time.monotonic() - began > PATIENCE_SECONDS:
            raise AssertionError(f"jobs hang: {len(at_work)}")
    return time.monotonic() - began


def _burst(volumes, redis_url: str) -> int:  # type: ignore[no-untyped-def]
    """How many messages reach Redis while so many previews are asked for, without a pause."""
    from jobs.models import OVER, Job, Kind
    from jobs.queue.submit import ChangeRequest, submit
    from jobs.requester import Requester

    client = redis.Redis.from_url(redis_url)

    def pushed() -> int:
        return int(client.info("commandstats").get("cmdstat_lpush", {}).get("calls", 0))

    began, before = time.monotonic(), pushed()
    asked = itertools.islice(itertools.cycle(volumes), BURST)
    jobs = [
        submit(ChangeRequest(Kind.CREATE_VOLUME, volume, wish, dry_run=True), Requester(None)).pk
        for volume, wish in asked
    ]
    while Job.objects.filter(pk__in=jobs).exclude(state__in=OVER).exists():
        if time.monotonic() - began > PATIENCE_SECONDS:
            raise AssertionError("previews hang")
        time.sleep(POLL_SECONDS)
    return pushed() - before


def _bare_celery(redis_url: str, processor: Processor) -> float:
    """CPU milliseconds of a task that does nothing: of its worker and of Redis."""
    with bare_celery.worker(broker(redis_url.replace("db=0", "db=1")), FORKS) as process:
        until("the bare worker answers", lambda: bare_celery.done() >= 0, PATIENCE_SECONDS)
        _run_noops(bare_celery.COUNT // 4)
        before = cpu_seconds(process) + processor.seconds()["redis"]
        _run_noops(bare_celery.COUNT)
        used = cpu_seconds(process) + processor.seconds()["redis"] - before
    return used / bare_celery.COUNT * 1000


def _run_noops(count: int) -> None:
    earlier = bare_celery.done()
    for _ in range(count):
        bare_celery.noop.delay()
    until("all have run", lambda: bare_celery.done() - earlier >= count, PATIENCE_SECONDS)


def _ansible(stage, folder: Path) -> dict[str, float]:  # type: ignore[no-untyped-def]
    """The same SSH server lets a key in whose sessions run any command, for Ansible."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    key_file = folder / "bench-key"
    key_file.write_bytes(key.export_private_key())
    key_file.chmod(0o600)
    stage.server.authorize(key.export_public_key().decode())
    arrivals = _let_run(stage.server)
    program = Path(".venv-bench/bin/ansible").absolute()
    hosts = folder / "inventory"
    common = (
        f"ansible_host=127.0.0.1 ansible_port={stage.server.port} ansible_user=tiercel "
        f"ansible_ssh_private_key_file={key_file}"
    )
    hosts.write_text("".join(f"h{number} {common}\n" for number in range(ALIASES)))
    environment = os.environ | {
        "ANSIBLE_HOST_KEY_CHECKING": "False",
        "ANSIBLE_SSH_ARGS": "-C -o ControlMaster=auto -o ControlPersist=60s",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": tempfile.mkdtemp(prefix="cp-"),
        "ANSIBLE_LOCAL_TEMP": str(folder / "ansible"),
        "ANSIBLE_HOME": str(folder / "ansible-home"),
        "ANSIBLE_DEPRECATION_WARNINGS": "False",
    }

    def run(pattern: str) -> float:
        began = time.monotonic()
        done = subprocess.run(
            [str(program), "-i", str(hosts), pattern, "-f", str(FORKS), "-m", "raw", "-a", "true"],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(done.stdout[-2000:] + done.stderr[-2000:])
        return time.monotonic() - began

    run("h0")
    arrivals.clear()
    firsts, singles = [], []
    for _ in range(SINGLE_RUNS):
        began = time.monotonic()
        singles.append(run("h0"))
        firsts.append(arrivals[-1] - began)
    run("all")
    many = run("all")
    return {
        "first_command_ms_median": round(1000 * statistics.median(firsts), 1),
        "single_jobs_per_s": round(1 / statistics.mean(singles), 2),
        "many_jobs_per_s": round(ALIASES / many, 2),
    }


def _let_run(server) -> list[float]:  # type: ignore[no-untyped-def]
    """From now on sessions that ask for another program than the agent's run it; the times (s) at
    which they asked."""
    arrivals: list[float] = []
    agent = server._session

    async def session(process: asyncssh.SSHServerProcess[bytes]) -> None:
        command = process.command or ""
        if "agent.pyz" in command:
            await agent(process)
            return
        arrivals.append(time.monotonic())
        child = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = await child.communicate()
        process.stdout.write(out)
        process.stderr.write(err)
        process.exit(child.returncode or 0)

    server._session = session
    server.serve_again()
    return arrivals


if __name__ == "__main__":
    sys.exit(main())
