"""A name shows as it stands, wherever it is printed."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from storage.name_validators import demand_lines, demand_name, demand_plain

PLAIN = [
    "web12",
    "Müller & Söhne",
    "crm-2 (old)",
    "\u0627\u0644\u0645\u062a\u062c\u0631",
    "a\u200cb",
    "\U0001f468\u200d\U0001f4bb",
]
UNPLAIN = [
    "a\u0007b",
    "a\nb",
    "\x1b[31mred",
    "\u202eexe.test",
    "a\u2028b",
    "zero\ufeffwidth",
    "a\u00adb",
    "half\ud800",
]
INVISIBLE = ["\u3164", "\u2800 \u2800", "   "]


@pytest.mark.parametrize("text", PLAIN)
def test_a_name_is_any_text_that_shows_as_it_stands(text: str) -> None:
    demand_name(text)


@pytest.mark.parametrize("text", UNPLAIN)
def test_no_name_changes_what_stands_around_it(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        demand_name(text)
    assert refused.value.code == "control_character"


def test_the_character_that_is_refused_is_named() -> None:
    with pytest.raises(ValidationError, match=r"U\+202E"):
        demand_plain("\u202eexe.test")


@pytest.mark.parametrize("text", [*PLAIN, "a\nb", "a\tb", "", "\n"])
def test_a_text_of_several_lines_may_have_line_breaks_and_tabs(text: str) -> None:
    demand_lines(text)


@pytest.mark.parametrize("text", [each for each in UNPLAIN if each != "a\nb"] + ["a\rb"])
def test_no_text_of_several_lines_has_other_control_characters(text: str) -> None:
    with pytest.raises(ValidationError, match=r"Enter text without control characters"):
        demand_lines(text)


@pytest.mark.parametrize("text", INVISIBLE)
def test_a_name_shows_something(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        demand_name(text)
    assert refused.value.code == "invisible"
