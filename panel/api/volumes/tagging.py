"""The wish that a found volume be managed."""

from __future__ import annotations

from jobs.models import Kind
from panel.api.volumes.wish import Change, allowed
from storage.volumes.snapshot import VolumeSnapshot


def change(row: VolumeSnapshot) -> Change | None:
    """What is to be done; None where the volume is managed already. Raises `Refused`."""
    if row.volume.managed:
        return None
    return Change(Kind.TAG_VOLUME, allowed(row, row.wish))
