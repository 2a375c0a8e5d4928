"""Hosts that were measured, and links to screens that show them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from panel.staff.kiosk.kiosk_links import make_link
from storage.metrics.rates.figures import NO_LATENCY
from storage.metrics.samples.host_load import bucket_of
from storage.metrics.samples.load_rollup import BUCKET, HELD, SPACE, SUMS
from storage.models import Host, HostLoad
from tests import make


def load(host: Host, at: datetime, **sums: int) -> HostLoad:
    """What the host did in the five minutes of `at`, of which it reported whole."""
    zero = dict.fromkeys((*SUMS, *HELD, *SPACE), 0)
    values = {**zero, "dt_ms": 300_000, **sums}
    return HostLoad.objects.create(
        host=host, bucket=bucket_of(at), latency_counts=list(NO_LATENCY), **values
    )


def loaded_host(hours: int = 2, *, read_ms: int = 4, **fields: Any) -> Host:
    """A host that read 10 times a second for hours, each in so many milliseconds."""
    host, now = make.host(**fields), timezone.now()
    for n in range(hours * 12):
        load(host, now - n * BUCKET, reads=3000, read_ms=3000 * read_ms, busy_ms=30_000)
    make.activity(host, read_iops=10, write_iops=5, busy=0.1)
    return host


def address(**link: Any) -> str:
    """The path of a new link."""
    made = make_link("Office", make.staff_user(), **link)[1]
    return made[made.index("/kiosk/") :]


def part_of(path: str) -> str:
    """The path of the part that renews itself."""
    return reverse("kiosk-now", args=[path.rstrip("/").rpartition("/")[2]])


def ago(**time: int) -> datetime:
    return timezone.now() - timedelta(**time)
