"""Retire, restore and destroy on a volume's page: what is offered, or why not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, cast

from django.core.exceptions import ValidationError
from django.db import transaction

from storage.models import Placement, Volume
from storage.planner import Refused
from storage.planner.current_wish import uncached
from storage.planner.wish import Wish
from storage.templatetags.units import stamp
from storage.volumes.snapshot import VolumeSnapshot


@transaction.atomic
def follow_host(placement: Placement, wish: Wish, at: datetime) -> None:
    """The host has made it so: the volume is retired, or destroyed at `at`. The cache of a volume
    that is off costs nothing; a destroyed one has no place any more, and its record stays."""
    volume = Volume.objects.filter(pk=placement.volume_id)
    volume.update(wish=wish.lasting.to_json(), cache_plan=None)
    if wish.life == "gone":
        volume.update(destroyed_at=at)
        Placement.objects.filter(pk=placement.pk).update(until=at, missing_since=None)


Life = Literal["live", "retired", "gone"]


def demand_label(volume: Volume, typed: str) -> None:
    """Guard against an accidental destruction: the volume's label must be typed. Raises Django's
    `ValidationError`."""
    if typed.strip() == volume.label.strip():
        return
    error = ValidationError("The label does not match.", code="wrong_label")
    if not typed:
        error = ValidationError("This field is required.", code="required")
    raise ValidationError({"confirm_label": error})


@dataclass(frozen=True, slots=True)
class LifeOffers:
    """Each is why it cannot be done now, None where it can."""

    retire: Refused | None
    restore: Refused | None
    destroy: Refused | None


def life_offers(row: VolumeSnapshot, now: datetime) -> LifeOffers:
    """What can be done as far as the last inventory shows; the host checks again."""
    return LifeOffers(
        life_refusal(row, "retired", now),
        life_refusal(row, "live", now),
        life_refusal(row, "gone", now),
    )


def life_wish(row: VolumeSnapshot, life: Life) -> Wish | None:
    """What the volume is now, but for its life and its cache; None where no wish could say it."""
    now = row.wish
    return None if now is None else replace(uncached(row.facts, row.lv, now), life=life)


def allowed_life(row: VolumeSnapshot, life: Life, now: datetime) -> Wish:
    """The wish that retires, restores or destroys the volume now; raises `Refused`."""
    if (refusal := life_refusal(row, life, now)) is not None:
        raise refusal
    return cast("Wish", life_wish(row, life))  # None is always refused


def life_refusal(row: VolumeSnapshot, life: Life, now: datetime) -> Refused | None:
    """Why the volume cannot be retired, restored or destroyed now."""
    volume, until = row.volume, row.undo_until
    if volume.destroyed_at is not None:
        return Refused("not_found", "The volume was destroyed.", "Restore it from a backup.")
    if life == "gone" and volume.retired_at is None:
        return Refused("not_retired", "The volume is not retired.", "Retire the volume first.")
    if life == "live" and volume.retired_at is None:
        return Refused("not_retired", "The volume is active.", "No restore is needed.")
    if life == "gone" and until is not None and now < until:
        return Refused(
            "too_early",
            f"The volume can be destroyed after {stamp(until)}.",
            "Wait until then, or restore the volume. Root sets undo_hours in the host's policy.",
            not_before=until,
        )
    problems = row.host.problems if row.host is not None else []
    if life == "retired" and any(each.get("code") == "clock_off" for each in problems):
        return Refused(
            "clock_off",
            "The host's clock is wrong, so the undo window would end at the wrong time.",
            "Synchronise the host's clock, for example: timedatectl set-ntp true",
        )
    return row.refusal(life_wish(row, life))
