"""A fault, and what came of it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import connection

from tests.faults.workers import Workers

RECOVERY_SECONDS = 60.0


class NotReached(Exception):
    """This time the run did not come by the point: polls are not the same in every run."""


@dataclass
class Played:
    """What happened: in a few words, every broken invariant, and seconds from the fault until the
    job was at rest, which `bound_s` limits."""

    happened: str
    problems: list[str]
    recovery_s: float
    bound_s: float = RECOVERY_SECONDS


Play = Callable[[Workers], Played]


@dataclass(frozen=True)
class Fault:
    """`id` is that of the fault list (F01 …) or "" for one of the sweep; `alone` = nothing else
    may run beside it, because it breaks what all share; `in_lab` = on a real kernel."""

    name: str
    expected: str
    play: Play
    id: str = ""
    alone: bool = False
    in_lab: bool = False


@dataclass
class Outcome:
    """One row of the list of faults (report.py)."""

    fault: Fault
    happened: str
    problems: list[str] = field(default_factory=list)
    recovery_s: float = 0.0
    took_s: float = 0.0
    reached: bool = True

    @property
    def survived(self) -> bool:
        return self.reached and not self.problems


def endure(fault: Fault, workers: Workers) -> Outcome:
    """Let it happen; whatever goes wrong is a problem of the outcome, never an exception."""
    began = time.monotonic()
    try:
        played = fault.play(workers)
        problems = list(played.problems)
        if played.recovery_s > played.bound_s:
            problems.append(f"took {played.recovery_s:.0f} s")
        outcome = Outcome(fault, played.happened, problems, played.recovery_s)
    except NotReached:
        outcome = Outcome(fault, "not reached", reached=False)
    except Exception as error:
        trace = traceback.format_exc(limit=-4)
        outcome = Outcome(fault, "the fault could not be played", [f"{error!r}\n{trace}"])
    finally:
        connection.close()
    outcome.took_s = time.monotonic() - began
    return outcome
