"""What each size of SSD would gain for a volume: a part of its page."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from panel.charts.size_chart import size_chart
from panel.orders.plan_choices import offers_of
from panel.staff.job_requests import row_of
from panel.staff.volumes.volume_frame import frame
from panel.staff.volumes.volume_traces import trace_context
from storage.access import Right, staff_view
from storage.analysis.curve.prospects import Prospect
from storage.analysis.heat_forecast import missing_heat
from storage.analysis.heat_store import set_counting
from storage.analysis.size_choice import saved_range
from storage.analysis.size_curve import size_curve
from storage.database_clock import database_now
from storage.templatetags.money import amount
from storage.volumes.plan_offers import Offer
from storage.volumes.snapshot import VolumeSnapshot

ALLOWED = "Heat may be recorded from now on."
FORBIDDEN = "Heat is no longer recorded. The recorded heat was deleted."
MODES = ("writethrough", "writeback")


@dataclass(frozen=True, slots=True)
class SoldPlan:
    """A plan that is sold for the volume, and what a cache of its size would bring."""

    offer: Offer
    prospect: Prospect

    @property
    def label(self) -> str:
        return f"{self.offer.name}, {amount(self.offer.price_minor, self.offer.currency)}"

    @property
    def saved(self) -> str:
        return saved_range(self.prospect)


def _sold(row: VolumeSnapshot, *, writeback: bool) -> list[Offer]:
    """The plans whose cache takes writes, or does not; the smallest first."""
    sold = [
        offer
        for offer in offers_of(row)
        if offer.plan is not None and (offer.plan.mode == "writeback") is writeback
    ]
    return sorted(sold, key=lambda offer: (offer.size_bytes, offer.price_minor))


@staff_view()
@require_safe
def volume_curve(request: HttpRequest, key: str) -> HttpResponse:
    """A tab of its own, and in brief for the summary that loads it. `mode` is that of the cache,
    one of `MODES`."""
    row, now = row_of(request, key), database_now()
    is_brief = request.headers.get("HX-Request") == "true"
    mode = request.GET.get("mode", "")
    mode = mode if mode in MODES else MODES[0]
    writeback = mode == "writeback"
    sold = _sold(row, writeback=writeback)
    also = [each.size_bytes for each in sold]
    curve = size_curve(row, now, writeback=writeback, also=also)
    context: dict[str, object] = {
        "row": row,
        "volume": row.volume,
        "host": row.host,
        "mode": mode,
        "promotes": row.technology.counts_promotions,
    }
    if curve is None:
        context["reason"] = missing_heat(row, now)
    else:
        enough = curve.enough
        by_size = {each.size_bytes: each for each in curve.prospects}
        plans = [
            SoldPlan(offer, by_size[offer.size_bytes])
            for offer in sold
            if offer.size_bytes in by_size
        ]
        large = [each for each in plans if enough and each.offer.size_bytes >= enough.size_bytes]
        context |= {
            "curve": curve,
            "enough": enough,
            "is_largest": enough is curve.prospects[-1],
            "saved": saved_range(enough) if enough else "",
            "plans": plans,
            "plan": min(large, key=lambda each: each.offer.size_bytes, default=None),
            "curve_chart": size_chart(
                curve.prospects,
                curve.size_now,
                enough.size_bytes if enough else None,
                [] if is_brief else [(each.label, each.prospect) for each in plans],
            ),
        }
    if is_brief:
        return render(request, "staff/volumes/_curve_brief.html", context)
    context |= {"modes": MODES, **trace_context(row), **frame(request, row, "volume-curve")}
    return render(request, "staff/volumes/curve.html", context)


@staff_view(Right.OPERATE)
@require_POST
def volume_heat(request: HttpRequest, key: str) -> HttpResponse:
    """Record the heat of the volume, or stop (`end`)."""
    row, is_end = row_of(request, key), "end" in request.POST
    set_counting(row.volume, allowed=not is_end)
    messages.success(request, f"{row.volume.label}: {FORBIDDEN if is_end else ALLOWED}")
    return redirect("volume-curve", key)
