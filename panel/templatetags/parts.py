"""Parts of pages that hold text of their page (docs/ui-parts.md).

A built-in library of the templates: none of them loads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from storage.models import Volume

register = template.Library()


class Linked(Protocol):
    """What has a name and a page."""

    @property
    def name(self) -> str: ...

    @property
    def url(self) -> str: ...


@register.simple_block_tag(end_name="endemptystate")
def emptystate(
    content: SafeString, title: str, action_url: str = "", action_text: str = ""
) -> SafeString:
    """A page or card that has no content yet: what will appear here, and how."""
    text = mark_safe(" ".join(content.split()))  # noqa: S308 (rendered, so it is escaped)
    return render_to_string(
        "parts/empty.html",
        {"title": title, "text": text, "action_url": action_url, "action_text": action_text},
    )


@register.inclusion_tag("parts/action_button.html")
def action_button(
    route: str, *args: object, text: str, look: str = "", icon: str = "", of: str = ""
) -> dict[str, str]:
    """A button that does something at once: it posts to a route. `look` has more of Tabler's
    classes, and screen readers also hear `of` what."""
    url = reverse(route, args=args)
    return {"url": url, "text": text, "look": f"btn {look}".strip(), "icon": icon, "of": of}


@register.filter
def links(subjects: Iterable[Linked]) -> SafeString:
    """Links to what has a name and an address, with commas between."""
    return _links((each.url, each.name) for each in subjects)


@register.filter
def volume_links(volumes: Iterable[Volume]) -> SafeString:
    """The same of volumes."""
    return _links((reverse("volume", args=[each.key]), each.label) for each in volumes)


def _links(targets: Iterable[tuple[str, str]]) -> SafeString:
    return format_html_join(", ", '<a href="{}">{}</a>', targets)
