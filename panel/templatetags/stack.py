"""Look-ups that templates of the stack need."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

register = template.Library()


@register.filter
def at(mapping: Mapping[str, object], key: str) -> object:
    """`mapping[key]`, None where there is none."""
    return mapping.get(key)
