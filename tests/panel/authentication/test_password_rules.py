"""What may not be a password here."""

from __future__ import annotations

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from pytest_django import Settings


@pytest.mark.parametrize("password", ["Tiercel2026", "bcachebcache", "Panel-1111", "acmehost2026"])
def test_the_names_of_this_panel_are_no_passwords(settings: Settings, password: str) -> None:
    settings.TIERCEL_PUBLIC_URL = "https://storage.acmehost.example"
    with pytest.raises(ValidationError, match="too similar to"):
        validate_password(password)


@pytest.mark.parametrize("password", ["tiercel eats 9 mice", "ünïcode 🔑 of any kind" * 9])
def test_anything_else_that_is_long_enough_may_be_one(password: str) -> None:
    validate_password(password)


def test_one_that_everybody_uses_may_not() -> None:
    with pytest.raises(ValidationError, match="too common"):
        validate_password("password123")
