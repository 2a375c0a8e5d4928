"""What a boot is measured for. Pure."""

from __future__ import annotations

from enum import StrEnum


class BootPart(StrEnum):
    """Of a gate: its pilot, or a side of its comparison. STEP: of a bisect."""

    PILOT = "pilot"
    A = "a"
    B = "b"
    STEP = "step"

    @property
    def label(self) -> str:
        """What people call it."""
        return {"pilot": "Pilot", "a": "Kernel A", "b": "Kernel B", "step": "Step"}[self]
