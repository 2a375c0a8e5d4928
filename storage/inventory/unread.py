"""What of an inventory does not fit its shape: it is left out whole, and named. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from storage.host_data import BadHostData, clean_text, converted

MISSING: Final = "inventory: Object missing required field `{}`"
UNREAD_LIMIT: Final = 50
"""The most that are named, and one of each list and group: a host that gets everything wrong needs
no longer list."""


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


def readable_fields(
    data: Mapping[str, Any], shapes: Mapping[str, tuple[Any, Any]], unread: list[Unread]
) -> dict[str, Any]:
    """The fields of the host itself. `shapes` has for each its shape, and what stands for one that
    does not fit, which is noted in `unread`. One that an older agent does not send stays absent."""
    fields: dict[str, Any] = {}
    for name, (shape, instead) in shapes.items():
        if name in data:
            try:
                converted(data[name], shape, f"inventory.{name}")
                fields[name] = data[name]
            except BadHostData as error:
                fields[name] = instead
                unread.append(Unread("host", name, "", clean_text(str(error))))
        elif isinstance(instead, bool):
            fields[name] = instead
            unread.append(Unread("host", name, "", MISSING.format(name)))
    return fields


def readable_things(part: str, shape: type, things: Any, unread: list[Unread]) -> Iterator[Any]:
    """The things that fit their shape, of two with one uuid the first; the others are noted in
    `unread`, and so is a list that is none."""
    if not isinstance(things, list):
        why = MISSING.format(part) if things is None else f"inventory.{part}: Expected `array`"
        unread.append(Unread(part, "", "", why))
        return
    known: set[str] = set()
    for number, thing in enumerate(things):
        try:
            uuid = thing.get("uuid") if isinstance(thing, dict) else None
            if part == "lvs" and str(uuid) in known:
                raise BadHostData(f"inventory.{part}[{number}]: another one has its uuid")
            converted(thing, shape, f"inventory.{part}[{number}]")
        except BadHostData as error:
            fields = thing if isinstance(thing, dict) else {}
            texts = (fields.get(key) for key in ("name", "vg_uuid"))
            name, vg_uuid = (each if isinstance(each, str) else "" for each in texts)
            own = fields.get("uuid") if part == "vgs" else vg_uuid
            why = clean_text(str(error))
            unread.append(Unread(part, name, own if isinstance(own, str) else "", why))
        else:
            known.add(str(uuid))
            yield thing
