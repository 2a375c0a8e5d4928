"""The map of a host and that of the fleet, as pages and as the parts that refresh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from panel.charts.heat_bands import (
    UNKNOWN,
    busy_heat,
    busy_legend,
    latency_heat,
    latency_legend,
    volume_heat,
)
from panel.http.fragments import fragment_or_page
from panel.staff.hosts import fleet
from panel.staff.hosts.fleet_map import PROBLEMS_LEGEND, fleet_map
from panel.staff.hosts.host_map import DiskNow, VolumeNow, host_map
from storage.access import Person, staff_view
from storage.health.slowness import SLOW_MINUTES
from storage.inventory.facts import HostFacts
from storage.metrics.samples import latest_of
from storage.models import Device, DeviceKind, Host, PhysicalDisk, Placement
from storage.models.host import BUSY_PERCENT, silent_seconds
from storage.stored_inventory import inventory_of
from storage.volumes.slow_limit import SlowLimits
from storage.volumes.slow_volumes import slow_counts, slow_times

LASTING: Final = f" for {SLOW_MINUTES} min"
OWN_LIMITS: Final = f" (a volume:{LASTING}, or by the limit of its plan)"


def host_map_context(user: Person, host: Host, facts: HostFacts) -> dict[str, Any]:
    """The context of `staff/hosts/_host_map.html`."""
    slow_ms = SlowLimits().of(None, host.slow_read_ms, host.tags).ms
    volumes = dict(_volumes(user, host))
    return {
        "host": host,
        "map": host_map(facts, volumes, _disks(user, host, slow_ms)),
        "latency_legend": latency_legend(slow_ms, differs=OWN_LIMITS),
        "busy_legend": busy_legend(host.busy_percent),
    }


@staff_view()
@require_safe
def host_map_now(request: HttpRequest, key: str) -> HttpResponse:
    """The map alone, with the figures of now."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    facts = inventory_of(host)
    context = host_map_context(request.user, host, facts) if facts is not None else {}
    part = "staff/hosts/_host_map.html"
    return fragment_or_page(
        request, part, context, title="Storage map", of=host, is_quiet=facts is None
    )


@staff_view()
@require_safe
def hosts_map(request: HttpRequest) -> HttpResponse:
    """All hosts by site; for the page that shows it already, the map alone."""
    lines = fleet.lines_of(request.user, timezone.now())
    context = {
        "map": fleet_map(lines, slow_counts(line.host.pk for line in lines)),
        "is_empty": not lines,
        "latency_legend": latency_legend(
            SlowLimits().of(None, None, ()).ms,
            differs=f"{LASTING}, or the limit of its host",
        ),
        "busy_legend": busy_legend(BUSY_PERCENT),
        "problems_legend": PROBLEMS_LEGEND,
    }
    is_part = request.headers.get("HX-Request") == "true"
    return render(
        request, "staff/hosts/_fleet_map.html" if is_part else "staff/hosts/fleet_map.html", context
    )


def _volumes(user: Person, host: Host) -> Iterator[tuple[str, VolumeNow]]:
    """By the uuid of the LV. Three queries."""
    here = Placement.objects.filter(host=host, until=None, volume__previewed_at=None)
    placed = here.exclude(lv_uuid=None).select_related("volume__customer")
    placements = {each.volume_id: each for each in placed}
    latest = latest_of(each.volume for each in placements.values())
    slow = slow_times(placements)
    for volume_id, placement in placements.items():
        volume, now = placement.volume, latest.get(volume_id)
        known = VolumeNow(
            volume.label,
            reverse("volume", args=[volume.key]),
            volume.customer.name if volume.customer is not None else "",
        )
        if now is not None and now.gap is None and now.age_seconds <= silent_seconds():
            whole = now.cache_size_bytes
            known = VolumeNow(
                known.name,
                known.url,
                known.customer,
                volume_heat(now.read_ms, is_slow=volume_id in slow),
                busy_heat(now.busy, host.busy_percent),
                now.hit_rate,
                now.used_bytes / whole if whole and now.used_bytes is not None else None,
                now.dirty_bytes / whole if whole and now.dirty_bytes is not None else None,
            )
        yield placement.lv_uuid or "", known


def _disks(user: Person, host: Host, slow_ms: int) -> Mapping[str, DiskNow]:
    """By name. Two queries."""
    known = PhysicalDisk.objects.visible_to(user).filter(host=host, gone_since=None)
    urls = {
        name: reverse("host-disk", args=[host.key, key])
        for name, key in known.values_list("name", "key")
    }
    rows = Device.objects.visible_to(user).present().filter(host=host, kind=DeviceKind.DISK)
    sampled = rows.values_list(
        "name",
        "latest_sample__at",
        "latest_sample__gap",
        "latest_sample__dt_ms",
        "latest_sample__busy_ms",
        "latest_sample__reads",
        "latest_sample__read_ms",
    )
    disks = {name: DiskNow(url) for name, url in urls.items()}
    now = timezone.now()
    for name, at, gap, dt_ms, busy_ms, reads, read_ms in sampled:
        is_fresh = at is not None and (now - at).total_seconds() <= silent_seconds()
        if is_fresh and not gap and dt_ms:
            latency = read_ms / reads if reads and read_ms is not None else None
            busy = None if busy_ms is None else min(1.0, busy_ms / dt_ms)
            disks[name] = DiskNow(
                urls.get(name, ""),
                UNKNOWN if reads is None else latency_heat(latency, slow_ms),
                busy_heat(busy, host.busy_percent),
            )
    return disks
