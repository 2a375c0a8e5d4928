"""Look-ups that templates of the stack need."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

register = template.Library()


@register.filter
def at(mapping: Mapping[str, str], key: str) -> str:
    """`mapping[key]`, "" where there is none."""
    return mapping.get(key, "")
