"""Every body of the API holds exactly what it is described to hold: no type is guessed, no time is
without its zone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework import serializers

import panel.urls  # noqa: F401 (it imports every view, and with them every body)
from panel.api.framework.bodies import Body
from panel.api.framework.fields import Lines

OTHER_TYPES: dict[type[serializers.Field[Any, Any, Any, Any]], tuple[Any, ...]] = {
    serializers.BooleanField: (1, 0, "yes", "on", "true", "t", 1.0, ["true"]),
    serializers.IntegerField: ("1", 1.0, True, [1]),
    serializers.FloatField: ("1", "1.5", True, [1.5]),
    serializers.CharField: (1, 1.5, True, ["a"], {"a": 1}),
    serializers.ChoiceField: (1, 1.5, True, ["a"]),
    serializers.DateTimeField: (1, 1.5, True, ["2026-11-21T08:00:00Z"]),
    serializers.TimeField: (1, 8.5, True, ["08:00"]),
    # Whatever is JSON: the endpoint reads it.
    serializers.JSONField: (),
}
"""What is no value of a field, by its kind."""


def bodies(base: type[Body] = Body) -> Iterator[type[Body]]:
    """Every class of bodies."""
    for each in base.__subclasses__():
        yield each
        yield from bodies(each)


def fields() -> list[Any]:
    """Every field of every body that is no body itself, as a case with its name."""
    return [
        pytest.param(body, name, id=f"{body.__name__}.{name}")
        for body in dict.fromkeys(bodies())
        for name, field in body().fields.items()
        if not isinstance(getattr(field, "child", field), Body)
    ]


def faults(body: type[Body], name: str, value: Any) -> Any:
    """What is said of one value of a body."""
    given = body(data={name: value})
    given.is_valid()
    return given.errors.get(name)


def times() -> list[Any]:
    return [
        case
        for case in fields()
        if isinstance(case.values[0]().fields[case.values[1]], serializers.DateTimeField)
    ]


@pytest.mark.parametrize(("body", "name"), times())
@pytest.mark.parametrize("text", ["2026-11-21T08:00:00", "2026-11-21T08:00", "2026-11-21"])
def test_a_time_without_its_zone_is_refused(body: type[Body], name: str, text: str) -> None:
    [error] = faults(body, name, text)
    assert error.code == "no_zone"
    assert faults(body, name, "2026-11-21T08:00:00+01:00") is None


def test_the_bodies_that_hold_a_time_are_looked_at() -> None:
    assert {"MandateBody.earliest_next_at", "SilenceBody.until"} <= {case.id for case in times()}


@pytest.mark.parametrize(("body", "name"), fields())
def test_no_value_of_another_type_is_taken(body: type[Body], name: str) -> None:
    field = body().fields[name]
    is_list = isinstance(field, serializers.ListField)
    kind = field.child if is_list else field
    [others] = [values for of, values in OTHER_TYPES.items() if isinstance(kind, of)]
    for other in others:
        assert faults(body, name, [other] if is_list else other), other
    if is_list:
        for other in ("a", 1, {"0": "a"}):
            assert faults(body, name, other), other


def texts() -> list[Any]:
    return [
        case
        for case in fields()
        for field in [case.values[0]().fields[case.values[1]]]
        if isinstance(getattr(field, "child", field), serializers.CharField)
        and case.values[1] not in case.values[0].made_plain
    ]


@pytest.mark.parametrize(("body", "name"), texts())
def test_a_text_is_one_line_that_shows_as_it_stands(body: type[Body], name: str) -> None:
    field = body().fields[name]
    is_list, lines = isinstance(field, serializers.ListField), ("a\nb", "a\r\nb")
    for text in (
        *(() if isinstance(field, Lines) else lines),
        "\x1b[31m",
        "a\u0085",
        "a\u202eb",
        "a\u200bb",
        "\U000e0041",
    ):
        assert "control characters" in str(faults(body, name, [text] if is_list else text)), text


def test_the_bodies_that_hold_a_text_are_looked_at() -> None:
    assert {"SilenceBody.reason", "HostBody.site", "HostBody.tags", "AlertRouteBody.secret"} <= {
        case.id for case in texts()
    }
