"""Pages that extend a volume, or move it to the other tier. Each makes a preview first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_POST

from jobs.models import Kind
from panel.staff.job_requests import WishForm, form_action, preview_of, row_of
from panel.staff.volumes.volume_forms import UNITS
from storage.access import Right, staff_view
from storage.byte_sizes import GIB, MIB
from storage.formatting import size
from storage.planner import Refused
from storage.planner.allocation import TIERS
from storage.planner.wish import BadWish, Tier, Wish
from storage.volumes.cache_sizes import free_bytes
from storage.volumes.snapshot import VolumeSnapshot


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def extend_volume(request: HttpRequest, key: str) -> HttpResponse:
    """A new size: form, then preview."""
    row = row_of(request, key)
    refusal = extend_refusal(row)
    form = ExtendForm(row, request.POST or None)
    shown, room_bytes = ("Resize", "staff/volumes/_extend_form.html"), growth_offers(row).room_bytes
    return form_action(
        request, row, form, Kind.EXTEND_VOLUME, *shown, refusal=refusal, room_bytes=room_bytes
    )


@staff_view(Right.OPERATE)
@require_POST
def move_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Preview the move to the tier that was named (`hdd` or `ssd`)."""
    tier = request.POST.get("tier", "")
    return preview_of(request, key, Kind.MOVE_VOLUME, lambda row: moved(row, tier))


def moved(row: VolumeSnapshot, tier: str) -> Wish:
    """The volume as it is, on the tier; raises `Refused`."""
    if tier not in TIERS:
        raise Refused("bad_request", "The tier must be hdd or ssd.", "Go back and choose a tier.")
    if (refusal := move_refusal(row, tier)) is not None:
        raise refusal
    return row.allowed(on_tier(row, tier))


class ExtendForm(WishForm):
    """The whole new size of a volume. `row` must have a wish (`VolumeSnapshot.wish`)."""

    size = forms.IntegerField(min_value=1, max_value=1024 * 1024, label="New size")
    unit = forms.ChoiceField(choices=[(unit, unit) for unit in UNITS], initial="GiB")

    def __init__(self, row: VolumeSnapshot, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row = row
        whole = row.volume.size_bytes % GIB == 0
        self.fields["unit"].initial = "GiB" if whole else "MiB"
        self.fields["size"].initial = row.volume.size_bytes // (GIB if whole else MIB)

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            data = self.cleaned_data
            try:
                self.wish = larger(self.row, data["size"] * UNITS[data["unit"]])
            except BadWish as error:
                raise ValidationError(str(error), code="too_small") from error
        return self.cleaned_data


def larger(row: VolumeSnapshot, size_bytes: int) -> Wish:
    """The volume as it is, with `size_bytes`; raises `BadWish` where that is not more than now."""
    current_wish = row.wish
    if current_wish is None:
        raise BadWish("The current state of the volume is unknown.")
    if size_bytes <= current_wish.size_bytes:
        raise BadWish(
            f"The volume already has {size(current_wish.size_bytes)}. Volumes cannot be shrunk."
        )
    return replace(current_wish, size_bytes=size_bytes, flushed=False)


def on_tier(row: VolumeSnapshot, tier: Tier) -> Wish | None:
    """The volume as it is, on `tier`. On SSD it has no cache: it would gain nothing from one."""
    current_wish = row.wish
    if current_wish is None:
        return None
    cache = None if tier == "ssd" else current_wish.cache
    return replace(current_wish, tier=tier, cache=cache, flushed=False)


@dataclass(frozen=True, slots=True)
class GrowthOffers:
    """`move` says why not, None where it can be done. `tier` is the one it would move to,
    `room_bytes` and `tier_room_bytes` what is free where it lies and there."""

    move: Refused | None
    tier: Tier
    room_bytes: int
    tier_room_bytes: int
    drops_cache: bool

    @property
    def move_title(self) -> str:
        return "Move to SSD" if self.tier == "ssd" else "Move to HDD"

    @property
    def move_effect(self) -> str:
        """What the move does, and what is free where it goes."""
        place = "SSD" if self.tier == "ssd" else "HDD"
        cache = " The cache is removed first." if self.drops_cache else ""
        return (
            f"Moves all data to {place} while the guest runs.{cache} {size(self.tier_room_bytes)} "
            "free there."
        )


def growth_offers(row: VolumeSnapshot) -> GrowthOffers:
    """What can be done as far as the last inventory tells; the host looks again."""
    current_wish = row.wish
    here: Tier = current_wish.tier if current_wish is not None else "hdd"
    other_tier: Tier = "ssd" if here == "hdd" else "hdd"
    return GrowthOffers(
        move=move_refusal(row, other_tier),
        tier=other_tier,
        room_bytes=_free(row, here),
        tier_room_bytes=_free(row, other_tier),
        drops_cache=other_tier == "ssd" and row.cache is not None,
    )


def extend_refusal(row: VolumeSnapshot) -> Refused | None:
    """Why the volume cannot have one extent more."""
    current_wish = row.wish
    if current_wish is None or row.vg is None:
        return row.refusal(current_wish)
    return row.refusal(larger(row, current_wish.size_bytes + row.vg.extent_bytes))


def move_refusal(row: VolumeSnapshot, tier: Tier) -> Refused | None:
    """Why the volume cannot go to `tier`."""
    current_wish = row.wish
    if current_wish is not None and current_wish.tier == tier:
        where = "SSD" if tier == "ssd" else "HDD"
        return Refused("already_so", f"The volume lies on {where}.", "No move is needed.")
    return row.refusal(on_tier(row, tier))


def _free(row: VolumeSnapshot, tier: Tier) -> int:
    if row.facts is None or row.placement is None:
        return 0
    return free_bytes(row.facts, row.placement.vg_uuid, TIERS[tier])
