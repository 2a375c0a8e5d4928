"""`manage.py add_up_loads`: the charts of hosts and of the fleet for the time before an update."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand

from storage.database_clock import database_now
from storage.metrics.samples import load_rollup
from storage.metrics.samples.host_load import bucket_of


class Command(BaseCommand):
    """One day after the other, so that none holds a lock for long."""

    help = (
        "Add up the loads of hosts and of the fleet from all samples that are kept. Run it once "
        "after an update from a version without charts of hosts. Safe to repeat."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the days."""
        oldest, now = load_rollup.oldest_sample(), bucket_of(database_now())
        if oldest is None:
            self.stdout.write("There are no samples.")
            return
        start = first = bucket_of(oldest)
        # The bucket that still lasts is being added to.
        while start < now:
            end = min(start + timedelta(days=1), now)
            rows = load_rollup.recompute(start, end)
            self.stdout.write(f"{start:%Y-%m-%d %H:%M}: {rows} rows")
            start = end
        load_rollup.add_up_fleet(first)
