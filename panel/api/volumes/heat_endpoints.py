"""What SSD of each size would bring to a volume, by its heat."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Boolean, Choice, Float, Integer, Text
from panel.api.framework.parameters import OneOf
from panel.api.framework.shape import Shape, show
from panel.api.volumes.volume_resource import VolumeResource
from storage.analysis.heat_forecast import missing_heat
from storage.analysis.size_curve import size_curve
from storage.database_clock import database_now

MODE = OneOf(
    "mode", "Mode of the cache. Default: writethrough.", values=("writethrough", "writeback")
)


class SizeShape(Shape):
    """The benefit of a cache of one size. A range contains the value nine times in ten."""

    size_bytes = Integer("Bytes of SSD.")
    hit_rate_low = Float("Share of reads that it would serve, at least, 0 to 1.", of="hit_rate.low")
    hit_rate = Float("The most likely share.", of="hit_rate.likely")
    hit_rate_high = Float("That share at most.", of="hit_rate.high")
    first_day_hit_rate_low = Float(
        "The same on its first day, when it starts empty, at least.", of="first_day.low"
    )
    first_day_hit_rate_high = Float("The same on its first day, at most.", of="first_day.high")
    read_ms_low = Float("Milliseconds that a read would take, at least.", of="read_ms.low")
    read_ms_high = Float("Milliseconds that a read would take, at most.", of="read_ms.high")
    saved_seconds_per_day_low = Float(
        "Seconds of waiting that it would save per day, at least; below 0: it would add some.",
        of="saved_seconds_per_day.low",
    )
    saved_seconds_per_day_high = Float(
        "Seconds of waiting that it would save a day, at most.", of="saved_seconds_per_day.high"
    )
    ssd_bytes_per_day_low = Float(
        "Bytes that it would write to the SSD per day, at least: its wear.",
        of="ssd_bytes_per_day.low",
    )
    ssd_bytes_per_day_high = Float(
        "Bytes that it would write to the SSD a day, at most.", of="ssd_bytes_per_day.high"
    )
    verdict = Choice("unknown: the range is too wide to say.", ["helps", "no_help", "unknown"])
    is_enough = Boolean("The smallest size that saves nearly as much as the largest.", given=True)


class RateShape(Shape):
    """A rate of the host that a forecast uses."""

    rate = Float("Its value.")
    measured_on = Choice(
        "Where most of it was measured: on this host, on others with the same disks, or elsewhere.",
        ["own", "same_disks", "published"],
        of="source",
    )
    weight = Float("Over how many misses, busy seconds or reads the host itself measured it.")
    hosts = Integer("How many other hosts with the same disks measured it.")


class PastShape(Shape):
    """Accuracy of earlier forecasts from volumes' own traffic."""

    orders = Integer("How many of the latest forecasts were measured.")
    within = Integer("How many of these lay within the model's range.")
    widened = Float("Factor by which ranges are widened; 1: not widened.")


class InputsShape(Shape):
    """Inputs of a forecast besides the volume's own traffic."""

    hdd_iops = RateShape("Slow I/Os a second that the HDDs serve.")
    ssd_read_ms = RateShape("Milliseconds of a read from SSD.")
    promotion_share = RateShape("Share of the misses that an lvmcache promotes, 0 to 1.")
    past = PastShape("Accuracy of earlier forecasts.")


class CurveShape(Shape):
    """The benefit of SSD, by size."""

    observed_seconds = Integer(
        "For how long its heat was counted; null: there is no forecast.", null=True
    )
    reason = Text("Why there is no forecast, in a sentence for people; empty: there is one.")
    inputs = InputsShape("Its other inputs; null: there is no forecast.", null=True)
    items = SizeShape("By size, smallest first; empty: there is no forecast.", many=True)


class VolumeCurve(VolumeResource):
    """The curve of a volume."""

    staff_only = True

    @operation("volume_curve", "Show what a cache of each size would bring", CurveShape,
        parameters=(MODE,))  # fmt: skip
    def get(self, request: Request, key: str) -> Response:
        """Based on the I/O that its host counted in the last two weeks (`docs/security.md`, What
        heat sees)."""
        row, now = self.row(key), database_now()
        curve = size_curve(row, now, writeback=MODE.of(request) == "writeback")
        if curve is None:
            reason = missing_heat(row, now)
            return self.shown(
                {"observed_seconds": None, "reason": reason, "inputs": None, "items": ()}
            )
        items = [show(SizeShape, each, is_enough=each is curve.enough) for each in curve.prospects]
        seconds = curve.observed_seconds
        inputs = show(InputsShape, curve.inputs) if curve.inputs is not None else None
        return self.shown(
            {"observed_seconds": seconds, "reason": "", "inputs": inputs, "items": items}
        )
