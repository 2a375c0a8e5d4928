"""Hosts, disks, jobs, alerts, messages and the panel itself as metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from django.db import connection
from django.db.models import Count, Min, QuerySet
from django.db.models.functions import Now

from jobs import standstill
from jobs.models import OVER, Alert, AlertRound, Halt, Job, PartKind
from panel import VERSION
from panel.api.exposition.metric_text import MetricFamily, labels_text, written
from panel.models import AlertDelivery, Message, Notice, Order, WebhookDelivery
from panel.models.order import OPEN
from panel.models.outgoing import OutgoingQuerySet
from storage.analysis.heat_store import counted_seconds
from storage.database_clock import database_now
from storage.health.smart_endurance import wear_of
from storage.health.smart_reading import SmartHealth
from storage.host_data import BadHostData, converted
from storage.models import Event, HeatTrace, Host, HostOutline, PhysicalDisk
from storage.models.heat_trace import UNFINISHED
from storage.models.host import HostState, silent_seconds

RANKS: Final = ("at_risk", "error", "warning")
SECONDS_AN_HOUR: Final = 3600


def gauge(name: str, text: str) -> MetricFamily:
    return MetricFamily(f"tiercel_{name}", "gauge", text)


def counter(name: str, text: str) -> MetricFamily:
    return MetricFamily(f"tiercel_{name}", "counter", text)


Samples = list[tuple[str, float | None]]
BUILD: Final = gauge("build_info", "1, with the version of the panel.")
HALTED: Final = gauge("halted", "1 while all jobs are paused by the global stop.")
DATABASE: Final = gauge("database_size_bytes", "Size of the panel's database.")
EVENTS: Final = gauge("events_without_place", "Events that are not in the list yet.")
JOBS: Final = gauge("jobs", "Unfinished jobs by state, without previews.")
OLDEST_JOB: Final = gauge(
    "job_oldest_timestamp_seconds", "When the oldest unfinished job of each state was accepted."
)
JOBS_DUE: Final = gauge("jobs_due", "Jobs that are ready for a worker.")
JOB_DUE: Final = gauge(
    "job_due_oldest_timestamp_seconds", "Since when the oldest of them has waited for a worker."
)
SLOTS: Final = gauge(
    "slots", "Slots of workers, collectors and beat: idle, busy, stuck, or silent."
)
SIGNED: Final = gauge(
    "sign_timestamp_seconds", "When a process of each kind last gave a sign of life."
)
ENDED_JOBS: Final = counter("jobs_ended_total", "Jobs that ended, by kind and result.")
ORDERS: Final = gauge("orders_open", "Orders that hold their volume, by state.")
ALERTS: Final = gauge("alerts_open", "Open alerts by severity.")
JUDGED: Final = gauge("alerts_judged_timestamp_seconds", "When alerts were last judged.")
MESSAGES: Final = gauge("messages_waiting", "Undelivered messages, by kind.")
OLDEST_MESSAGE: Final = gauge(
    "message_oldest_timestamp_seconds", "When the oldest of them was written."
)
HOST_INFO: Final = gauge("host_info", "1, with the versions on the host. Join on host.")
HOST_UP: Final = gauge("host_up", "1 while the host is active and answers.")
HOST_SEEN: Final = gauge("host_seen_timestamp_seconds", "When the host last answered.")
HOST_MAINTENANCE: Final = gauge("host_maintenance", "1 while the host is in maintenance.")
HOST_ALERTS: Final = gauge("host_alerts_open", "Open alerts of the host, by severity.")
HOST_SPACE: Final = {
    "fast_total_bytes": gauge("host_fast_bytes", "Space on SSD in volume groups."),
    "fast_free_bytes": gauge("host_fast_free_bytes", "Free space on SSD in volume groups."),
    "slow_total_bytes": gauge("host_slow_bytes", "Space on slow disks in volume groups."),
    "slow_free_bytes": gauge("host_slow_free_bytes", "Free space on slow disks."),
}
HEAT_HOSTS: Final = gauge("heat_hosts", "Hosts by their agent's state of heat counting.")
HEAT_COUNTED: Final = gauge(
    "host_heat_counted_seconds",
    "Total time for which heat of its volumes was counted, yesterday and today (UTC).",
)
HEAT_TRACES: Final = gauge("heat_traces", "Unfinished traces of volumes, by state.")
DISK_INFO: Final = gauge("disk_info", "1, with model and serial number. Join on disk.")
DISK_READ: Final = gauge("disk_read_timestamp_seconds", "When the disk last reported its health.")
DISK_PASSED: Final = gauge("disk_passed", "0 if the disk reports that it is failing.")
DISK_FINDINGS: Final = gauge("disk_findings", "Number of findings on the disk.")
DISK_WEAR: Final = gauge("disk_wear_ratio", "Used share of the endurance; may exceed 1.")
DISK_HEAT: Final = gauge("disk_temperature_celsius", "Temperature of the disk.")
DISK_ON: Final = counter("disk_power_on_seconds_total", "Operating time of the disk.")
FLEET_FAMILIES: Final = (
    BUILD,
    HALTED,
    DATABASE,
    EVENTS,
    JOBS,
    OLDEST_JOB,
    ENDED_JOBS,
    ORDERS,
    ALERTS,
    JUDGED,
    JOBS_DUE,
    JOB_DUE,
    SLOTS,
    SIGNED,
    MESSAGES,
    OLDEST_MESSAGE,
    HOST_INFO,
    HOST_UP,
    HOST_SEEN,
    HOST_MAINTENANCE,
    HOST_ALERTS,
    *HOST_SPACE.values(),
    HEAT_HOSTS,
    HEAT_COUNTED,
    HEAT_TRACES,
    DISK_INFO,
    DISK_READ,
    DISK_PASSED,
    DISK_FINDINGS,
    DISK_WEAR,
    DISK_HEAT,
    DISK_ON,
)


def fleet_text() -> Iterator[str]:
    """Family after family."""
    yield from _panel()
    yield from _jobs()
    yield from _work()
    yield from _alerts()
    yield from _messages()
    yield from _hosts()
    yield from _heat()
    yield from _disks()


def _panel() -> Iterator[str]:
    yield written(BUILD, [(labels_text({"version": VERSION}), 1)])
    yield written(HALTED, [("", float(Halt.objects.exists()))])
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        yield written(DATABASE, [("", cursor.fetchone()[0])])
    yield written(EVENTS, [("", Event.objects.filter(position=None).count())])


def _jobs() -> Iterator[str]:
    real = Job.objects.filter(dry_run=False).order_by()
    unfinished = real.unfinished().values("state")
    rows = list(unfinished.annotate(n=Count("pk"), oldest=Min("created_at")))
    yield written(JOBS, [(_of(state=row["state"]), row["n"]) for row in rows])
    yield written(
        OLDEST_JOB, [(_of(state=row["state"]), row["oldest"].timestamp()) for row in rows]
    )
    ended = real.filter(state__in=OVER).values("kind", "state").annotate(n=Count("pk"))
    samples: Samples = [(_of(kind=row["kind"], result=row["state"]), row["n"]) for row in ended]
    yield written(ENDED_JOBS, samples)
    orders = Order.objects.filter(state__in=OPEN).order_by().values("state")
    yield written(
        ORDERS, [(_of(state=row["state"]), row["n"]) for row in orders.annotate(n=Count("pk"))]
    )


def _work() -> Iterator[str]:
    record = standstill.work_record()
    yield written(JOBS_DUE, [("", record.due)])
    oldest = record.oldest_due_at
    yield written(JOB_DUE, [("", oldest.timestamp() if oldest is not None else None)])
    slots = standstill.counts(record).items()
    yield written(SLOTS, [(_of(kind=kind, state=state), n) for (kind, state), n in slots])
    signed: Samples = [
        (_of(kind=kind), at.timestamp())
        for kind in PartKind.values
        if (at := record.last_sign(kind)) is not None
    ]
    yield written(SIGNED, signed)


def _alerts() -> Iterator[str]:
    rows = Alert.objects.open().order_by().values("rank", "host__name").annotate(n=Count("pk"))
    total = dict.fromkeys(RANKS, 0)
    of_host: Samples = []
    for row in rows:
        rank = RANKS[min(row["rank"], len(RANKS) - 1)]
        total[rank] += row["n"]
        if row["host__name"] is not None:
            of_host.append((_of(host=row["host__name"], severity=rank), row["n"]))
    yield written(ALERTS, [(_of(severity=rank), n) for rank, n in total.items()])
    yield written(HOST_ALERTS, of_host)
    judged = AlertRound.objects.values_list("at", flat=True).first()
    yield written(JUDGED, [("", judged.timestamp() if judged is not None else None)])


def _messages() -> Iterator[str]:
    queues: dict[str, OutgoingQuerySet[Any]] = {
        "alert": AlertDelivery.objects.unsent(),
        "billing": Message.objects.unsent(),
        "notice": Notice.objects.unsent(),
        "webhook": WebhookDelivery.objects.unsent(),
    }
    rows = {name: _waiting(queue) for name, queue in queues.items()}
    yield written(MESSAGES, [(_of(kind=name), row["n"]) for name, row in rows.items()])
    oldest: Samples = [
        (_of(kind=name), row["oldest"].timestamp())
        for name, row in rows.items()
        if row["oldest"] is not None
    ]
    yield written(OLDEST_MESSAGE, oldest)


def _waiting(queue: QuerySet[Any]) -> dict[str, Any]:
    """Those whose time has come: what waits for the end of quiet hours is in order."""
    return queue.filter(next_at__lte=Now()).aggregate(n=Count("pk"), oldest=Min("created_at"))


def _hosts() -> Iterator[str]:
    now, silent = database_now(), silent_seconds()
    hosts = list(
        Host.objects.exclude(state=HostState.REMOVED)
        .order_by("pk")
        .values(
            "pk",
            "key",
            "name",
            "site",
            "state",
            "error",
            "last_seen_at",
            "maintenance_since",
            "maintenance_until",
            "hello__kernel",
            "hello__agent",
            "hello__lvm2",
            "hello__heat__state",
        )
    )
    label = {host["pk"]: _of(host=host["name"]) for host in hosts}
    yield written(
        HOST_INFO,
        [
            (
                _of(
                    host=host["name"],
                    key=host["key"],
                    site=host["site"],
                    state=host["state"],
                    kernel=str(host["hello__kernel"] or ""),
                    agent=str(host["hello__agent"] or ""),
                    lvm=str(host["hello__lvm2"] or ""),
                ),
                1,
            )
            for host in hosts
        ],
    )
    ups: Samples = []
    for host in hosts:
        seen = host["last_seen_at"]
        is_heard = seen is not None and (now - seen).total_seconds() <= silent
        is_up = host["state"] == HostState.ACTIVE and is_heard and not host["error"]
        ups.append((label[host["pk"]], float(is_up)))
    yield written(HOST_UP, ups)
    seen_at: Samples = [
        (label[host["pk"]], host["last_seen_at"].timestamp())
        for host in hosts
        if host["last_seen_at"] is not None
    ]
    yield written(HOST_SEEN, seen_at)
    maintained: Samples = []
    for host in hosts:
        since, until = host["maintenance_since"], host["maintenance_until"]
        is_on = since is not None and (until is None or now < until)
        maintained.append((label[host["pk"]], float(is_on)))
    yield written(HOST_MAINTENANCE, maintained)
    heat = Counter(
        str(host["hello__heat__state"] or "unknown")
        for host in hosts
        if host["state"] == HostState.ACTIVE
    )
    yield written(HEAT_HOSTS, [(_of(state=state), n) for state, n in heat.items()])
    outlines = list(HostOutline.objects.filter(host__in=label).values("host_id", *HOST_SPACE))
    for column, family in HOST_SPACE.items():
        yield written(family, [(label[row["host_id"]], row[column]) for row in outlines])


def _heat() -> Iterator[str]:
    counted = counted_seconds(database_now()).items()
    yield written(HEAT_COUNTED, [(_of(host=name), seconds) for name, seconds in counted])
    rows = HeatTrace.objects.unfinished().order_by().values("state").annotate(n=Count("pk"))
    traces = {row["state"]: row["n"] for row in rows}
    yield written(HEAT_TRACES, [(_of(state=state), traces.get(state, 0)) for state in UNFINISHED])


def _disks() -> Iterator[str]:
    names = ("key", "host__name", "name", "state", "read_at", "health", "findings")
    rows = list(
        PhysicalDisk.objects.exclude(host__state=HostState.REMOVED).order_by("pk").values(*names)
    )
    labels = [_of(disk=row["key"], host=row["host__name"]) for row in rows]
    healths = [_health(row["health"]) for row in rows]
    each = list(zip(labels, rows, healths, strict=True))
    about: Samples = [
        (
            _of(
                disk=row["key"],
                host=row["host__name"],
                device=row["name"],
                state=row["state"],
                model=health.model if health is not None else "",
                serial=health.serial if health is not None else "",
            ),
            1,
        )
        for _, row, health in each
    ]
    yield written(DISK_INFO, about)
    at = [(label, row["read_at"].timestamp() if row["read_at"] else None) for label, row, _ in each]
    yield written(DISK_READ, at)
    yield written(DISK_FINDINGS, [(label, len(row["findings"])) for label, row, _ in each])
    known = [(label, health) for label, _, health in each if health is not None]
    passed: Samples = [
        (label, float(health.passed)) for label, health in known if health.passed is not None
    ]
    yield written(DISK_PASSED, passed)
    worn = [(label, wear_of(health)) for label, health in known]
    yield written(
        DISK_WEAR, [(label, wear.percent / 100) for label, wear in worn if wear is not None]
    )
    yield written(DISK_HEAT, [(label, health.temperature_celsius) for label, health in known])
    hours: Samples = [
        (label, health.power_on_hours * SECONDS_AN_HOUR)
        for label, health in known
        if health.power_on_hours is not None
    ]
    yield written(DISK_ON, hours)


def _health(data: dict[str, Any]) -> SmartHealth | None:
    try:
        return converted(data, SmartHealth, "health") if data else None
    except BadHostData:
        return None


def _of(**labels: str) -> str:
    return labels_text(labels)
