"""Views of a list: saved under a name, and deleted. Each belongs to one person."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from panel.models import SavedView
from panel.models.saved_view import MOST_VIEWS
from storage.access import staff_view
from storage.name_validators import demand_name

LISTS = ("alerts", "benchmarks", "customers", "hosts", "jobs", "people", "volumes")
"""The lists that have views; each is the name of its route."""


class ViewForm(forms.Form):
    """A name, and what of the address makes the view."""

    name = forms.CharField(max_length=60, validators=[demand_name])
    query = forms.CharField(max_length=1000, required=False)


@staff_view()
@require_POST
def save_view(request: HttpRequest, listing: str) -> HttpResponse:
    """Keep the list as it is shown; a view of the same name is replaced."""
    if listing not in LISTS or not isinstance(request.user, AbstractBaseUser):
        raise Http404
    form = ViewForm(request.POST)
    if not form.is_valid():
        messages.warning(request, "Enter a name of at most 60 characters for the view.")
        return redirect(_address(listing, request.POST.get("query", "")))
    mine = SavedView.objects.visible_to(request.user).filter(listing=listing)
    name, query = form.cleaned_data["name"], form.cleaned_data["query"]
    if mine.exclude(name=name).count() >= MOST_VIEWS:
        messages.warning(request, f"A list has at most {MOST_VIEWS} views. Delete one first.")
    else:
        mine.update_or_create(
            name=name, defaults={"query": query, "user_id": request.user.pk, "listing": listing}
        )
        messages.success(request, f"View “{name}” saved.")
    return redirect(_address(listing, query))


@staff_view()
@require_POST
def delete_view(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete one of the person's own views."""
    view = get_object_or_404(SavedView.objects.visible_to(request.user), pk=pk)
    view.delete()
    messages.success(request, f"View “{view.name}” deleted.")
    return redirect(_address(view.listing, ""))


def _address(listing: str, query: str) -> str:
    return reverse(listing) + (f"?{query}" if query else "")
