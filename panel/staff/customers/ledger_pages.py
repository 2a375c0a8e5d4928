"""The ledger: forecast against result, as a page and as CSV. Staff only."""

from __future__ import annotations

from typing import Final

from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from panel.lists.listing import ListColumn, ListDefinition, csv_file, list_page
from panel.proofs.ledger import COLUMNS, cells, entry, proofs, tallies
from storage.access import staff_view

CHUNK_ROWS: Final = 500
LISTING: Final = ListDefinition(
    name="ledger",
    first="-done",
    columns=(
        ListColumn("volume", "Volume", F("order__volume__label")),
        ListColumn("plan", "Plan", F("order__to_plan__name")),
        ListColumn("done", "Done", F("order__ended_at"), True),
        ListColumn("verdict", "Verdict", F("verdict")),
        ListColumn("expected", "Expected read hit rate", F("order__expected__hit_rate_high"), True),
        ListColumn("before", "Before", F("result__hit_rate_before")),
        ListColumn("after", "After", F("result__hit_rate_after"), True),
        ListColumn("time", "Read time", F("result__read_ms_after"), True, help="After the order"),
    ),
    cells=(),
)


@require_safe
@staff_view()
def ledger(request: HttpRequest) -> HttpResponse:
    """Totals, by plan, and every order with what was expected of it and what it did."""
    shown = proofs(request.user)
    found = list_page(request, LISTING, shown)
    everything, plans = tallies(shown.iterator(CHUNK_ROWS))
    context = {
        "list": found,
        "page": found.page,
        "entries": [entry(proof) for proof in found.page],
        "all": everything,
        "plans": plans,
    }
    return render(request, "staff/ledger/ledger.html", context)


@require_safe
@staff_view()
def ledger_csv(request: HttpRequest) -> HttpResponse:
    """Every order of the ledger, newest first; "" is not known."""
    name = f"tiercel-ledger-{timezone.now():%Y%m%d-%H%M%S}.csv"
    shown = proofs(request.user).iterator(CHUNK_ROWS)
    return csv_file(name, COLUMNS, map(cells, shown))
