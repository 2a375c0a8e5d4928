"""Form fields with Tabler's classes."""

from __future__ import annotations

from typing import Any

from django import forms, template
from django.conf import settings
from django.forms.boundfield import BoundField
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def control(field: BoundField) -> SafeString:
    """The field's widget with the class that Tabler expects of its kind."""
    widget = field.field.widget
    if isinstance(widget, forms.CheckboxInput):
        css_class = "form-check-input"
    elif isinstance(widget, forms.Select):
        css_class = "form-select"
    else:
        css_class = "form-control"
    attrs: dict[str, Any] = {"class": f"{css_class} is-invalid" if field.errors else css_class}
    if widget.attrs.get("placeholder") == field.label:
        attrs["placeholder"] = False  # says what the label says, so it is left out
    return field.as_widget(attrs=attrs)


@register.simple_tag
def sends_mail() -> bool:
    """Whether the panel has a mail server to send by."""
    return bool(settings.SMTP_HOST)
