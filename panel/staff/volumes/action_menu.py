"""The one menu of a volume's page: everything that can be done to the volume, with the reason where
it cannot be done now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse

from panel.staff.volumes.resize_pages import extend_refusal, growth_offers
from storage.access import Person, Right, may
from storage.formatting import size
from storage.planner import Refused
from storage.volumes.cache_wish import no_size, offered_sizes
from storage.volumes.lifecycle import life_offers
from storage.volumes.snapshot import VolumeSnapshot

READ_ONLY = Refused(
    "not_allowed",
    "Your role allows you to view, not to change.",
    "Ask an admin of this panel for the operator role.",
)
NOT_AN_ADMIN = Refused("not_allowed", "Requires the admin role.", "")
NOTHING_TO_FLUSH = Refused("clean", "Nothing to flush.", "")


@dataclass(frozen=True, slots=True)
class MenuItem:
    """`is_asked`: a form is shown first; without it the item itself asks for the preview, with
    `fields`. `opens_here`: the form opens on the volume's page. `hint` is what it does, `refusal`
    why it cannot be done now."""

    name: str
    title: str
    url: str
    hint: str = ""
    refusal: Refused | None = None
    is_asked: bool = False
    opens_here: bool = True
    is_danger: bool = False
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ActionMenu:
    """`refusal` bars all that would change the host; the items that it bars do not repeat it."""

    groups: tuple[tuple[MenuItem, ...], ...]
    refusal: Refused | None

    def item(self, name: str) -> MenuItem | None:
        return next((each for group in self.groups for each in group if each.name == name), None)

    @property
    def new_cache(self) -> MenuItem | None:
        return self.item("cache-form") if self.item("cache-replace") is None else None


def menu_of(row: VolumeSnapshot, user: Person, now: datetime) -> ActionMenu | None:
    """None for a volume that does not exist yet, or no longer."""
    volume = row.volume
    if row.is_planned or volume.destroyed_at is not None:
        return None
    refusal = row.refusal(row.wish) if may(user, Right.OPERATE) else READ_ONLY
    if volume.retired_at is not None:
        life = life_offers(row, now)
        refusal = None if may(user, Right.OPERATE) else READ_ONLY
        groups = [_of_record(row), (_restore(row, life.restore), _destroy(row, user, life.destroy))]
    else:
        groups = [_of_size(row), _of_cache(row), _of_record(row), (_retire(row, now),)]
    if refusal is not None:
        is_record = refusal is not READ_ONLY
        groups = [_barred(group, refusal, but_for=RECORD if is_record else ()) for group in groups]
    return ActionMenu(tuple(groups), refusal)


RECORD = ("volume-record", "volume-customer")
"""What changes nothing on a host."""


def _barred(
    group: tuple[MenuItem, ...], refusal: Refused, but_for: tuple[str, ...]
) -> tuple[MenuItem, ...]:
    return tuple(each if each.name in but_for else replace(each, refusal=refusal) for each in group)


def _of_size(row: VolumeSnapshot) -> tuple[MenuItem, ...]:
    offers = growth_offers(row)
    return (
        _item(
            row,
            "volume-extend",
            "Resize",
            "Adds space while the guest runs.",
            refusal=extend_refusal(row),
            is_asked=True,
        ),
        replace(
            _item(row, "volume-move", offers.move_title, offers.move_effect, refusal=offers.move),
            fields=(("tier", offers.tier),),
        ),
    )


def _of_cache(row: VolumeSnapshot) -> tuple[MenuItem, ...]:
    if row.cache is None:
        return (
            _item(
                row,
                "cache-form",
                "Add a cache",
                f"On SSD, by {row.technology.name}. The guest keeps running.",
                refusal=_no_cache(row),
                is_asked=True,
            ),
        )
    has_dirty = row.cache.mode == "writeback" or bool(row.cache.dirty_bytes)
    return (
        _item(row, "cache-replace", "Cache size", is_asked=True),
        _item(row, "cache-form", "Cache mode and settings", is_asked=True),
        _item(
            row,
            "cache-flush",
            "Flush cache",
            f"Writes dirty data to the HDD ({size(row.cache.dirty_bytes)} at the last "
            "inventory) and keeps the cache.",
            refusal=None if has_dirty else NOTHING_TO_FLUSH,
        ),
        _item(row, "cache-remove", "Remove cache", "Flushes it first; no data is lost."),
    )


def _of_record(row: VolumeSnapshot) -> tuple[MenuItem, ...]:
    return (
        _item(row, "volume-record", "Name and note", is_asked=True),
        _item(row, "volume-customer", "Change customer", is_asked=True),
    )


def _retire(row: VolumeSnapshot, now: datetime) -> MenuItem:
    return _item(
        row,
        "volume-retire",
        "Retire",
        "Deactivates the volume and keeps its data. Shut its guest down first.",
        refusal=life_offers(row, now).retire,
        is_danger=True,
    )


def _restore(row: VolumeSnapshot, refusal: Refused | None) -> MenuItem:
    hint = "Activates it under its old name. A former cache is not recreated."
    return _item(row, "volume-restore", "Restore", hint, refusal=refusal)


def _destroy(row: VolumeSnapshot, user: Person, refusal: Refused | None) -> MenuItem:
    if refusal is None and not may(user, Right.ADMINISTER):
        refusal = NOT_AN_ADMIN
    return _item(
        row,
        "volume-destroy",
        "Destroy",
        f"Overwrites {size(row.volume.size_bytes)} with zeros and removes the volume for good.",
        refusal=refusal,
        is_asked=True,
        opens_here=False,
        is_danger=True,
    )


def _no_cache(row: VolumeSnapshot) -> Refused | None:
    """Why no cache can be added: the volume's own obstacle, or want of room for the smallest."""
    refusal = row.refusal(row.wish)
    if refusal is not None:
        return refusal
    return None if offered_sizes(row) else no_size(row)


def _item(
    row: VolumeSnapshot,
    name: str,
    title: str,
    hint: str = "",
    *,
    refusal: Refused | None = None,
    is_asked: bool = False,
    opens_here: bool = True,
    is_danger: bool = False,
) -> MenuItem:
    url = reverse(name, args=[row.volume.key])
    return MenuItem(name, title, url, hint, refusal, is_asked, opens_here, is_danger)
