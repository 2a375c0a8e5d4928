"""Form fields with Tabler's classes."""

from __future__ import annotations

from typing import Any

from django import forms, template
from django.conf import settings
from django.forms.boundfield import BoundField
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

register = template.Library()


@register.filter
def control(field: BoundField) -> SafeString:
    """The field's widget with the class that Tabler expects of its kind, and what it showed first
    where the form compares with that."""
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
    if kind := widget.attrs.get("data-suggest"):
        return _suggesting(field, str(kind), attrs)
    if isinstance(widget, forms.PasswordInput):
        return format_html(
            '<div class="input-group">{}<button type="button" class="btn" data-show-password'
            ' aria-controls="{}" aria-pressed="false" hidden>{}</button></div>',
            field.as_widget(attrs=attrs),
            field.id_for_label,
            gettext("Show"),
        )
    widget_html = field.as_widget(attrs=attrs)
    if not field.field.show_hidden_initial:
        return widget_html
    return format_html("{}{}", widget_html, field.as_hidden(only_initial=True))


def _suggesting(field: BoundField, kind: str, attrs: dict[str, Any]) -> SafeString:
    """A text field with names below it that come while one types; without JavaScript it is a text
    field."""
    names = f"{field.auto_id}-names"
    attrs |= {
        "list": names,
        "hx-get": reverse("suggest", args=[kind]),
        "hx-trigger": "input changed delay:150ms, focus once",
        "hx-target": f"#{names}",
        "hx-swap": "innerHTML",
        "hx-include": "this",
        "hx-sync": "this:replace",
    }
    return format_html('{}<datalist id="{}"></datalist>', field.as_widget(attrs=attrs), names)


@register.simple_tag
def sends_mail() -> bool:
    """Whether the panel has a mail server to send by."""
    return bool(settings.SMTP_HOST)
