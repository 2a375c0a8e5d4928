"""Lengths of bars, for SVG attributes (the policy forbids style attributes)."""

from __future__ import annotations

from math import isfinite

from django import template

register = template.Library()

TIGHT = 0.9
"""From this share on a bar warns."""


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)


@register.filter
def width_of(part: object, whole: object) -> str:
    """`part` of `whole` as a number of percent from 0 to 100 ("41.3"); "0" where unknown."""
    above, below = _number(part), _number(whole)
    if above is None or below is None or below <= 0:
        return "0"
    return f"{min(100.0, max(0.0, 100 * above / below)):.1f}"


@register.filter
def is_tight(part: object, whole: object) -> bool:
    """Whether `part` is nearly all of `whole`."""
    above, below = _number(part), _number(whole)
    return above is not None and below is not None and below > 0 and above / below >= TIGHT


@register.filter
def less(whole: object, part: object) -> float | None:
    """`whole` without `part` (an unknown part counts as none), at least 0; None where unknown."""
    number = _number(whole)
    return None if number is None else max(0.0, number - (_number(part) or 0.0))
