"""What is left of a volume in the kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Orphan:
    """A device in the kernel that LVM made and has no volume for; `uuid` is the volume's that it
    was."""

    name: str
    device: str
    uuid: str
    why: str
