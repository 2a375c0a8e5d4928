"""What the API says of each noun. Fields that only staff see are missing for everybody else:
hosts, devices and technology are the provider's business."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from jobs.models import Job, Kind, State, Step, StepState
from storage.access import Person, is_staff
from storage.caches import free_bytes
from storage.models import CachePlan, Customer, Host, Volume
from storage.models.host import HostState
from storage.rows import VolumeRow, facts_of
from storage.wish import Bcache, Wish

Json = dict[str, Any]
MODES = ("writethrough", "writeback", "writearound")
STATES = ("managed", "found", "missing")


class Ref(serializers.Serializer[Json]):
    """Another noun, by key."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()


class CacheShape(serializers.Serializer[Json]):
    """A cache: how much SSD, and what becomes of writes."""

    size_bytes = serializers.IntegerField(allow_null=True)
    mode = serializers.CharField()


class FiguresShape(serializers.Serializer[Json]):
    """The last interval that was measured; null where nothing can be said."""

    at = serializers.DateTimeField()
    read_iops = serializers.FloatField(allow_null=True)
    write_iops = serializers.FloatField(allow_null=True)
    read_ms = serializers.FloatField(allow_null=True)
    hit_rate = serializers.FloatField(allow_null=True, help_text="Of reads, 0 to 1.")


class VolumeShape(serializers.Serializer[Json]):
    """A volume. What follows `created_at` is for staff."""

    key = serializers.CharField()
    url = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field, no attribute
    size_bytes = serializers.IntegerField()
    customer = Ref(allow_null=True)
    external_id = serializers.CharField(allow_blank=True)
    cache = CacheShape(allow_null=True)
    cache_plan = Ref(allow_null=True)
    figures = FiguresShape(allow_null=True)
    created_at = serializers.DateTimeField()
    host = Ref(allow_null=True, required=False)
    vg = serializers.CharField(required=False, allow_blank=True)
    lv = serializers.CharField(required=False, allow_blank=True)
    technology = serializers.ChoiceField(choices=["lvmcache", "bcache"], required=False)
    state = serializers.ChoiceField(choices=STATES, required=False)
    guest = serializers.CharField(required=False, allow_blank=True)
    adopted_at = serializers.DateTimeField(required=False, allow_null=True)


class WishCacheShape(serializers.Serializer[Json]):
    """The cache a volume should have."""

    size_bytes = serializers.IntegerField(
        min_value=1, help_text="Rounded up to whole extents of the volume group."
    )
    mode = serializers.ChoiceField(choices=MODES)


class WishShape(serializers.Serializer[Json]):
    """What a volume should be: only its cache can be wished for now."""

    cache = WishCacheShape(allow_null=True)


class WishNow(serializers.Serializer[Json]):
    """What a volume is or, while a job holds it, becomes."""

    cache = CacheShape(allow_null=True)
    is_met = serializers.BooleanField(help_text="False while a job is still to make it so.")
    job = serializers.CharField(allow_null=True, help_text="URL of that job.")


class ErrorShape(serializers.Serializer[Json]):
    """What went wrong, and what to do."""

    code = serializers.CharField()
    message = serializers.CharField()
    correction = serializers.CharField(allow_blank=True)


class CommandShape(serializers.Serializer[Json]):
    """One command as the host runs it; `rc` once it has run."""

    argv = serializers.ListField(child=serializers.CharField())
    shell = serializers.CharField()
    rc = serializers.IntegerField(required=False, allow_null=True)


