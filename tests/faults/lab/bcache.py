"""bcache's own traps: a long detach, and udev that registers a device before the agent does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from jobs.models import State
from jobs.queue import submit as submission
from tests.faults.fault import Fault, Play, Played
from tests.faults.lab.host import at_work
from tests.faults.lab.layers import HDD, OTHER_HDD
from tests.faults.lab.operations import ADD_BCACHE, CREATE_READY, REMOVE_DIRTY_BCACHE
from tests.faults.lab.site import Site
from tests.faults.lab.stage import LabStage
from tests.faults.operations import Operation
from tests.faults.workers import Workers

SLOW_WRITES_MS = 500
SCATTERED = (
    "fio --name=dirt --filename={device} --rw=randwrite --bs=4k --direct=1 --ioengine=libaio "
    "--iodepth=16 --number_ios=1500 --randrepeat=0 --output=/dev/null"
)
GENUINE = "/usr/local/sbin/make-bcache"
# As udev does when it is faster than the agent.
REGISTERS_TOO = f"""#!/bin/bash
{GENUINE} "$@" || exit $?
real=$(realpath "${{!#}}")
echo "$real" > /sys/fs/bcache/register_quiet
for try in $(seq 100); do
    [ -e "/sys/block/$(basename "$real")/bcache" ] && exit 0
    sleep 0.1
done
exit 1
"""
# As a program that looks at a new device does, at the wrong moment.
HOLDS = f"""#!/bin/bash
udevadm control --stop-exec-queue
{GENUINE} "$@" || exit $?
real=$(realpath "${{!#}}")
rm -f /run/holding
setsid python3 -c '
import os, sys, time
held = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
open("/run/holding", "w").close()
time.sleep(6)
os.system("udevadm control --start-exec-queue")
' "$real" < /dev/null > /dev/null 2>&1 &
for try in $(seq 200); do [ -e /run/holding ] && exit 0; sleep 0.1; done
exit 1
"""


def faults(site: Site) -> Iterator[Fault]:
    yield Fault("remove bcache: a slow disk takes the dirty data, and a person cancels",
                "polled; who cancels meanwhile has the cache as it was; then it is removed, and "
                "not before the last dirty byte", _cancelled(site), "F41")  # fmt: skip
    for operation in (CREATE_READY, ADD_BCACHE):
        yield Fault(f"{operation.name}: udev registers the device before the agent does",
                    "taken for done, as the kernel shows it", _raced(site, operation,
                    REGISTERS_TOO), "F44")  # fmt: skip
        yield Fault(f"{operation.name}: another program holds the device when it is registered",
                    "registered as soon as it is free", _raced(site, operation, HOLDS),
                    "F44")  # fmt: skip


def _cancelled(site: Site) -> Play:
    def play(workers: Workers) -> Played:
        with LabStage(workers, site, REMOVE_DIRTY_BCACHE) as stage:
            site.lab.run(SCATTERED.replace("{device}", stage.device), timeout_seconds=300)
            stage.strangers = stage.fingerprints()
            for name in (HDD, OTHER_HDD):
                site.layers.put(name, "slow_writes", SLOW_WRITES_MS)
            problems: list[str] = []
            job = stage.submit()
            worker = stage.start(job)
            at_work(job, "bcache.")
            submission.cancel(job, None)
            since = time.time()
            stage.rest(job)
            took = time.time() - since
            worker.wait(30)
            if job.state != State.CANCELLED:
                problems.append(f"cancelled during the flush, the job is {job.state}: {job.error}")
            if left := stage.left_of_fallback():
                problems.append(f"cancelled, and not as before: {left}")
            again = stage.submit()
            worker = stage.start(again)
            site.layers.heal()
            played = stage.finished(time.time(), job, again, waits=(worker,))
            played.happened = f"{played.happened}; the first one after {took:.0f} s"
            lv = stage.lv()
            if again.state != State.SUCCEEDED:
                problems.append(f"then the job ended {again.state}: {again.error}")
            elif lv is None or lv.bcache is None or lv.bcache.dirty_bytes:
                problems.append("called removed with dirty data left")
            played.problems.extend(problems)
            return played

    return play


@contextmanager
def _instead_of_make_bcache(site: Site, program: str) -> Iterator[None]:
    path = "/usr/sbin/make-bcache"
    site.lab.run(f"[ -e {GENUINE} ] || cp {path} {GENUINE}")
    site.lab.shell.write("/usr/local/sbin/racing", program, 0o755)
    site.lab.run(f"mount --bind /usr/local/sbin/racing {path}")
    try:
        yield
    finally:
        site.lab.run(f"umount -l {path}; udevadm control --start-exec-queue")


def _raced(site: Site, operation: Operation, program: str) -> Play:
    def play(workers: Workers) -> Played:
        stage = LabStage(workers, site, operation)
        with stage, _instead_of_make_bcache(site, program):
            job = stage.submit()
            worker = stage.start(job)
            at_work(job, "bcache.format" if operation is CREATE_READY else "cset.create")
            played = stage.finished(time.time(), job, waits=(worker,))
            if job.state != State.SUCCEEDED:
                played.problems.append(f"the job ended {job.state}: {job.error}")
            return played

    return play
