"""Reports and the ledger."""

from __future__ import annotations

from django.urls import path

from panel.proof import ledger_pages, pages

urlpatterns = [
    path("my/orders/<str:key>/report", pages.my_report, name="my-report"),
    path("ledger/", ledger_pages.ledger, name="ledger"),
    path("ledger/csv", ledger_pages.ledger_csv, name="ledger-csv"),
    path("ledger/<str:key>/", pages.report, name="report"),
]
