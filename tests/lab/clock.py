"""The lab's clock: the time of day that it is given, and whether it goes as fast as this machine's.

Without KVM the lab reads the TSC of whichever processor happens to run it. Where the TSCs of two
processors differ, as they may in a virtual machine that was moved or restored, qemu lets none of
the readings go back and so adds every difference up: hours may pass there within minutes. The
kernel measures the TSC when it boots, too, on processors that it may have to share. The HPET that
qemu emulates is right; to read it takes longer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.lab.shell import Shell

TOLERATED = 0.02
SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the lab's clock said, in seconds, at some time between two readings of ours."""

    before: float
    uptime: float
    after: float


def read(shell: Shell) -> Reading:
    """Read how long the lab is up."""
    before = time.monotonic()
    uptime = float(shell.run("cat /proc/uptime").stdout.split()[0])
    return Reading(before, uptime, time.monotonic())


def strays(first: Reading, last: Reading) -> bool:
    """Whether the lab's clock went faster or slower than ours, by more than asking explains."""
    went = last.uptime - first.uptime
    at_most, at_least = last.after - first.before, last.before - first.after
    return went > at_most * (1 + TOLERATED) or went < at_least * (1 - TOLERATED)


def put_right(shell: Shell) -> None:
    """Give the lab the time of day."""
    shell.run(f"date -s @{time.time():.3f} > /dev/null")


def distrust_tsc(shell: Shell) -> None:
    """Let the lab read another clock."""
    shell.run(f"echo hpet > {SOURCE}")
