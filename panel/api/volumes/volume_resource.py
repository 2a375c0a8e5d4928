"""A volume, and what it should be, as the API says them: `VolumeShape` and `WishNow`. Fields for
staff only are missing for everybody else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from jobs.models import Job, State
from panel.api.framework.shape import show
from panel.api.resource_json import (
    customer_ref,
    host_ref,
    job_ref,
    job_url,
    plan_ref,
    url_of,
    wish_json,
)
from panel.api.response_shapes import Json, VolumeShape
from storage.access import Person, is_staff
from storage.health.drift import differences_of
from storage.models import Volume
from storage.models.key_sets import any_of
from storage.planner.technologies.lookup import SETTINGS
from storage.planner.wish import Wish
from storage.volumes.lifecycle import Life
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

UNDONE = (State.FAILED, State.NEEDS_ATTENTION)
"""States of a job whose wish is not met."""
FIGURES = ("at", "read_iops", "write_iops", "read_ms", "hit_rate", "waiting_reads")


@dataclass(frozen=True, slots=True)
class VolumeWork:
    """The job that changes a volume now, and the last one where it is asked for; no dry run."""

    holder: Job | None = None
    last: Job | None = None


def work_of(volumes: Iterable[Volume], *, with_last: bool) -> dict[int, VolumeWork]:
    """By primary key of the volume; one query for all of them, or two."""
    jobs = Job.objects.filter(volume__in=any_of(each.pk for each in volumes), dry_run=False)
    holders = {job.volume_id: job for job in jobs.unfinished()}
    ended = jobs.order_by("volume_id", "-id").distinct("volume_id") if with_last else ()
    last = {job.volume_id: job for job in ended}
    return {
        pk: VolumeWork(holders.get(pk), last.get(pk)) for pk in {*holders, *last} if pk is not None
    }


def volumes_json(
    volumes: Iterable[Volume], user: Person, *, with_wish: bool = False
) -> Iterator[Json]:
    """Each volume, for `VolumeShape`."""
    listed = list(volumes)
    work = work_of(listed, with_last=with_wish) if is_staff(user) or with_wish else {}
    for row in snapshots_of(listed):
        at_work = work.get(row.volume.pk, VolumeWork())
        yield volume_json(row, user, at_work, with_wish=with_wish)


def volume_json(
    row: VolumeSnapshot, user: Person, work: VolumeWork, *, with_wish: bool = False
) -> Json:
    """A volume, for `VolumeShape`."""
    volume, latest, is_for_staff = row.volume, row.latest, is_staff(user)
    data: Json = {
        "key": volume.key,
        "url": url_of("api-volume", volume.key),
        "label": volume.label,
        "size_bytes": volume.size_bytes,
        "customer": customer_ref(volume.customer),
        "external_id": volume.external_id,
        "cache": _cache_json(row, is_for_staff=is_for_staff),
        "cache_plan": plan_ref(volume.cache_plan),
        "figures": None,
        "created_at": volume.created_at,
        "updated_at": _updated_at(row),
    }
    if latest is not None:
        data["figures"] = {name: getattr(latest, name) for name in FIGURES}
    if is_for_staff:
        placement, wish = row.placement, row.wish
        data |= {
            "host": host_ref(row.host),
            "vg": placement.vg_name if placement is not None else "",
            "lv": placement.lv_name if placement is not None else "",
            "technology": row.technology.name,
            "layout": volume.layout,
            "tier": wish.tier if wish is not None else None,
            "state": state_of(row),
            "guest": volume.guest,
            "adopted_at": volume.adopted_at,
            "retired_at": volume.retired_at,
            "undo_until": row.undo_until,
            "watched_until": volume.watched_until,
            "job": job_ref(work.holder),
            "drift": drift_json(row),
        }
    if with_wish:
        data["wish"] = wish_now_json(row, work, is_for_staff=is_for_staff)
    return show(VolumeShape, data)


def _cache_json(row: VolumeSnapshot, *, is_for_staff: bool) -> Json | None:
    """Size and mode as the host has them; its settings where a wish can say them."""
    if row.cache is None:
        return None
    data: Json = {"size_bytes": row.cache.size_bytes, "mode": row.cache.mode}
    wish = row.wish if is_for_staff else None
    if wish is not None and wish.cache is not None:
        data |= {name: getattr(wish.cache, name) for name in SETTINGS[wish.cache.technology]}
    return data


def _updated_at(row: VolumeSnapshot) -> object:
    if row.placement is None:
        return row.volume.updated_at
    return max(row.volume.updated_at, row.placement.updated_at)


def drift_json(row: VolumeSnapshot) -> list[Json]:
    """How the volume differs from what the panel made of it."""
    return [asdict(each) for each in differences_of(row)]


def state_of(row: VolumeSnapshot) -> str:
    """One of `STATES`."""
    if row.volume.destroyed_at is not None:
        return "destroyed"
    if row.volume.previewed_at is not None:
        return "previewed"
    if row.placement is None or row.placement.missing_since is not None:
        return "missing"
    if row.volume.retired_at is not None:
        return "retired"
    if row.placement.lv_uuid is None:
        return "planned"
    return "managed" if row.volume.managed else "found"


def life_of(row: VolumeSnapshot) -> Life:
    """What the volume is now."""
    if row.volume.destroyed_at is not None:
        return "gone"
    return "live" if row.volume.retired_at is None else "retired"


def wish_now_json(row: VolumeSnapshot, work: VolumeWork, *, is_for_staff: bool) -> Json:
    """What the volume is or, while a job changes it, becomes; for `WishNow`."""
    holder, last = work.holder, work.last
    jobs: Json = {
        "job": job_ref(holder) if is_for_staff else None,
        "last_job": _last_job_json(last) if last is not None and is_for_staff else None,
    }
    if holder is not None:
        wish_data = wish_json(Wish.from_json(holder.wish), settings=is_for_staff)
        return {"object": "wish", **wish_data, "is_met": False, **jobs}
    now: Json = {"cache": None}
    if row.wish is not None:
        now = wish_json(row.wish, settings=is_for_staff)
    elif row.cache is not None:
        now["cache"] = {"size_bytes": row.cache.size_bytes, "mode": row.cache.mode}
    is_met = _is_as_recorded(row) and (last is None or last.state not in UNDONE)
    return {"object": "wish", **now, "life": life_of(row), "is_met": is_met, **jobs}


def _is_as_recorded(row: VolumeSnapshot) -> bool:
    """False for what is not created yet, is missing, or was changed by somebody else."""
    if row.volume.destroyed_at is not None:
        return True
    placement = row.placement
    if placement is None or placement.lv_uuid is None or placement.missing_since is not None:
        return False
    return not drift_json(row)


def _last_job_json(job: Job) -> Json:
    """For `LastJobShape`: a monitor learns here why a wish was not met."""
    code = job.error["code"] if job.state in UNDONE and job.error else ""
    name = job.get_kind_display()
    return {
        **{"key": job.key, "url": job_url(job), "name": name},
        **{"state": job.state, "error_code": code},
    }
