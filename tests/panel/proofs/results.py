"""A proof that is ready, without the measuring."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from panel.models import Order, Proof, ProofState

RESULT: dict[str, Any] = {
    "verdict": "gain",
    "confidence": 0.9876,
    "hit_rate_before": 0.4,
    "hit_rate_after": 0.62,
    "hit_rate_change": 0.22,
    "hit_rate_change_low": 0.15,
    "hit_rate_change_high": 0.29,
    "read_ms_before": 8.0,
    "read_ms_after": 2.0,
    "read_times": 0.25,
    "read_times_low": 0.2,
    "read_times_high": 0.3,
    "read_ms_p50_before": 7.0,
    "read_ms_p50_after": 0.2,
    "read_ms_p95_before": 20.0,
    "read_ms_p95_after": 12.0,
    "read_iops_before": 100.0,
    "read_iops_after": 110.0,
    "slow_reads_spared_per_second": 24.2,
    "cache_bytes": 2 * 2**30,
    "volume_bytes": 8 * 2**30,
    "blocks": 168,
    "blocks_compared": 161,
    "has_percentiles": True,
}
"""As it was before writes were judged."""
WRITES: dict[str, Any] = {
    "verdict": "gain",
    "confidence": 0.98,
    "counted": True,
    "ms_before": 9.0,
    "ms_after": 0.3,
    "times": 0.033,
    "times_low": 0.03,
    "times_high": 0.04,
    "iops_before": 50.0,
    "iops_after": 50.0,
    "blocks_compared": 160,
}


def ready(order: Order) -> Proof:
    """The order's proof, a gain, of an hour before and an hour after it."""
    now, hour = timezone.now(), timedelta(hours=1)
    return Proof.objects.create(
        order=order,
        state=ProofState.READY,
        before_start=now - 3 * hour,
        before_end=now - 2 * hour,
        block_seconds=300,
        warm_by=now - hour,
        was_warm=True,
        after_start=now - hour,
        after_end=now,
        result=RESULT,
        verdict="gain",
        ended_at=now,
    )