class StepShape(serializers.Serializer[Json]):
    """One step of a job; in a dry run all of them stay planned."""

    n = serializers.IntegerField()
    verb = serializers.CharField()
    title = serializers.CharField()
    state = serializers.ChoiceField(choices=StepState.choices)
    commands = CommandShape(many=True)
    progress = serializers.JSONField(
        help_text="{label, done_bytes, total_bytes}, or {} where nothing can be measured."
    )
    error = ErrorShape(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class JobShape(serializers.Serializer[Json]):
    """A job, or a preview (`dry_run`). `host`, `sentence`, `door`, `actor`, `token` and `steps`
    are for staff; lists leave `steps` out."""

    key = serializers.CharField()
    url = serializers.CharField()
    kind = serializers.ChoiceField(choices=Kind.choices)
    state = serializers.ChoiceField(choices=State.choices)
    dry_run = serializers.BooleanField()
    volume = Ref()
    wish = WishShape()
    cancel_requested = serializers.BooleanField()
    error = ErrorShape(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    host = Ref(required=False)
    sentence = serializers.CharField(required=False)
    door = serializers.CharField(required=False)
    actor = serializers.CharField(required=False, allow_null=True)
    token = serializers.CharField(required=False, allow_blank=True)
    steps = StepShape(many=True, required=False)


class LineShape(serializers.Serializer[Json]):
    """A line of output; `n` counts from 1 within the job."""

    n = serializers.IntegerField()
    at = serializers.DateTimeField()
    text = serializers.CharField(allow_blank=True, trim_whitespace=False)


class LinesShape(serializers.Serializer[Json]):
    """Ask again with `after` = `next_after` until `complete`."""

    lines = LineShape(many=True)
    next_after = serializers.IntegerField()
    complete = serializers.BooleanField(help_text="True when no line can follow.")


class ProblemOfHost(serializers.Serializer[Json]):
    """What preflight found."""

    code = serializers.CharField()
    severity = serializers.CharField()
    message = serializers.CharField()
    correction = serializers.CharField(allow_blank=True)


class GroupShape(serializers.Serializer[Json]):
    """A volume group, as of the last inventory."""

    name = serializers.CharField()
    allowed = serializers.BooleanField(help_text="Root lets Tiercel change it.")
    size_bytes = serializers.IntegerField()
    free_ssd_bytes = serializers.IntegerField()
    free_slow_bytes = serializers.IntegerField()


class HostShape(serializers.Serializer[Json]):
    """A storage host; lists leave `groups` out."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    address = serializers.CharField()
    state = serializers.ChoiceField(choices=HostState.choices)
    allowed_vgs = serializers.ListField(child=serializers.CharField())
    last_seen_at = serializers.DateTimeField(allow_null=True)
    facts_at = serializers.DateTimeField(allow_null=True)
    error = ErrorShape(allow_null=True)
    problems = ProblemOfHost(many=True)
    groups = GroupShape(many=True, required=False)


class CustomerShape(serializers.Serializer[Json]):
    """A customer; `external_id` is the billing system's name for it."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    external_id = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()


class CachePlanShape(serializers.Serializer[Json]):
    """What is sold: `size_bytes`, or `ratio_percent` of the volume. The price is per month, in
    minor units of the currency. `on_offer` and `hosts` (keys; none = every host) are for staff."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    size_bytes = serializers.IntegerField(allow_null=True)
    ratio_percent = serializers.IntegerField(allow_null=True)
    mode = serializers.CharField()
    tier = serializers.CharField(help_text="Of the volumes it is for.")
    price_minor = serializers.IntegerField()
    currency = serializers.CharField()
    on_offer = serializers.BooleanField(required=False)
    hosts = serializers.ListField(child=serializers.CharField(), required=False)


def volume_json(row: VolumeRow, user: Person) -> Json:
    """A volume, for `VolumeShape`."""
    volume, latest = row.volume, row.latest
    data: Json = {
        "key": volume.key,
        "url": reverse("api-volume", args=[volume.key]),
        "label": volume.label,
        "size_bytes": volume.size_bytes,
        "customer": customer_ref(volume.customer),
        "external_id": volume.external_id,
        "cache": None,
        "cache_plan": plan_ref(volume.cache_plan),
        "figures": None,
        "created_at": volume.created_at,
    }
    if row.cache is not None:
        data["cache"] = {"size_bytes": row.cache.size_bytes, "mode": row.cache.mode}
    if latest is not None:
        names = ("at", "read_iops", "write_iops", "read_ms", "hit_rate")
        data["figures"] = {name: getattr(latest, name) for name in names}
    if is_staff(user):
        placement = row.placement
        data |= {
            "host": host_ref(row.host),
            "vg": placement.vg_name if placement is not None else "",
            "lv": placement.lv_name if placement is not None else "",
            "technology": row.technology,
            "state": state_of(row),
            "guest": volume.guest,
            "adopted_at": volume.adopted_at,
        }
    return VolumeShape(data).data


def state_of(row: VolumeRow) -> str:
    """One of `STATES`."""
    if row.placement is None or row.placement.missing_since is not None:
        return "missing"
    return "managed" if row.volume.managed else "found"


def wish_json(wish: Wish) -> Json:
    """The part of a wish that the API speaks of, for `WishShape`."""
    cache = wish.cache
    if cache is None:
        return {"cache": None}
    mode = cache.cache_mode if isinstance(cache, Bcache) else cache.mode
    return {"cache": {"size_bytes": cache.size_bytes, "mode": mode}}


def job_json(job: Job, user: Person, *, steps: bool = False) -> Json:
    """A job, for `JobShape`. Others than staff get the code of an error without its words."""
    data: Json = {
        "key": job.key,
        "url": job_url(job),
        "kind": job.kind,
        "state": job.state,
        "dry_run": job.dry_run,
        "volume": volume_ref(job.volume),
        "wish": wish_json(Wish.from_json(job.wish)),
        "cancel_requested": job.cancel_requested,
        "error": job.error or None,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
    }
    if not is_staff(user):
        if job.error:
            data["error"] = {"code": job.error["code"], **CUSTOMER_ERROR}
        return JobShape(data).data
    data |= {
        "host": host_ref(job.host),
        "sentence": job.sentence,
        "door": job.door,
        "actor": str(job.actor) if job.actor is not None else None,
        "token": job.token,
    }
    if steps:
        data["steps"] = [_step(step) for step in job.step_set.all()]
    return JobShape(data).data


CUSTOMER_ERROR = {
    "message": "The change did not end well.",
    "correction": "Ask your provider and name the job.",
}


def host_json(host: Host, *, groups: bool = False) -> Json:
    """A host, for `HostShape`; `groups` decodes its inventory."""
    data: Json = {
        "key": host.key,
        "url": reverse("api-host", args=[host.key]),
        "name": host.name,
        "address": host.address,
        "state": host.state,
        "allowed_vgs": host.allowed_vgs,
        "last_seen_at": host.last_seen_at,
        "facts_at": host.facts_at,
        "error": host.error or None,
        "problems": host.problems,
    }
    if groups:
        facts = facts_of(host)
        data["groups"] = [
            {
                "name": vg.name,
                "allowed": vg.allowed,
                "size_bytes": vg.size_bytes,
                "free_ssd_bytes": free_bytes(facts, vg.uuid, "fast"),
                "free_slow_bytes": free_bytes(facts, vg.uuid, "slow"),
            }
            for vg in (facts.vgs if facts is not None else ())
            if facts is not None
        ]
    return HostShape(data).data


def customer_json(customer: Customer) -> Json:
    """A customer, for `CustomerShape`."""
    url = reverse("api-customer", args=[customer.key])
    names = ("key", "name", "external_id", "created_at")
    return CustomerShape({"url": url, **{name: getattr(customer, name) for name in names}}).data


def plan_json(plan: CachePlan, user: Person) -> Json:
    """A cache plan, for `CachePlanShape`."""
    names = ("key", "name", "description", "size_bytes", "ratio_percent", "mode", "tier")
    data: Json = {name: getattr(plan, name) for name in (*names, "price_minor", "currency")}
    data["url"] = reverse("api-cache-plan", args=[plan.key])
    if is_staff(user):
        data |= {"on_offer": plan.on_offer, "hosts": [host.key for host in plan.hosts.all()]}
    return CachePlanShape(data).data


def job_url(job: Job) -> str:
    return reverse("api-job", args=[job.key])


def volume_ref(volume: Volume) -> Json:
    url = reverse("api-volume", args=[volume.key])
    return {"key": volume.key, "url": url, "name": volume.label}


def host_ref(host: Host | None) -> Json | None:
    if host is None:
        return None
    return {"key": host.key, "url": reverse("api-host", args=[host.key]), "name": host.name}


def customer_ref(customer: Customer | None) -> Json | None:
    if customer is None:
        return None
    url = reverse("api-customer", args=[customer.key])
    return {"key": customer.key, "url": url, "name": customer.name}


def plan_ref(plan: CachePlan | None) -> Json | None:
    if plan is None:
        return None
    return {"key": plan.key, "url": reverse("api-cache-plan", args=[plan.key]), "name": plan.name}


def _step(step: Step) -> Json:
    names = ("n", "verb", "title", "state", "commands", "progress", "started_at", "ended_at")
    return {**{name: getattr(step, name) for name in names}, "error": step.error or None}
