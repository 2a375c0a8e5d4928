"""What only customers' pages need: times of their own zone, and the way to support."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.conf import settings
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from panel.languages.local_times import TimeStyle, time_tag

register = template.Library()


@register.filter
def local(at: object, style: TimeStyle = "long") -> SafeString:
    """A moment, which the browser shows in its own time zone; `style` is long, short or date."""
    return time_tag(at, style) if isinstance(at, datetime) else SafeString("-")


@register.simple_tag
def support(about: str = "", text: str = "") -> SafeString:
    """A link to the provider's support, by mail `about` something; "" where none is set up."""
    address, page = settings.TIERCEL_SUPPORT_EMAIL, settings.TIERCEL_SUPPORT_URL
    if not (address or page):
        return SafeString("")
    query = f"?{urlencode({'subject': about}).replace('+', '%20')}" if about else ""
    return format_html(
        '<a href="{}">{}</a>',
        page or f"mailto:{address}{query}",
        text or gettext("Contact support"),
    )


@register.simple_tag
def price_note() -> str:
    """What is said beside prices, such as "incl. VAT"."""
    return str(settings.TIERCEL_PRICE_NOTE)
