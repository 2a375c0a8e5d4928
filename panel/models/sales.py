"""What the owner's pages know beyond orders: what an SSD costs, and who saw a plan sold out."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models

from storage.currency import MOST_MINOR
from storage.models import CachePlan, Volume


class SsdPrice(models.Model):
    """What the owner pays for a TB of SSD, in minor units of `currency`; one row, or none while
    it is not entered."""

    id = models.BooleanField(primary_key=True, default=True)
    minor_per_tb = models.BigIntegerField(validators=[MinValueValidator(1)])
    currency = models.CharField(max_length=3)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(id=True), name="ssd_price_once"),
            models.CheckConstraint(
                condition=models.Q(minor_per_tb__gt=0, minor_per_tb__lte=MOST_MINOR),
                name="ssd_price_is_a_price",
            ),
        )

    def __str__(self) -> str:
        return f"{self.minor_per_tb} {self.currency} per TB"


class SoldOutView(models.Model):
    """The customer of a volume last saw at `seen_at` that a plan is sold out for it."""

    volume = models.ForeignKey(Volume, on_delete=models.CASCADE, related_name="+")
    plan = models.ForeignKey(CachePlan, on_delete=models.CASCADE, related_name="+")
    seen_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("volume", "plan"), name="sold_out_view_once"),
        )

    def __str__(self) -> str:
        return f"{self.plan} for {self.volume}, {self.seen_at}"
