"""What hosts counted of volumes' heat: histograms of reuse times, never addresses."""

from __future__ import annotations

from django.db import models

from storage.models.volume import Volume


class HeatDay(models.Model):
    """The records of a volume that began on one UTC day, packed (`storage.analysis.heat_store`):
    one for each hour, and those of traces. The hours are `counted_seconds` together."""

    pk = models.CompositePrimaryKey("volume_id", "day")
    volume = models.ForeignKey(
        Volume, on_delete=models.CASCADE, db_index=False, related_name="heat_days"
    )
    day = models.DateField()
    records = models.BinaryField()
    counted_seconds = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        indexes = (models.Index(fields=("day",), name="heat_day"),)

    def __str__(self) -> str:
        return f"heat of volume {self.volume_id} on {self.day}"
