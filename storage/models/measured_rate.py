"""What forecasts learn from: rates of hosts over weeks, and how forecasts held."""

from __future__ import annotations

from typing import Final

from django.db import models

from storage.models.host import Host

HARDWARE_CHARACTERS: Final = 200


class RateKind(models.TextChoices):
    """promotion_share: which part of the misses an lvmcache took in. hdd_iops: slow I/Os a second
    that the HDDs served while they were busy. ssd_read_ms: what a read from SSD took."""

    PROMOTION_SHARE = "promotion_share", "promotions for each miss"
    HDD_IOPS = "hdd_iops", "slow I/Os a second of the HDDs"
    SSD_READ_MS = "ssd_read_ms", "milliseconds of a read from SSD"


class MeasuredRate(models.Model):
    """A rate of one volume group of a host over the last weeks: `amount` for each of `weight`
    misses, busy seconds or reads. Groups with the same `hardware` (how many disks of which model)
    are compared; "" is not known."""

    pk = models.CompositePrimaryKey("host_id", "vg_uuid", "kind")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, db_index=False, related_name="+")
    vg_uuid = models.CharField(max_length=38)
    kind = models.CharField(max_length=15, choices=RateKind.choices)
    hardware = models.CharField(max_length=HARDWARE_CHARACTERS, blank=True)
    amount = models.FloatField()
    weight = models.FloatField()
    measured_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=("kind", "hardware"), name="rate_hardware"),)

    def __str__(self) -> str:
        return f"{self.kind} of host {self.host_id}"


class ForecastRecord(models.Model):
    """How forecasts from volumes' own traffic held, of one technology: of the newest `orders` that
    were measured, `within` lay in the range. Ranges are drawn `widened` times as wide (1 or more).
    """

    technology = models.CharField(max_length=8, primary_key=True)
    orders = models.PositiveIntegerField()
    within = models.PositiveIntegerField()
    widened = models.FloatField()
    judged_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"forecasts of {self.technology}"
