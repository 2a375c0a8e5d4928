"""Reports and the ledger."""

from __future__ import annotations

from django.urls import path

from panel.portal import report
from panel.staff.customers import ledger_pages

urlpatterns = [
    path("my/orders/<str:key>/report", report.my_report, name="my-report"),
    path("ledger/", ledger_pages.ledger, name="ledger"),
    path("ledger/csv", ledger_pages.ledger_csv, name="ledger-csv"),
    path("ledger/<str:key>/", report.report, name="report"),
]
