"""The customers' volumes that the demo makes on its host, each under load, and their caches."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from panel.models import Order
from storage.models import CachePlan
from tests.demo.customer import BEFORE, Buyer, reported
from tests.demo.result import WARM_UP, WINDOW, covered, summary
from tests.demo.stage import stage

if TYPE_CHECKING:
    from jobs.models import Job
    from storage.models import Host, Volume
    from tests.demo.admin import Admin
    from tests.demo.host import DemoHost

LOAD_SECONDS = 4 * 3600
MIB = 1024**2
MODE = "writethrough"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One volume of the demo and the cache it is to get."""

    label: str
    layout: str
    technology: str
    guest: str
    customer: str
    size_mib: int = 1024
    cache_mib: int = 512


RECIPES = (
    Recipe("web12 data", "plain", "lvmcache", "web12", "Northwind Web"),
    Recipe("db7 data", "bcache", "bcache", "db7", "Bluewater Data"),
)


def volumes(
    host: DemoHost, admin: Admin, record: Host, vg_uuid: str
) -> list[tuple[Recipe, Volume]]:
    """One volume per recipe, each with its guest and its load."""
    volumes = []
    with ThreadPoolExecutor(1) as beside:
        serving = []
        # One after the other: the emptiest disk is chosen, so each lies on its own.
        for recipe in RECIPES:
            volume = admin.create_volume(
                record, vg_uuid,
                label=recipe.label, customer=recipe.customer, size_mib=recipe.size_mib,
                layout=recipe.layout,
            )  # fmt: skip
            volumes.append((recipe, volume))
            name, device = _device(record, volume)
            serving.append(beside.submit(host.serve, recipe.guest, name, device, LOAD_SECONDS))
        for begun in serving:
            begun.result()
    return volumes


def _device(record: Host, volume: Volume) -> tuple[str, str]:
    """The LV's name, and the device that the guest opens."""
    record.refresh_from_db()
    placed, facts = volume.placed, record.inventory
    lv = facts.lv(placed.lv_uuid) if placed and placed.lv_uuid and facts else None
    if lv is None:
        raise RuntimeError(f"{volume} is not in the inventory of {record}")
    if lv.bcache is not None and lv.bcache.device is not None:
        return lv.name, f"/dev/{lv.bcache.device}"
    return lv.name, f"/dev/{lv.vg_name}/{lv.name}"


def caches(admin: Admin, volumes: list[tuple[Recipe, Volume]]) -> dict[str, Any]:
    """Add both caches as a person would, and measure before and after with both loads running."""
    return _compared(admin, volumes, admin.confirm, WINDOW)


def order(admin: Admin, volumes: list[tuple[Recipe, Volume]], buyer: Buyer) -> Order:
    """The same, but the first volume's customer orders its cache; the order, with its report."""
    first = volumes[0][1]
    plan = CachePlan.objects.get(size_bytes=volumes[0][0].cache_mib * MIB, mode=MODE)

    def obtain(preview: Job) -> Job:
        if preview.its_volume != first:
            return admin.confirm(preview)
        job = buyer.order(first, plan).job
        assert job is not None
        return job

    _compared(admin, volumes, obtain, BEFORE)
    bought = Order.objects.get(volume=first)
    with stage("Wait for the report of the order"):
        reported(bought)
    return bought


def _compared(
    admin: Admin,
    volumes: list[tuple[Recipe, Volume]],
    obtain: Callable[[Job], Job],
    span: timedelta,
) -> dict[str, Any]:
    """`obtain` makes of a preview the job, which is over; so long is measured before."""
    with ThreadPoolExecutor(len(volumes)) as pool:
        with stage("Measure both volumes on the slow disks; preview their caches meanwhile"):
            start = timezone.now()
            previews = [
                pool.submit(admin.preview_cache, volume, size_mib=recipe.cache_mib, mode=MODE)
                for recipe, volume in volumes
            ]
            before = [covered(volume, start, span) for _, volume in volumes]
            shown = [preview.result() for preview in previews]
        with stage("Add both caches"):
            jobs = list(pool.map(obtain, shown))
            attached = max(job.ended_at or timezone.now() for job in jobs)
    with stage("Let them warm up for a minute, then measure again"):
        after = [covered(volume, attached + WARM_UP) for _, volume in volumes]
    results = {}
    for (recipe, _), old, new in zip(volumes, before, after, strict=True):
        results[recipe.technology] = {
            "before": summary(old, recipe.layout),
            "after": summary(new, recipe.layout),
        }
        print(
            f"  {recipe.label} ({recipe.technology}): {old.read_iops or 0:,.0f} -> "
            f"{new.read_iops or 0:,.0f} read IOPS, hit rate {100 * (new.hit_rate or 0):.1f} %",
            flush=True,
        )
    return results
