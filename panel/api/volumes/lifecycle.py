"""The wish that a volume be retired, restored or destroyed."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.utils import timezone

from jobs.models import Kind
from panel.api.bodies import unprocessable
from panel.api.shapes import Json
from panel.api.volumes.wish import Change
from storage.planner.wish import Wish
from storage.volumes.lifecycle_forms import DestroyForm, Life, life_refusal, life_wish
from storage.volumes.snapshot import VolumeSnapshot

KINDS: dict[Life, Kind] = {
    "live": Kind.RESTORE_VOLUME,
    "retired": Kind.RETIRE_VOLUME,
    "gone": Kind.DESTROY_VOLUME,
}


def life_of(row: VolumeSnapshot) -> Life:
    """What the volume is now."""
    if row.volume.destroyed_at is not None:
        return "gone"
    return "live" if row.volume.retired_at is None else "retired"


def meets(wish: Wish, wanted: Json) -> bool:
    """Whether a job with that wish already makes it so."""
    life: Life = wanted["life"]
    return wish.life == life


def change(row: VolumeSnapshot, wanted: Json) -> Change | None:
    """What is to be done; None where it is so already. Destroying demands the volume's label in
    `confirm_label`. Raises `Refused`, and `Problem` for a wrong label."""
    life: Life = wanted["life"]
    if life_of(row) == life:
        return None
    if (refusal := life_refusal(row, life, timezone.now())) is not None:
        raise refusal
    if life == "gone":
        form = DestroyForm(row, wanted)
        if not form.is_valid():
            raise unprocessable(ValidationError(form.errors.as_data()))
    wish = life_wish(row, life)
    return None if wish is None else Change(KINDS[life], wish)
