"""The pages of Help. Customers get the terms of their own pages; staff every document."""

from __future__ import annotations

from itertools import groupby

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from panel.help import documents, glossary, help_search
from panel.help.documents import GROUPS
from storage.access import is_staff

QUERY_CHARACTERS = 100
FOR_ALL = "api"


@require_safe
def help_home(request: HttpRequest) -> HttpResponse:
    """The documents by task, or the results of a search."""
    query = request.GET.get("q", "").strip()[:QUERY_CHARACTERS]
    staff = is_staff(request.user)
    groups = GROUPS if staff else {}
    context = {
        "q": query,
        "passages": help_search.search(query, for_customers=not staff),
        "groups": [
            (title, [documents.document(name) for name in names]) for title, names in groups.items()
        ],
    }
    return render(request, "help/help.html", context)


@require_safe
def help_document(request: HttpRequest, name: str) -> HttpResponse:
    """One document. Customers write programs, too, and a problem's `doc_url` leads to its code."""
    if name not in documents.names() or not (name == FOR_ALL or is_staff(request.user)):
        raise Http404
    return render(request, "help/document.html", {"document": documents.document(name)})


@require_safe
def glossary_page(request: HttpRequest) -> HttpResponse:
    """Every term that concerns the person, by section."""
    shown = glossary.terms_for(staff=is_staff(request.user))
    sections = [
        (section, documents.anchor_of(section), list(terms))
        for section, terms in groupby(shown, key=lambda term: term.section)
    ]
    return render(request, "help/glossary.html", {"sections": sections})
