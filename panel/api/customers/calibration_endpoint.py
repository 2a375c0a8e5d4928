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
    """Accuracy of forecasts of one kind and technology. Errors are differences of shares of reads,
    0 to 1."""

    kind = Text("What the forecasts rest on, such as own_traffic.")
    technology = Text("lvmcache or bcache.")
    orders = Integer("Number of measured orders.")
    within = Integer("How many of these lay within the forecast range.")
    coverage_low = Float(
        "Lower bound of the true share, 0 to 1: holds nine times in ten for this number of orders.",
        of=lambda group: group.coverage_range[0],
    )
    coverage_high = Float("Upper bound of the same.", of=lambda group: group.coverage_range[1])
    median_error = Float("Median error: half of the forecasts are off by at most this.")
    p90_error = Float("90th percentile of the error.")
    median_half_width = Float("Half of the width of the middle range.")


class WideningShape(PastShape):
    """By how much new ranges of a technology are widened, because too few were accurate."""

    technology = Text("lvmcache or bcache.")


class MissShape(Shape):
    """An order whose measured share of reads is outside the forecast range."""

    order = Ref(
        "The order, named by its volume.", of=lambda miss: ref("api-order", miss.order, miss.volume)
    )
    kind = Text("What the forecast rests on.")
    technology = Text("lvmcache or bcache.")
    hit_rate_low = Float("Lower end of the forecast share of reads from SSD, 0 to 1.", of="low")
    hit_rate = Float("The most likely share.", of="likely")
    hit_rate_high = Float("That share at most.", of="high")
    hit_rate_measured = Float("The measured share.", of="measured")


class CalibrationsShape(Shape):
    """Accuracy of forecasts."""

    items = CalibrationShape("By kind and technology; empty: none was measured.", many=True)
    widenings = WideningShape("By technology; empty: none has been assessed yet.", many=True)
    worst = MissShape("The worst misses, largest error first.", many=True)


class Calibrations(Resource):
    """Accuracy of forecasts."""

    staff_only = True
    read_scope = Scope.BILLING_READ

    @operation("calibration", "Show the accuracy of forecasts", CalibrationsShape)
    def get(self, request: Request) -> Response:
        """Over the latest 1000 orders that were measured with a warm cache."""
        held = forecasts.held_forecasts(Proof.objects.visible_to(self.user))
        records = ForecastRecord.objects.order_by("technology")
        return self.shown(
            {
                "items": [show(CalibrationShape, each) for each in forecasts.calibrations(held)],
                "widenings": [show(WideningShape, each) for each in records],
                "worst": [show(MissShape, each) for each in forecasts.worst(held)],
            }
        )
