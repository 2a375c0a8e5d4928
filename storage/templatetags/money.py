"""Template filters for prices."""

from __future__ import annotations

from django import template

from storage.currency import major_of
from storage.language import figure, gettext

register = template.Library()


@register.filter
def money(minor: object, currency: str) -> str:
    """Minor units as "4.90 EUR"; "no charge" for nothing, "-" for what is unknown."""
    if isinstance(minor, bool) or not isinstance(minor, int):
        return "-"
    return amount(minor, currency) if minor else gettext("no charge")


@register.filter
def amount(minor: object, currency: str) -> str:
    """The same, but nothing is "0.00 EUR": for columns and sums."""
    if isinstance(minor, bool) or not isinstance(minor, int):
        return "-"
    return f"{figure(major_of(minor, currency))} {currency}".strip()
