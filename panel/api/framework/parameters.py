"""Parameters of the query. Each says what it means, reads its value or refuses it, and may say
which rows of a list it leaves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeVar

from django.db.models import Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from panel.api.deprecations import Deprecation
from panel.api.framework.parsing import whole_number
from panel.api.framework.problem import ApiProblem
from panel.charts.time_range import parsed_time

Rows = TypeVar("Rows", bound=QuerySet[Any])
Location = Literal["query", "header"]
MOST_KEYS: Final = 200
BOOLEANS: Final = ("true", "false")
QUERY: Final = "query"


@dataclass(frozen=True)
class Parameter:
    """A text. `where` says which rows it leaves: a lookup, or a function of the value. One for
    `staff` is unknown to everybody else."""

    name: str
    text: str
    where: str | Callable[[Any], Q] | None = None
    staff: bool = False
    may_be_empty: bool = False
    deprecated: Deprecation | None = None
    repeatable: ClassVar[bool] = False
    location: ClassVar[Location] = QUERY

    def of(self, request: Request) -> Any:
        """Its value; None where it is missing. Raises `ApiProblem` (400)."""
        text = request.query_params.get(self.name)
        return None if text is None else self.read(text)

    def read(self, text: str) -> Any:
        """The value that the text means."""
        return text

    def narrow(self, request: Request, rows: Rows) -> Rows:
        """The rows that it leaves."""
        value = self.of(request)
        if value is None or self.where is None:
            return rows
        are_meant = self.where(value) if callable(self.where) else Q((self.where, value))
        return rows.filter(are_meant)

    def refused(self, message: str, code: str = "invalid") -> ApiProblem:
        """What is wrong with its value."""
        return bad_parameter(self.name, code, message)

    def described(self) -> OpenApiParameter:
        """As the description has it."""
        return self._described(OpenApiTypes.STR)

    def _described(self, kind: Any, **options: Any) -> OpenApiParameter:
        return OpenApiParameter(
            self.name,
            kind,
            self.location,
            description=self.text,
            deprecated=self.deprecated is not None,
            **options,
        )


@dataclass(frozen=True)
class Header(Parameter):
    """A header that means something here alone."""

    location: ClassVar[Location] = "header"
    is_required: bool = False

    def described(self) -> OpenApiParameter:
        """As the description has it."""
        return self._described(OpenApiTypes.STR, required=self.is_required)


@dataclass(frozen=True)
class OneOf(Parameter):
    """One of the `values`."""

    values: Collection[str] = ()

    def read(self, text: str) -> str:
        """The value, which is known."""
        if text not in self.values:
            raise self.refused(f"One of {', '.join(self.values)}.")
        return text

    def described(self) -> OpenApiParameter:
        """As the description has it."""
        return self._described(OpenApiTypes.STR, enum=list(self.values))


@dataclass(frozen=True)
class SomeOf(Parameter):
    """Some of the `values`: it is repeated for several."""

    values: Collection[str] = ()
    repeatable: ClassVar[bool] = True

    def of(self, request: Request) -> list[str] | None:
        """The values; None where it is missing."""
        given = request.query_params.getlist(self.name)
        if not set(given) <= set(self.values):
            raise self.refused(f"One of {', '.join(self.values)}; repeat it for several.")
        return given or None

    def described(self) -> OpenApiParameter:
        """As the description has it."""
        text = f"{self.text} Repeated: any of them."
        return OpenApiParameter(
            self.name, OpenApiTypes.STR, description=text, enum=list(self.values), many=True,
            explode=True,
        )  # fmt: skip


@dataclass(frozen=True)
class Truth(Parameter):
    """`true` or `false`."""

    is_boolean: bool = False

    def read(self, text: str) -> bool:
        """Which of them it is."""
        if text not in BOOLEANS:
            raise self.refused("true or false.")
        return text == BOOLEANS[0]

    def described(self) -> OpenApiParameter:
        """As the description has it: as a text, or as the boolean that some were from the start."""
        if self.is_boolean:
            return self._described(OpenApiTypes.BOOL)
        return self._described(OpenApiTypes.STR, enum=list(BOOLEANS))


@dataclass(frozen=True)
class Number(Parameter):
    """A whole number from `least` to `most`."""

    least: int = 0
    most: int = 2**31 - 1
    default: int = 0

    def of(self, request: Request) -> int:
        """The number, or the default."""
        value = super().of(request)
        return self.default if value is None else value

    def read(self, text: str) -> int:
        """The number, which is in range."""
        number = whole_number(text)
        if number is None or not self.least <= number <= self.most:
            message = f"A whole number from {self.least} to {self.most}."
            raise self.refused(message, "out_of_range")
        return number

    def described(self) -> OpenApiParameter:
        """As the description has it."""
        return self._described({"type": "integer", "minimum": self.least, "maximum": self.most})


@dataclass(frozen=True)
class Moment(Parameter):
    """An RFC 3339 time."""

    def read(self, text: str) -> Any:
        """The time, which has a zone."""
        at = parsed_time(text)
        if at is None:
            message = "An RFC 3339 time with a time zone, not far from now: 2026-11-21T08:00:00Z "
            raise self.refused(f"{message}(a + in a URL is written %2B).")
        return at

    def described(self) -> OpenApiParameter:
        """As the description has it."""
        return self._described(OpenApiTypes.DATETIME)


@dataclass(frozen=True)
class Keys(Parameter):
    """Keys, separated by commas."""

    def read(self, text: str) -> list[str]:
        """The keys, not too many."""
        keys = [key for key in text.split(",") if key]
        if not 1 <= len(keys) <= MOST_KEYS:
            raise self.refused(f"1 to {MOST_KEYS} keys, separated by commas.", "out_of_range")
        return keys


def bad_parameter(name: str, code: str, message: str) -> ApiProblem:
    """A query parameter that is unknown or out of range."""
    return ApiProblem(
        400,
        "invalid_parameter",
        f"The parameter {name} is not valid.",
        message,
        errors=[{"parameter": name, "code": code, "message": message}],
    )
