"""Rows to JSON: the values of `panel.api.response_shapes`. Fields for staff only are missing for
everybody else: hosts, devices and technology are the provider's business."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from django.urls import reverse

from jobs.hosts.trust import key_fingerprint
from jobs.models import Job, Kind, Step
from jobs.problems import Problem
from jobs.queue.cost_estimate import estimate_of
from panel.api.framework.shape import show
from panel.api.response_shapes import (
    CachePlanShape,
    CustomerShape,
    HostShape,
    JobShape,
    Json,
)
from panel.models import Order, User
from storage import currency
from storage.access import Person, is_staff
from storage.models import CachePlan, Customer, Host, Volume
from storage.planner.cost import Cost
from storage.planner.technologies.lookup import SETTINGS
from storage.planner.wish import Wish
from storage.stored_inventory import inventory_of
from storage.volumes.cache_sizes import free_bytes

CUSTOMER_ERROR = {
    "message": "The change did not end well.",
    "correction": "Ask your provider and name the job.",
}


def wish_json(wish: Wish, *, settings: bool = True) -> Json:
    """The part of a wish that the API speaks of, for `WishShape`. Customers see no `settings`,
    whose names tell the technology, and no tier."""
    cache = wish.cache
    rest: Json = {"life": wish.life}
    if settings:
        rest |= {"size_bytes": wish.size_bytes, "tier": wish.tier}
    if cache is None:
        return {"cache": None, **rest}
    cache_json: Json = {"size_bytes": cache.size_bytes, "mode": cache.mode}
    if settings:
        cache_json |= {name: getattr(cache, name) for name in SETTINGS[cache.technology]}
    return {"cache": cache_json, **rest}


def job_json(job: Job, user: Person, *, steps: bool = False) -> Json:
    """A job, for `JobShape`. Others than staff get the code of an error without its words."""
    data: Json = {
        "object": "job",
        "key": job.key,
        "url": job_url(job),
        "kind": job.kind,
        "state": job.state,
        "dry_run": job.dry_run,
        "volume": None,
        "wish": None,
        "cancel_requested": job.cancel_requested,
        "turned": job.turned,
        "falls_back": job.falls_back,
        "not_before": job.not_before,
        "error": job.error if _is_error(job) else None,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
    }
    if job.volume is not None:
        data["volume"] = volume_ref(job.volume)
        data["wish"] = wish_json(Wish.from_json(job.wish), settings=is_staff(user))
    else:
        data["member" if job.kind == Kind.REPLACE_MEMBER else "ssd"] = job.wish
    if not is_staff(user):
        if _is_error(job):
            data["error"] = {"code": job.error["code"], **CUSTOMER_ERROR}
        return show(JobShape, data)
    data |= {
        "host": host_ref(job.host),
        "sentence": job.sentence,
        "door": job.door,
        "actor": str(job.actor) if job.actor is not None else None,
        "token": job.token,
        "request_id": job.request_id,
    }
    if steps:
        job_steps = list(job.step_set.all())
        data["steps"] = [_step(step) for step in job_steps]
        cost = estimate_of(job, job_steps) if job.dry_run else None
        if cost is not None:
            data["cost"] = _cost(cost)
    return show(JobShape, data)


def _is_error(job: Job) -> bool:
    """While a cancelled job goes back, its `error` only notes from which step on."""
    return "code" in job.error


def host_json(host: Host, problems: Sequence[Problem], *, groups: bool = False) -> Json:
    """A host with its problems, for `HostShape`; `groups` decodes its inventory."""
    data: Json = {
        "key": host.key,
        "url": url_of("api-host", host.key),
        "name": host.name,
        "address": host.address,
        "port": host.port,
        "account": host.account,
        "state": host.state,
        "site": host.site,
        "tags": host.tags,
        "allowed_vgs": host.allowed_vgs,
        "last_seen_at": host.last_seen_at,
        "facts_at": host.facts_at,
        "updated_at": host.updated_at,
        "error": host.error or None,
        "maintenance": {
            "since": host.maintenance_since,
            "until": host.maintenance_until,
            "reason": host.maintenance_reason,
        }
        if host.in_maintenance
        else None,
        "window": {"start": host.window_start, "end": host.window_end}
        if host.window_start is not None
        else None,
        "dirty_limit_percent": host.dirty_limit_percent,
        "slow_read_ms": host.slow_read_ms,
        "busy_percent": host.busy_percent,
        "leaves_writeback": host.leaves_writeback,
        "fingerprints": {
            "accepted": key_fingerprint(host.host_key) if host.host_key else None,
            "waiting": key_fingerprint(host.host_key_seen) if host.host_key_seen else None,
        },
        "problems": [
            {
                "code": problem.code,
                "severity": problem.severity,
                "message": problem.message,
                "correction": problem.correction,
                "since": problem.since,
                "volume": ref("api-volume", problem.volume_key, problem.subject_label),
                "job": ref("api-job", problem.job_key, problem.job_kind),
            }
            for problem in problems
        ],
    }
    if groups:
        facts = inventory_of(host)
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
    url = url_of("api-customer", customer.key)
    names = ("key", "name", "external_id", "suspended_at", "created_at", "updated_at")
    return CustomerShape({"url": url, **{name: getattr(customer, name) for name in names}}).data


def plan_json(plan: CachePlan, user: Person) -> Json:
    """A cache plan, for `CachePlanShape`."""
    names = ("key", "name", "description", "size_bytes", "ratio_percent", "mode", "tier")
    data: Json = {name: getattr(plan, name) for name in (*names, "price_minor")}
    data["url"] = url_of("api-cache-plan", plan.key)
    data |= currency.with_digits(plan.currency)
    if is_staff(user):
        data |= {"on_offer": plan.on_offer, "hosts": list(map(host_ref, plan.hosts.all()))}
    return CachePlanShape(data).data


def url_of(name: str, key: str) -> str:
    """`reverse` of an address that ends with a key: a page of a list has hundreds of them."""
    return _before_key(name) + key


@cache
def _before_key(name: str) -> str:
    return reverse(name, args=["key"]).removesuffix("key")


def job_url(job: Job) -> str:
    return url_of("api-job", job.key)


def ref(view: str, key: str, name: str) -> Json | None:
    """A reference, for `Ref`, to what is read at the view; None without a key."""
    return {"key": key, "url": url_of(view, key), "name": name} if key else None


def volume_ref(volume: Volume | None) -> Json | None:
    return ref("api-volume", volume.key, volume.label) if volume is not None else None


def host_ref(host: Host | None) -> Json | None:
    return ref("api-host", host.key, host.name) if host is not None else None


def customer_ref(customer: Customer | None) -> Json | None:
    return ref("api-customer", customer.key, customer.name) if customer is not None else None


def plan_ref(plan: CachePlan | None) -> Json | None:
    return ref("api-cache-plan", plan.key, plan.name) if plan is not None else None


def job_ref(job: Job | None) -> Json | None:
    """By what it does: a job has no name of its own."""
    return ref("api-job", job.key, job.get_kind_display()) if job is not None else None


def order_ref(order: Order | None) -> Json | None:
    """By what it was for."""
    return ref("api-order", order.key, order.intent) if order is not None else None


def person_ref(person: User) -> Json:
    """An account, for `PersonRef`."""
    url = url_of("api-person", person.key)
    name = person.get_full_name()
    return {"key": person.key, "url": url, "name": name, "email": person.email}


COST: Final = (
    "seconds",
    "slowest_seconds",
    "wait_seconds",
    "dirty_bytes",
    "ssd_bytes",
    "ssd_free_bytes",
    "final_step",
)


def _cost(cost: Cost) -> Json:
    return {
        **{name: getattr(cost, name) for name in COST},
        "other_volumes": cost.other_count,
    }


def _step(step: Step) -> Json:
    names = ("n", "verb", "title", "state", "progress", "started_at", "ended_at")
    return {
        **{name: getattr(step, name) for name in names},
        "commands": [{"rc": None, **command} for command in step.commands],
        "error": step.error or None,
    }
