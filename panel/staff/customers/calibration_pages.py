"""How forecasts held, over all orders. Staff only."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from panel.models import Proof
from panel.proofs import calibration as forecasts
from panel.proofs.scatter import scatter
from storage.access import staff_view
from storage.models import ForecastRecord


@require_safe
@staff_view()
def calibration(request: HttpRequest) -> HttpResponse:
    """Forecast against measured: a drawing, errors by kind of forecast, and the worst misses."""
    held = forecasts.held_forecasts(Proof.objects.visible_to(request.user))
    context: dict[str, object] = {"enough": forecasts.ENOUGH_ORDERS}
    if held:
        context |= {
            "all": forecasts.ForecastGroup("", "", held),
            "groups": forecasts.calibrations(held),
            "worst": forecasts.worst(held),
            "chart": scatter(held),
            "widened": ForecastRecord.objects.filter(widened__gt=1).order_by("technology"),
        }
    return render(request, "staff/ledger/calibration.html", context)
