"""`make faults`: a PostgreSQL of its own, every fault, docs/faults.md, and the line `FAULTS {…}`.

What needs a real kernel is played on one lab host, one after the other, beside all the rest.

`python -m tests.faults [WORD…]` plays only faults whose name or id contains a word, and writes
nothing.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from panel.operations.local_services.postgres import Postgres
from tests.faults.cluster import cluster
from tests.lab.packages import LabUnavailable
from tests.lab.shell import LabCommandFailed
from tests.lab.vm import Lab

LAB_NAME = "faults"
NICE = 10
AT_ONCE = int(os.environ.get("FAULTS_AT_ONCE", "8"))
"""Most of a fault is waiting for a lease to lapse."""
EVERY = int(os.environ.get("FAULTS_EVERY", "1"))
"""Only every n-th fault of the sweep, for a quick look."""


def main() -> int:
    with cluster() as (folder, postgres):
        return play(folder, postgres, sys.argv[1:])


def play(folder: Path, postgres: Postgres, words: list[str]) -> int:
    """Play all; 0 where every fault was survived and every mutation was noticed."""
    from tests.faults import lab, mutation, named, report, sweep
    from tests.faults.fault import Fault, Outcome, endure
    from tests.faults.operations import OPERATIONS, Operation
    from tests.faults.stage import quicken
    from tests.faults.workers import Workers

    def wanted(fault: Fault) -> bool:
        return not words or any(word in f"{fault.id} {fault.name}" for word in words)

    def swept(operation: Operation) -> bool:
        return not words or any(word.startswith(operation.name) for word in words)

    quicken()
    mutation.mutate_agent()
    outcomes: list[Outcome] = []
    not_played: dict[str, str] = {}

    def note(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if outcome.reached:
            mark = "ok  " if outcome.survived else "LOST"
            name = f"{outcome.fault.id} {outcome.fault.name}".strip()
            print(f"{mark} {name}: {outcome.happened} ({outcome.recovery_s:.1f} s)", flush=True)
            for problem in outcome.problems:
                print(f"       {problem}", flush=True)

    with ExitStack() as stack:
        site = lab.Site(Lab(LAB_NAME, say=print, setup=False))
        in_lab = [fault for fault in lab.faults(site) if wanted(fault)]
        if in_lab:
            try:
                # Here, because the machine ends with the thread that starts it.
                site.lab.start()
                stack.callback(site.lab.shutdown)
            except LabUnavailable as reason:
                not_played = {fault.id: f"no lab: {reason}" for fault in in_lab}
                in_lab = []
            else:
                # An emulated processor is slow enough: all else waits for it, workers too.
                os.nice(NICE)
        workers = stack.enter_context(Workers(os.environ, folder / "workers.log"))

        def play_in_lab() -> None:
            try:
                site.lab.wait_until_up()
                site.open()
            except (LabUnavailable, LabCommandFailed) as error:
                for fault in in_lab:
                    note(Outcome(fault, "the lab did not come up", [str(error)]))
                return
            for fault in in_lab:
                note(endure(fault, workers))
            site.close()

        faults = list(named.faults(postgres))
        with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(AT_ONCE) as pool:
            playing = one.submit(play_in_lab) if in_lab else None
            for found in pool.map(
                lambda operation: sweep.faults(operation, *sweep.unharmed(operation, workers)),
                [each for each in OPERATIONS if swept(each)],
            ):
                faults += found[:: 1 if words else EVERY]
            chosen = [fault for fault in faults if wanted(fault)]
            together = [fault for fault in chosen if not fault.alone]
            print(f"{len(chosen) + len(in_lab)} faults", flush=True)
            for outcome in pool.map(lambda fault: endure(fault, workers), together):
                note(outcome)
            if playing is not None:
                playing.result()
        for fault in chosen:
            if fault.alone:
                note(endure(fault, workers))
        red = {} if words else named.mutations(workers)
    if words:
        return 0 if all(outcome.survived for outcome in outcomes) else 1
    summary = report.write(outcomes, red, not_played, EVERY)
    print(report.last_line(summary))
    survived = summary["survived"] == summary["total"]
    return 0 if survived and summary["mutation_red"] == len(mutation.MUTATIONS) else 1


if __name__ == "__main__":
    sys.exit(main())
