"""Validators of forms and models for the names of `storage.naming`."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from storage.naming import NameFault, lines_fault, name_fault, text_fault


def demand_plain(text: str) -> None:
    """A text of one line that shows as it stands; raises ValidationError."""
    _demand_none(text_fault(text))


def demand_lines(text: str) -> None:
    """A text of several lines that shows as it stands; raises ValidationError."""
    _demand_none(lines_fault(text))


def demand_name(text: str) -> None:
    """A text of one line, of which something can be seen; raises ValidationError."""
    _demand_none(name_fault(text))


def _demand_none(fault: NameFault | None) -> None:
    if fault is not None:
        raise ValidationError(fault.message, code=fault.code)
