"""Choosing one of thousands by its name: a text field instead of a list of all of them.

What is typed may be a key, an external id, a name, or a part that is in one name alone; what is in
several names asks for more. What
is suggested while one types is in the same words (`choice_text`), so the field also works alone.
"""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from storage.models import Customer, Host
from storage.naming import KEY_PATTERN

MOST_SUGGESTED: Final = 12
SEPARATOR: Final = " · "
SHOWN_NAMESAKES: Final = 3
NOUNS: Final = {"customers": "customer", "hosts": "host"}


def choice_text(row: Customer | Host) -> str:
    """How a row is named in a choice: with its external id, which distinguishes namesakes."""
    external_id = getattr(row, "external_id", "")
    return f"{row.name}{SEPARATOR}{external_id}" if external_id else row.name


def suggested(rows: QuerySet[Any], text: str) -> list[str]:
    """The first few whose name begins with the text or has it within, those that begin with it
    first; keys distinguish namesakes without an external id."""
    words = text.partition(SEPARATOR)[0].strip()
    within = Q(name__icontains=words)
    if issubclass(rows.model, Customer):
        within |= Q(external_id__istartswith=words)
    first = list(rows.filter(name__istartswith=words)[:MOST_SUGGESTED])
    left = MOST_SUGGESTED - len(first)
    more = rows.filter(within).exclude(pk__in=[row.pk for row in first])[:left] if left else ()
    texts = [(choice_text(row), row) for row in (*first, *more)]
    counts: dict[str, int] = {}
    for each, _ in texts:
        counts[each] = counts.get(each, 0) + 1
    return [f"{each}{SEPARATOR}{row.key}" if counts[each] > 1 else each for each, row in texts]


def by_id(rows: QuerySet[Any], text: str) -> Any:
    """The one row that the text names by its key or else its external id, or as `choice_text` and
    `suggested` do; None where it is but a name. A key is stronger than an external id of the same
    text."""
    name, _, last = text.rpartition(SEPARATOR)
    if not last:
        return None
    is_meant = Q(key__in=[text, last])
    if issubclass(rows.model, Customer):
        is_meant |= Q(external_id=text) | Q(external_id=last, name=name)

    def rank(row: Customer | Host) -> tuple[bool, ...]:
        return row.key != text, getattr(row, "external_id", "") != text, row.name != name

    return min(rows.filter(is_meant), key=rank, default=None)


class Suggesting(forms.TextInput):
    """A text field that suggests names while one types."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            {"data-suggest": kind, "autocomplete": "off", "placeholder": "Part of a name"}
        )


class NamedChoiceField(forms.CharField):
    """One row of `queryset`, by what a person types; None for nothing. `kind` is what the panel's
    suggestions call the rows ("customers", "hosts"). A program that has the row gives the row:
    any text could be the external id or the name of another one."""

    def __init__(self, kind: str, **kwargs: Any) -> None:
        super().__init__(**{"max_length": 320, "widget": Suggesting(kind), **kwargs})
        self.kind = kind
        self.queryset: QuerySet[Any] = (
            Customer if kind == "customers" else Host
        )._default_manager.none()

    def prepare_value(self, value: Any) -> Any:
        """A row, or the key of one, by its name."""
        if isinstance(value, str) and KEY_PATTERN.fullmatch(value):
            value = self.queryset.filter(key=value).first() or value
        return choice_text(value) if isinstance(value, Model) else value  # type: ignore[arg-type]

    def clean(self, value: Any) -> Any:
        """The row that is meant."""
        if isinstance(value, Model):
            return value
        text = super().clean(value)
        return self._meant(text) if text else None

    def _meant(self, text: str) -> Any:
        rows = self.queryset
        row = by_id(rows, text)
        if row is not None and row.key == text:
            return row
        namesakes = list(rows.filter(name__iexact=text)[: SHOWN_NAMESAKES + 1])
        if row is not None:
            # One customer's external id can be another one's name.
            namesakes = list(dict.fromkeys([row, *namesakes]))
        if len(namesakes) == 1:
            return namesakes[0]
        exact = [each for each in namesakes if each.name == text]
        if row is None and len(exact) == 1:
            return exact[0]
        if not namesakes:
            namesakes = list(rows.filter(name__icontains=text)[: SHOWN_NAMESAKES + 1])
            if len(namesakes) == 1:
                return namesakes[0]
        noun = NOUNS[self.kind]
        if namesakes:
            raise ValidationError(
                f"Several {self.kind} are named “{text}”, or so in part. Choose one from the list, "
                "or enter the external id or the key.",
                code="ambiguous",
            )
        raise ValidationError(f"There is no {noun} “{text}”.", code="unknown")
