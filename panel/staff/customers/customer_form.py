"""A customer as people and the API write it."""

from __future__ import annotations

from django import forms

from storage.models import Customer


class CustomerForm(forms.ModelForm):  # type: ignore[type-arg]
    """Name and external id; an external id belongs to one customer."""

    class Meta:
        model = Customer
        fields = ("name", "external_id")
        help_texts = {"external_id": ("The customer's id in your billing system. Optional.")}  # noqa: RUF012
