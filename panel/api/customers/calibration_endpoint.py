"""How forecasts held, over all orders."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Float, Integer, Text
from panel.api.framework.refs import Ref, ref
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.api.volumes.heat_endpoints import PastShape
from panel.models import Proof, Scope
from panel.proofs import calibration as forecasts
from storage.models import ForecastRecord


class CalibrationShape(Shape):
    """Of forecasts of one kind and technology. Errors are of shares of reads, 0 to 1."""

    kind = Text("What the forecasts rest on, such as own_traffic.")
    technology = Text("lvmcache or bcache.")
    orders = Integer("So many orders were measured.")
    within = Integer("Of these lay in the range that was forecast.")
    coverage_low = Float(
        "Of so few orders, the true share lies above this nine times in ten, 0 to 1.",
        of=lambda group: group.coverage_range[0],
    )
    coverage_high = Float("And below this.", of=lambda group: group.coverage_range[1])
    median_error = Float("Half of the forecasts are off by so much or less.")
    p90_error = Float("Nine in ten are off by so much or less.")
    median_half_width = Float("Half of the width of the middle range.")


class WideningShape(PastShape):
    """By how much new ranges of a technology are widened, because too few held."""

    technology = Text("lvmcache or bcache.")


class MissShape(Shape):
    """An order whose measured share of reads lies outside of the forecast range."""

    order = Ref(
        "The order, named by its volume.", of=lambda miss: ref("api-order", miss.order, miss.volume)
    )
    kind = Text("What the forecast rests on.")
    technology = Text("lvmcache or bcache.")
    hit_rate_low = Float("Share of reads from SSD that was forecast at least, 0 to 1.", of="low")
    hit_rate = Float("The likely share.", of="likely")
    hit_rate_high = Float("That share at most.", of="high")
    hit_rate_measured = Float("The share that was measured.", of="measured")


class CalibrationsShape(Shape):
    """How forecasts held."""

    items = CalibrationShape("By kind and technology; empty: none was measured.", many=True)
    widenings = WideningShape("By technology; empty: none was judged yet.", many=True)
    worst = MissShape("The worst misses, the largest error first.", many=True)


class Calibrations(Resource):
    """How forecasts held."""

    staff_only = True
    read_scope = Scope.BILLING_READ

    @operation("calibration", "Show how forecasts held", CalibrationsShape)
    def get(self, request: Request) -> Response:
        """Of the newest thousand orders that were measured with a warm cache."""
        held = forecasts.held_forecasts(Proof.objects.visible_to(self.user))
        records = ForecastRecord.objects.order_by("technology")
        return self.shown(
            {
                "items": [show(CalibrationShape, each) for each in forecasts.calibrations(held)],
                "widenings": [show(WideningShape, each) for each in records],
                "worst": [show(MissShape, each) for each in forecasts.worst(held)],
            }
        )
