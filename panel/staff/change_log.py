"""The history of a record: who changed which field of a host, a volume, a customer or its mandate,
and when.

django-pghistory's triggers write an event for each change of a tracked field, by whatever means. An
update's event holds the row as it was before; the new values are in the next event, or in the
record itself. Fields that only repeat the host's reports are not tracked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from django.db.models import Model

from storage.formatting import size
from storage.planner.wish import BadWish, Wish
from storage.templatetags.money import amount
from storage.templatetags.units import stamp
from storage.volumes.wish_diff import changes

LAST = 20
PANEL_ITSELF = "Tiercel"
TEXT_LIMIT = 200
WISH: Final = "wish"
"""The field that has a whole structure in it."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field; `before` and `after` as text."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Edit:
    """What one statement changed: nothing but the label "created" for the first one. `who` is the
    address of an account, "Tiercel" for changes by the panel itself; `how` an API token or a job;
    `of` what was changed where that is not the page's own record."""

    at: datetime
    who: str
    how: str
    is_creation: bool
    changes: tuple[FieldChange, ...]
    of: str = ""


def edits(record: Model, of: str = "", most: int = LAST) -> list[Edit]:
    """The last changes of a tracked record, newest first."""
    tracked: Any = record  # the tracker gives it `events`, which no type knows
    events: list[Any] = list(tracked.events.order_by("-pgh_id")[:most])
    return list(_edits(record, events, of))


def _edits(record: Model, events: list[Any], of: str) -> Iterator[Edit]:
    later: Any = record
    for event in events:
        yield edit_of(event, later, of)
        later = event


def edit_of(event: Any, later: Any, of: str = "") -> Edit:
    """What one event says; `later` is the next event of the record or the record itself."""
    is_creation = event.pgh_label == "insert"
    context = event.pgh_context or {}
    return Edit(
        at=event.pgh_created_at,
        who=str(context.get("actor") or PANEL_ITSELF),
        how=_how(context),
        is_creation=is_creation,
        changes=() if is_creation else tuple(_changes(event, later)),
        of=of,
    )


def _changes(before: Any, after: Any) -> Iterator[FieldChange]:
    for field in before._meta.concrete_fields:
        name = field.attname
        if name.startswith("pgh_") or name == "id":
            continue
        old, new = getattr(before, name), getattr(after, name)
        if old != new and name == WISH:
            yield from _wish_changes(old, new)
        elif old != new:
            label = field.name.removesuffix("_minor").removesuffix("_bytes").replace("_", " ")
            yield FieldChange(
                label, _value_text(before, field, old), _value_text(after, field, new)
            )


def _value_text(record: Any, field: Any, value: object) -> str:
    """The value of a record's field as people know it: another record by its name, and amounts with
    their units."""
    if value is not None and field.is_relation:
        named = field.related_model._base_manager.filter(pk=value).first()
        return _text(named or f"a deleted {field.name.replace('_', ' ')}")
    if value is not None and field.name.endswith("_minor"):
        return amount(value, str(getattr(record, "currency", "")))
    if value is not None and field.name.endswith("_bytes"):
        return size(value)
    return _text(value)


def _wish_changes(old: object, new: object) -> Iterator[FieldChange]:
    """What a volume is recorded to be, in words; that of another version of the panel is left
    out."""
    try:
        before = Wish.from_json(cast("dict[str, Any]", old)) if old else None
        after = Wish.from_json(cast("dict[str, Any]", new)) if new else None
    except (BadWish, ValueError, TypeError, LookupError, AttributeError):
        yield FieldChange("recorded state", "-", "changed")
        return
    if after is None:
        yield FieldChange("recorded state", "known", "-")
        return
    for change in changes(before, after):
        yield FieldChange(change.what.lower(), change.before, change.after)


def _how(context: dict[str, Any]) -> str:
    if context.get("job"):
        return f"job {context['job']}"
    return f"API token {context['token']}" if context.get("token") else ""


def _text(value: object) -> str:
    if value is None or value in ("", {}):
        return "-"
    if isinstance(value, dict):
        return _cut("; ".join(f"{name}: {_reason(each)}" for name, each in value.items()))
    return _cut(stamp(value) if isinstance(value, datetime) else str(value))


def _reason(value: Any) -> object:
    """The reason of a decision; its author and time are shown beside it anyway."""
    return value.get("reason", value) if isinstance(value, dict) else value


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else f"{text[: TEXT_LIMIT - 1]}…"
