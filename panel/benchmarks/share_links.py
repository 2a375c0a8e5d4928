"""Links to a benchmark for people without an account: figures alone, until a time."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models.functions import Now
from django.urls import reverse

from panel.benchmarks.measured import MeasuredRun
from storage.database_clock import database_now
from storage.models import Benchmark
from storage.planner import Refused

DAYS: Final = 30
MOST_DAYS: Final = 365
KEY_BYTES: Final = 18


def share_by_link(benchmark: Benchmark, days: int = DAYS) -> str:
    """Show the figures to everyone with the address for so many days. A benchmark that is shared
    already keeps its address and gets the new end. Raises `Refused` where nothing is done yet."""
    if not benchmark.runs.filter(summary__isnull=False).exists():
        raise Refused("not_now", "No run has a result yet.", "Share it once the first run is done.")
    if not 1 <= days <= MOST_DAYS:
        raise Refused("invalid", f"{days} days is not a valid period.", f"Choose 1 to {MOST_DAYS}.")
    if not is_shared(benchmark, database_now()):
        benchmark.share_key = secrets.token_urlsafe(KEY_BYTES)
    benchmark.share_until = database_now() + timedelta(days=days)
    benchmark.save(update_fields=["share_key", "share_until"])
    return address_of(benchmark)


def end_share(benchmark: Benchmark) -> None:
    """End the link for good: a later share gets another address."""
    benchmark.share_key, benchmark.share_until = "", None
    benchmark.save(update_fields=["share_key", "share_until"])


def is_shared(benchmark: Benchmark, now: datetime) -> bool:
    """Whether its address shows something."""
    return benchmark.share_until is not None and benchmark.share_until > now


def address_of(benchmark: Benchmark) -> str:
    """Where it is shared."""
    path = reverse("benchmark-shared", args=[benchmark.share_key])
    return f"{settings.TIERCEL_PUBLIC_URL}{path}"


def shared_benchmark(key: str) -> Benchmark | None:
    """The one of that address; None where it has ended, or never was."""
    if not key:
        return None
    return Benchmark.objects.filter(share_key=key, share_until__gt=Now()).first()


def without_places(runs: tuple[MeasuredRun, ...]) -> tuple[MeasuredRun, ...]:
    """The runs without where they were measured, for strangers."""
    return tuple(
        replace(run, source=replace(run.source, place="", title="Benchmark"), boot_id="")
        for run in runs
    )
