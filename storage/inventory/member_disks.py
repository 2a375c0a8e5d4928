"""The disks of an array's members, as a person finds them in a rack. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping


def connected(members: Iterable[str], marks: Mapping[str, str]) -> dict[str, str]:
    """The members whose disks are connected, each with its name and the marks of its disk:
    "sdb1 (ST4000NM002A, ZC123)". `marks` are model and serial by the names of disks, "" for a disk
    that says neither."""
    disks = {member: _disk_name(member, marks) for member in members}
    return {
        member: f"{member} ({marks[disk]})" if marks[disk] else member
        for member, disk in disks.items()
        if disk in marks
    }


def _disk_name(member: str, marks: Mapping[str, str]) -> str:
    """Of what may be a partition (sda3, nvme0n1p3)."""
    return member if member in marks else re.sub(r"(?:(?<=[0-9])p|(?<=[a-z]))[0-9]+$", "", member)
