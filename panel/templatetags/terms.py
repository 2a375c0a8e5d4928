"""The "?" beside a figure, which leads to what the glossary says of it.

A built-in library of the templates: none of them loads it.
"""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from panel.help import glossary
from panel.templatetags.chips import drawing

register = template.Library()


@register.simple_tag(name="term")
def explanation(word: str) -> SafeString:
    """`{% term "hit rate" %}`; its meaning is shown to a pointer at once."""
    known = glossary.term(word)
    return format_html(
        '<a class="term" href="{}" title="{}" aria-label="What is {}?">{}</a>',
        known.url,
        known.text,
        word,
        drawing("help"),
    )
