"""Which section of the bar a page of the staff belongs to."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Final

from django import template
from django.utils.safestring import SafeString

register = template.Library()

SECTIONS: Final = {
    "overview": ("home",),
    "hosts": ("host",),
    "alerts": ("alert", "silence"),
    "sales": ("cache-plan", "ledger", "calibration", "report", "revenue", "capacity"),
    "admin": (
        "person",
        "people",
        "billing",
        "audit",
        "security",
        "trail",
        "settings",
        "webhook",
        "benchmark",
    ),
    "volumes": ("volume", "adopt", "cache"),
    "jobs": ("job",),
    "customers": ("customer",),
}
"""The parts of the names of its routes. The first section that has one counts: a host's volumes are
a page of the host, a volume's jobs one of the volume."""


@register.filter
def section(route: str | None) -> str:
    """The key of `SECTIONS`, "" for a page of none."""
    return next(
        (name for name, parts in SECTIONS.items() if any(part in (route or "") for part in parts)),
        "",
    )


@register.filter
def current(here: str | None, names: str) -> SafeString:
    """The attribute that marks the link to the page one is at: `here` is its route or section, and
    one of the `names`, in which `*` stands for anything."""
    is_here = any(fnmatch(here or "", name) for name in names.split())
    return SafeString('aria-current="page"' if is_here else "")
