"""What caches of each size would bring to a volume, as a worker last worked it out."""

from __future__ import annotations

from django.db import models

from storage.models.volume import Volume


class SizeForecast(models.Model):
    """Working it out from weeks of heat takes half a second, so that a page of a host with hundreds
    of volumes reads it here (`storage.analysis.size_forecasts`). `mode` and `cache_bytes` (0 = no
    cache) are of the volume then: of another one it says nothing. `points` are of sizes, the
    smallest first; none where `reason` says why in a sentence."""

    volume = models.OneToOneField(
        Volume, primary_key=True, on_delete=models.CASCADE, related_name="size_forecast"
    )
    made_at = models.DateTimeField(db_index=True)
    mode = models.CharField(max_length=12)
    cache_bytes = models.BigIntegerField(default=0)
    observed_seconds = models.PositiveIntegerField(default=0)
    points = models.JSONField(default=list)
    reason = models.CharField(max_length=500, blank=True)

    def __str__(self) -> str:
        return f"sizes for volume {self.volume_id}"
