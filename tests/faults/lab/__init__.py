"""Faults that need a real kernel: a restart, disks that hang, fail, lie or are slow, udev, sshd.

They are played one after the other on one lab host, while the sweep plays on simulated ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.faults.fault import Fault
from tests.faults.lab import bcache, disks, host, key
from tests.faults.lab.site import Site

__all__ = ["Site", "faults"]


def faults(site: Site) -> Iterator[Fault]:
    """Every fault of the lab, on this one."""
    for family in (key, disks, bcache, host):
        for fault in family.faults(site):
            yield replace(fault, in_lab=True)
