"""Heat of some volumes of a fleet, so that its pages have curves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from storage.analysis.measured_use import use_of
from storage.analysis.size_forecasts import renew_forecast
from storage.models import Host, Placement, Volume
from storage.volumes.snapshot import snapshots_of
from tests.heat_scene import HOURLY, count_heat

HOURS = 96
VOLUMES = 8
"""Of the first hosts, those that read the most; each third one reads nothing again."""
HOSTS = 2


def warm(hosts: Sequence[Host], now: datetime) -> list[Volume]:
    """Count the heat of volumes on the first hosts, of as many I/Os as their samples have, and work
    out what sizes would bring to them."""
    counted = list[Volume]()
    for host in hosts[:HOSTS]:
        hello = {**host.hello, "heat": {"state": "running"}}
        Host.objects.filter(pk=host.pk).update(hello=hello)
        placed = Placement.objects.filter(host=host, until=None).select_related("volume")
        by_reads = placed.order_by("-volume__latest_sample__read_ms", "pk")
        volumes = [each.volume for each in by_reads[:VOLUMES]]
        rows = snapshots_of(volumes)
        for number, row in enumerate(rows):
            used = use_of(row, now)
            ios = used.sums.reads + used.sums.writes
            hourly = max(HOURLY, round(3600 * ios / max(1.0, used.seconds)))
            count_heat(row.volume, HOURS, now, is_hot=number % 3 != 2, hourly=hourly)
            renew_forecast(row, now)
        counted += volumes
    return counted
