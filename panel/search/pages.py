"""Search: its own page, and the list below the field in the top bar."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from panel.search.name_search import cleaned, find

MOST_ON_PAGE, MOST_IN_BAR = 25, 4


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Everything found, by kind; the thing itself where a person sent the form and there is one."""
    text = cleaned(request.GET.get("q", ""))
    groups = find(request.user, text, MOST_ON_PAGE)
    hits = [hit for group in groups for hit in group.hits]
    if len(hits) == 1 and "HX-Request" not in request.headers:
        return redirect(hits[0].url)
    context = {"q": text, "groups": groups, "hit_count": len(hits)}
    return render(request, "search/search.html", context)


@require_safe
def found(request: HttpRequest) -> HttpResponse:
    """The first few of each kind, for the top bar."""
    text = cleaned(request.GET.get("q", ""))
    groups = find(request.user, text, MOST_IN_BAR)
    hit_count = sum(len(group.hits) for group in groups)
    context = {"q": text, "groups": groups, "hit_count": hit_count}
    return render(request, "search/_found.html", context)
