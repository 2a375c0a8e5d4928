"""Look-ups for the pages of hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django import template

from jobs.hosts import trust
from storage.inventory.device_tree import degraded_words
from storage.inventory.facts import Array

register = template.Library()

FAST_MS: Final = 5


@register.filter
def at(mapping: Mapping[str, object], key: str) -> object:
    """`mapping[key]`, None where there is none."""
    return mapping.get(key)


@register.filter
def fingerprint(openssh_key: str) -> str:
    """`SHA256:…` of a public key line, "" for none, as a person compares it."""
    return trust.key_fingerprint(openssh_key) if openssh_key else ""


@register.filter
def latency_class(read_ms: float, is_slow: bool) -> str:
    """The colour of a bar of latency: as an SSD, as a disk, or slow."""
    if is_slow:
        return "stack-tight"
    return "stack-fast" if read_ms < FAST_MS else "stack-slow"


@register.filter
def degraded(array: Array) -> str:
    """How many of its disks a degraded array has; "" for a whole one."""
    return degraded_words(array)
