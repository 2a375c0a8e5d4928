"""Look-ups for the pages of hosts."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from jobs.hosts import trust

register = template.Library()


@register.filter
def at(mapping: Mapping[str, object], key: str) -> object:
    """`mapping[key]`, None where there is none."""
    return mapping.get(key)


@register.filter
def fingerprint(openssh_key: str) -> str:
    """`SHA256:…` of a public key line, "" for none, as a person compares it."""
    return trust.fingerprint(openssh_key) if openssh_key else ""
