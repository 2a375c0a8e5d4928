"""The ledger: forecast against result, as a page and as CSV. Staff only."""

from __future__ import annotations

import csv
from typing import Final

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from panel.proofs import ledger as books
from storage.access import staff_view

PAGE_ROWS: Final = 50
CHUNK_ROWS: Final = 500


@require_safe
@staff_view()
def ledger(request: HttpRequest) -> HttpResponse:
    """Totals, by plan, and every order with what was expected of it and what it did."""
    proofs = books.proofs(request.user)
    page = Paginator(proofs, PAGE_ROWS).get_page(request.GET.get("page"))
    everything, plans = books.tallies(proofs.iterator(CHUNK_ROWS))
    context = {
        "page": page,
        "entries": [books.entry(proof) for proof in page],
        "all": everything,
        "plans": plans,
    }
    return render(request, "staff/ledger/ledger.html", context)


@require_safe
@staff_view()
def ledger_csv(request: HttpRequest) -> HttpResponse:
    """Every order of the ledger, newest first; "" is not known."""
    name = f"tiercel-ledger-{timezone.now():%Y%m%d-%H%M%S}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    response = HttpResponse(content_type="text/csv; charset=utf-8", headers=headers)
    lines = csv.writer(response)
    lines.writerow(books.COLUMNS)
    for proof in books.proofs(request.user).iterator(CHUNK_ROWS):
        lines.writerow(books.cells(proof))
    return response
