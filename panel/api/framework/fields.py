"""The fields of shapes and bodies. The first argument of each is its description, written nowhere
else; a field of a shape also says where its value comes from (`Sourced`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.utils import timezone
from rest_framework import serializers

from panel.charts.time_range import RFC_3339
from storage.currency import digits_of

AnyField = serializers.Field[Any, Any, Any, Any]
Source = str | Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Where a field of a shape has its value from, and who sees it (`Sourced`)."""

    of: Source | None = None
    customers: Source | None = None
    staff: bool = False
    detail: bool = False
    given: bool = False


class Sourced(AnyField):
    """`of` is the attribute of the row, or of what an attribute of it has (`actor.email`), or a
    function of the row; without it, it is the attribute of the field's own name.

    A field for `staff` is missing for everybody else, who see what `customers` says where it is
    given; one of `detail` is missing in lists. What is `given` comes from the view and not from the
    row, as does any other field that is not `required`.
    """

    def __init__(
        self,
        text: str = "",
        *,
        of: Source | None = None,
        customers: Source | None = None,
        staff: bool = False,
        detail: bool = False,
        given: bool = False,
        **options: Any,
    ) -> None:
        self.origin = ValueSource(of, customers, staff, detail, given)
        super().__init__(**described(text, options, may_be_missing=staff or detail))


def described(text: str, options: dict[str, Any], *, may_be_missing: bool = False) -> Any:
    """The options of a field as DRF names them."""
    if text:
        options["help_text"] = text
    if options.pop("null", False):
        options["allow_null"] = True
    if may_be_missing:
        options["required"] = False
    return options


class Text(Sourced, serializers.CharField):
    """A text."""


class Lines(Text):
    """A text of several lines."""


class By(Text):
    """Who did something."""

    def __init__(self, of: Source | None = None, **options: Any) -> None:
        text = "E-mail address of the person; null or empty: the panel itself."
        super().__init__(text, of=of, **options)


class Pattern(Sourced, serializers.RegexField):
    """A text of this form."""

    def __init__(self, text: str, form: str, **options: Any) -> None:
        super().__init__(text, regex=form, **options)


class Email(Sourced, serializers.EmailField):
    """An e-mail address."""


class Uuid(Sourced, serializers.UUIDField):
    """A UUID."""


class Integer(Sourced, serializers.IntegerField):
    """A whole number."""


class CurrencyDigits(Integer):
    """The decimal places of the row's currency."""

    def __init__(self, of: Source = "currency", **options: Any) -> None:
        text = "Decimal places of the currency: with 2, 490 minor units are 4.90."
        super().__init__(text, of=of, **options)

    def to_representation(self, value: Any) -> int:
        """Of the currency that is its value."""
        return digits_of(value)


class Float(Sourced, serializers.FloatField):
    """A number."""


class Boolean(Sourced, serializers.BooleanField):
    """True or false."""


class Choice(Sourced, serializers.ChoiceField):
    """One of the `values`."""

    def __init__(self, text: str, values: Iterable[Any], **options: Any) -> None:
        super().__init__(text, choices=list(values), **options)


class Time(Sourced, serializers.TimeField):
    """A time of day."""


class DateTime(Sourced, serializers.DateTimeField):
    """An RFC 3339 time. One without a time zone is refused as ambiguous."""

    default_error_messages: ClassVar = {"no_zone": "Write the time zone: 2026-11-21T08:00:00Z."}

    def to_internal_value(self, value: Any) -> datetime:
        """Python reads more than RFC 3339, such as days of weeks."""
        at: datetime = super().to_internal_value(value)
        if isinstance(value, str) and RFC_3339.fullmatch(value) is None:
            self.fail("invalid", format="2026-11-21T08:00:00Z")
        return at

    def enforce_timezone(self, value: datetime) -> datetime:
        if timezone.is_naive(value):
            self.fail("no_zone")
        return super().enforce_timezone(value)


class List(Sourced, serializers.ListField):
    """A list of what `each` is."""

    def __init__(self, text: str, each: AnyField, **options: Any) -> None:
        super().__init__(text, child=each, **options)


class Texts(List):
    """A list of texts."""

    def __init__(self, text: str, **options: Any) -> None:
        super().__init__(text, Text(), **options)


class Map(Sourced, serializers.DictField):
    """Names of any kind, each with what `each` is."""

    def __init__(self, text: str, each: AnyField, **options: Any) -> None:
        super().__init__(text, child=each, **options)


class Anything(Sourced, serializers.JSONField):
    """Any JSON."""


class Nested(Sourced):
    """What an object of several fields has as a field of another one; with `many=True`, a list of
    such objects."""

    @classmethod
    def many_init(cls, *args: Any, **options: Any) -> Any:
        """DRF's, for which the list has the text and the options, too."""
        parent: Any = super()
        text, *_ = args or ("",)
        missing = options.get("staff", False) or options.get("detail", False)
        return parent.many_init(**described(text, options, may_be_missing=missing))
