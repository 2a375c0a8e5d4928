"""What of an inventory does not fit its shape: it is left out whole, and named. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from storage.host_data import BadHostData, clean_text, converted

UNREAD_LIMIT: Final = 50
"""So many are named, and one of each list and group: a host that gets everything wrong needs no
longer list."""


@dataclass(frozen=True, slots=True)
class Unread:
    """One thing of an inventory that does not fit its shape: in which list it stands, its name and
    the uuid of its group as far as they are text, and which field is odd."""

    part: str
    name: str
    vg_uuid: str
    why: str


def unread_named(unread: list[Unread]) -> list[Unread]:
    """The first of them, and whatever their number one for each list and group: what is absent
    there must not count as gone."""
    first = {(each.part, each.vg_uuid): each for each in reversed(unread)}
    return [
        each
        for number, each in enumerate(unread)
        if number < UNREAD_LIMIT or first[each.part, each.vg_uuid] is each
    ]


def readable_things(
    part: str, shape: type, things: list[Any], unread: list[Unread]
) -> Iterator[Any]:
    """The things that fit their shape; the others are noted in `unread`."""
    for number, thing in enumerate(things):
        try:
            converted(thing, shape, f"inventory.{part}[{number}]")
        except BadHostData as error:
            fields = thing if isinstance(thing, dict) else {}
            texts = (fields.get(key) for key in ("name", "vg_uuid"))
            name, vg_uuid = (each if isinstance(each, str) else "" for each in texts)
            own = fields.get("uuid") if part == "vgs" else vg_uuid
            why = clean_text(str(error))
            unread.append(Unread(part, name, own if isinstance(own, str) else "", why))
        else:
            yield thing
