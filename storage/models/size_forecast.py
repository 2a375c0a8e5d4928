"""What caches of each size would bring to a volume, as a worker last worked it out."""

from __future__ import annotations

from django.db import models

from storage.models.volume import Volume


class SizeForecast(models.Model):
    """Working it out takes a second, so that pages of many volumes read it here. `forecasts` are
    those of each technology and mode, packed (`storage.analysis.size_forecasts`); none where
    `reason` says why in a sentence. `cache_bytes` is the cache of the volume then (0 = none); with
    another it says nothing. `enough_bytes` is a size that is enough: 0 none, None unknown."""

    volume = models.OneToOneField(
        Volume, primary_key=True, on_delete=models.CASCADE, related_name="size_forecast"
    )
    made_at = models.DateTimeField(db_index=True)
    cache_bytes = models.BigIntegerField(default=0)
    observed_seconds = models.PositiveIntegerField(default=0)
    enough_bytes = models.BigIntegerField(null=True)
    forecasts = models.BinaryField(default=bytes)
    reason = models.CharField(max_length=500, blank=True)

    def __str__(self) -> str:
        return f"sizes for volume {self.volume_id}"
