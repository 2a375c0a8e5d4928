"""How many bytes a unit has."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024**2
GIB: Final = 1024**3
SECTOR_BYTES: Final = 512
"""A sector of the kernel's counters and of dm-cache, whatever the disk's own are."""
