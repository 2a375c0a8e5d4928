"""Answers as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.utils.translation import gettext_lazy

from panel.api.framework.rendering import JsonRenderer, json_bytes


def test_words_that_are_translated_later_are_text() -> None:
    assert json_bytes({"title": gettext_lazy("Back soon")}) == b'{"title":"Back soon"}'


def test_moments_amounts_and_letters_of_any_script_are_as_ever() -> None:
    moment = datetime(2026, 11, 24, 9, 30, 0, 250_000, tzinfo=UTC)
    assert json_bytes({"at": moment, "amount": Decimal("1.10"), "label": "Zoë 🙂"}) == (
        '{"at":"2026-11-24T09:30:00.250000Z","amount":"1.10","label":"Zoë 🙂"}'.encode()
    )


def test_what_json_has_no_form_for_is_an_error_and_not_a_text() -> None:
    with pytest.raises(TypeError, match="object cannot be written as JSON"):
        json_bytes({"it": object()})


def test_equal_data_are_equal_bytes_when_sorted() -> None:
    assert json_bytes({"b": 1, "a": 2}, is_sorted=True) == json_bytes(
        {"a": 2, "b": 1}, is_sorted=True
    )


def test_an_answer_without_data_is_empty() -> None:
    assert JsonRenderer().render(None) == b""
