"""Host keys as a person compares them."""

from __future__ import annotations

from django import template

from jobs.hosts import contact

register = template.Library()


@register.filter
def fingerprint(openssh_key: str) -> str:
    """`SHA256:…` of a public key line, '' where there is none."""
    return contact.fingerprint(openssh_key) if openssh_key else ""
