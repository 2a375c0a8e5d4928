"""`python -m tests.faults.worker`: a process that has everything loaded and forks a worker for each
order, so that a killed worker costs a fork and not a start of Django.

Orders come as JSON lines on stdin: {"token", "jobs": [id], "seconds", "arm", "mutation"}. Events go
to stdout, one JSON line each: {"token", "pid"}, {"token", "fired": time}, {"token", "reached":
{point: times}} and {"token", "status"} (a negative one is the signal that ended the worker).
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from importlib import import_module
from typing import Any

import django
from django.db import DatabaseError, InterfaceError, connection

from storage import row_security

POLL_SECONDS = (0.02, 0.1)
REST_SECONDS = 0.2
UNFINISHED = 3


def main() -> None:
    django.setup()
    row_security.open_process()
    load()
    children: dict[int, str] = {}
    buffer = b""
    while True:
        ready, _, _ = select.select([0], [], [], 0.02)
        reap(children)
        if not ready:
            continue
        chunk = os.read(0, 65536)
        if not chunk:
            return
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            order = json.loads(line)
            pid = os.fork()
            if pid == 0:
                os._exit(work(order))
            children[pid] = order["token"]
            say(token=order["token"], pid=pid)


def load() -> None:
    """Import what workers need before the first fork: no model can be imported before setup."""
    for name in (
        "jobs.engine.runner",
        "jobs.notify_workers",
        "tests.faults.mutation",
        "tests.faults.armed",
    ):
        import_module(name)


def say(**event: Any) -> None:
    """One write, so that lines of several processes do not mix."""
    os.write(1, json.dumps(event).encode() + b"\n")


def reap(children: dict[int, str]) -> None:
    for pid in list(children):
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            say(token=children.pop(pid), status=os.waitstatus_to_exitcode(status))


def work(order: dict[str, Any]) -> int:
    """A worker's life: run the jobs until each is over, needs a person, or time is up."""
    from jobs import failpoints, notify_workers
    from jobs.engine import operation, runner
    from jobs.models import OVER, Job, State
    from tests.faults import mutation
    from tests.faults.armed import Armed

    token = order["token"]
    operation.POLL_SECONDS = POLL_SECONDS
    notify_workers.send = lambda task, *args: True
    mutation.mutate_worker(order.get("mutation", ""))
    armed = None
    if order.get("arm"):
        armed = Armed.parse(order["arm"], lambda: say(token=token, fired=time.time()))
        failpoints.hook = armed
    end = time.monotonic() + float(order["seconds"])
    left = list(order["jobs"])
    while left and time.monotonic() < end:
        try:
            for job_id in left:
                runner.run(job_id)
            rested = (*OVER, State.NEEDS_ATTENTION)
            left = list(
                Job.objects.filter(pk__in=left).exclude(state__in=rested).values_list(flat=True)
            )
        except (DatabaseError, InterfaceError) as error:
            # As Celery's workers do between two tasks: a broken connection is replaced.
            print(f"{token}: {error}", file=sys.stderr)
            connection.close()
        if left:
            time.sleep(REST_SECONDS)
    if armed is not None and armed.mode == "trace":
        say(token=token, reached=dict(armed.reached))
    connection.close()
    return UNFINISHED if left else 0


if __name__ == "__main__":
    main()
