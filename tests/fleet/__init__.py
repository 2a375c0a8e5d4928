"""An invented fleet in the database, as a provider's panel looks after some weeks: hosts in every
condition, volumes with and without caches, customers, jobs in every state, a day of samples.

`build()` makes it in the database that Django uses; the same arguments make the same fleet.
`make pages` serves one to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from jobs.alerts import alert_judge
from panel.accounts import people
from panel.models import User
from storage.access import MemberRole, StaffRole
from storage.analysis import disk_condition
from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts, apply_hello
from storage.models import (
    CachePlan,
    Customer,
    Host,
    HostChange,
    HostChangeKind,
    Placement,
    Volume,
)
from storage.models.host import HostState
from storage.naming import new_key, volume_name
from tests.fleet import benchmarks, disks, load
from tests.fleet.machine import ROLES, VG, Invented, Machine, as_reply, hello, machine, problems
from tests.fleet.sales import sell
from tests.fleet.sizes import foresee
from tests.fleet.watch import watch
from tests.fleet.work import Placed, work
from tests.scene import HOST_KEY

ADMIN, OWNER = "admin@example.com", "ann@northwind.example"
PASSWORD = "correct horse 9"
SITES = {"ams": "Amsterdam", "fra": "Frankfurt", "hel": "Helsinki"}
VOLUMES_OF_A_CUSTOMER = 8
NAMES = (
    "Northwind Web", "Bluewater Data", "Larch & Sons", "Museum of Tides", "Kettle Radio",
    "Harbour Clinic", "Pinewood School", "Ostrich Games",
)  # fmt: skip
PLANS = (
    ("Boost S", "For a small site or database.", 4 * GIB, None, "writethrough", 490),
    ("Boost M", "Keeps more of a busy database fast.", 16 * GIB, None, "writethrough", 1290),
    ("Boost 20", "A fifth of your disk, writes too.", None, 20, "writeback", 2490),
)
IN_GERMAN = {
    "Boost S": "Für eine kleine Website oder Datenbank.",
    "Boost M": "Hält mehr von einer großen Datenbank schnell.",
    "Boost 20": "Ein Fünftel Ihrer Platte, auch beim Schreiben.",
}
SILENT = timedelta(minutes=47)
SETTLED = timedelta(days=400)
"""So long ago the volumes came to their hosts."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """`sources` are the volumes that are sampled; those of silent hosts are not among them."""

    admin: User
    owner: User
    hosts: Sequence[Host]
    volumes: Sequence[Volume]
    sources: Sequence[load.Source]


def build(
    hosts: int = 6,
    volumes: int = 60,
    *,
    seed: int = 1,
    hours: float = 24,
    seconds: int = 60,
    crowd: int = 0,
    days: int = 0,
    now: datetime | None = None,
) -> Fleet:
    """Make `hosts` active hosts with `volumes` in all, `hours` of samples every `seconds`, before
    them `days` of one every quarter of an hour, two people (`ADMIN`, `OWNER`, both with
    `PASSWORD`), and from six hosts on one more that waits for its fingerprint. So many of the
    volumes as `crowd` says lie on the first host, the others evenly on the rest; 0 = evenly on
    all."""
    now = now or timezone.now()
    admin = people.add(email=ADMIN, password=PASSWORD, name="Ada", staff_role=StaffRole.ADMIN)
    owner = people.add(email=OWNER, password=PASSWORD, name="Ann")
    plans = [
        CachePlan.objects.create(
            name=name, description=words, size_bytes=size, ratio_percent=ratio, mode=mode,
            price_minor=price, currency="EUR", descriptions={"de": IN_GERMAN[name]},
        )
        for name, words, size, ratio, mode, price in PLANS
    ]  # fmt: skip
    customers = _customers(max(2, volumes // VOLUMES_OF_A_CUSTOMER))
    customers[0].members.create(user=owner, role=MemberRole.OWNER)
    placed: list[Placed] = []
    for number in range(hosts):
        count = crowd if crowd and not number else _share(number, hosts, volumes, crowd)
        made = machine(seed, number, count, now)
        placed += _host(made, customers, plans, now, is_shown=number < len(ROLES))
    if hosts >= len(ROLES):
        _waiting(hosts)
        _gone(placed, now)
    if days:
        first = now - timedelta(hours=hours)
        sources = [_source(each, now) for each in placed if not each.of.is_retired]
        load.store(sources, first - timedelta(days=days), first, load.QUARTER_SECONDS)
    live = _sample(placed, now, hours, seconds)
    if placed:
        work(placed, admin, owner, now)
        sell([each.volume for each in placed], now, seed, tries=customers[0])
        watch(admin, now)
        foresee([each.volume for each in placed if not each.of.is_retired], now, seed)
        _changed(placed[0].host, now)
        benchmarks.measure(placed[0].host, admin, now)
    rows = {each.host.pk: each.host for each in placed}
    return Fleet(admin, owner, tuple(rows.values()), [each.volume for each in placed], live)


def _changed(host: Host, now: datetime) -> None:
    """What the time line of a host can show."""
    kernels = "5.10.0-33-amd64 (5.10.226)", "6.1.0-37-amd64 (6.1.140)"
    changes = (
        (96, HostChangeKind.KERNEL, "", *kernels, 1),
        (90, HostChangeKind.LVM, "", "2.03.11", "2.03.16", 1),
        (30, HostChangeKind.DISK_GONE, "S4EVNX0R1234", "Samsung SSD 870 EVO 1.8 TiB", "", 1),
        (6, HostChangeKind.BOOT, "", "", kernels[1], 2),
    )
    HostChange.objects.bulk_create(
        HostChange(
            host=host, at=now - timedelta(hours=hours), kind=kind, subject=subject,
            before=before, after=after, count=count,
        )
        for hours, kind, subject, before, after, count in changes
    )  # fmt: skip


def grow(made: Fleet, hosts: int, volumes: int, *, seed: int = 1, hours: float = 0.1) -> Fleet:
    """The fleet with `hosts` more, all healthy, and `volumes` on them; without jobs."""
    now, first = timezone.now(), max(len(made.hosts), len(ROLES))
    customers, plans = list(Customer.objects.all()), list(CachePlan.objects.all())
    placed: list[Placed] = []
    for number in range(hosts):
        count = _share(number, hosts, volumes, 0)
        placed += _host(machine(seed, first + number, count, now), customers, plans, now)
    live = _sample(placed, now, hours, 60)
    rows = {each.host.pk: each.host for each in placed}
    return Fleet(
        made.admin,
        made.owner,
        (*made.hosts, *rows.values()),
        [*made.volumes, *(each.volume for each in placed)],
        [*made.sources, *live],
    )


def _sample(
    placed: Sequence[Placed], now: datetime, hours: float, seconds: int
) -> list[load.Source]:
    """Store what the volumes did; the sources that go on."""
    sampled = [each for each in placed if not each.of.is_retired]
    for source_end, away in ((now, False), (now - SILENT, True)):
        sources = [
            _source(each, now) for each in sampled if (each.machine.role == "silent") is away
        ]
        if sources:
            load.store(sources, source_end - timedelta(hours=hours), source_end, seconds)
    return [_source(each, now) for each in sampled if each.machine.role != "silent"]


def _share(number: int, hosts: int, volumes: int, crowd: int) -> int:
    left, among = (volumes - crowd, hosts - 1) if crowd else (volumes, hosts)
    return left // among + (number < left % among)


def live_on(fleet: Fleet, at: datetime, seconds: int) -> None:
    """One more round of samples of the hosts that answer, judged as housekeeping does."""
    load.store(fleet.sources, at - timedelta(seconds=seconds), at, seconds)
    answering = {source.host_id for source in fleet.sources}
    Host.objects.filter(pk__in=answering).update(last_seen_at=at, facts_at=at)
    disk_condition.judge_volumes(at)
    disk_condition.judge_disks(at)
    alert_judge.judge(at)


def _customers(count: int) -> list[Customer]:
    names = (*NAMES, *(f"Customer {n}" for n in range(len(NAMES) + 1, count + 1)))[:count]
    made = (Customer(name=name, external_id=f"c-{n:04d}") for n, name in enumerate(names, 1))
    return Customer.objects.bulk_create(made)


def _host(
    of: Machine,
    customers: Sequence[Customer],
    plans: Sequence[CachePlan],
    now: datetime,
    *,
    is_shown: bool = False,
) -> list[Placed]:
    """The host with its volumes and disks, as the real recording code stores them."""
    at = now - SILENT if of.role == "silent" else now - timedelta(seconds=8)
    host = Host.objects.create(
        name=of.name,
        address=f"198.51.100.{int(of.name[-2:], 10) % 250 + 1}",
        state=HostState.ACTIVE,
        machine_id=of.machine_id,
        host_key=HOST_KEY,
        maintenance_since=now - timedelta(hours=2) if of.role == "maintenance" else None,
        maintenance_until=now + timedelta(hours=3) if of.role == "maintenance" else None,
        maintenance_reason="Fan replaced by the data centre" if of.role == "maintenance" else "",
        site=SITES.get(of.name.split("-")[1], ""),
        tags=["nvme", "gen-2"] if int(of.name[-1]) % 2 else ["sata"],
    )
    rows = Volume.objects.bulk_create(
        _row(each, n, customers, plans, now) for n, each in enumerate(of.volumes)
    )
    Placement.objects.bulk_create(
        Placement(
            volume=row,
            host=host,
            vg_name=VG,
            vg_uuid=of.vg_uuid,
            lv_name=each.lv_name,
            lv_uuid=each.lv_uuid,
        )
        for row, each in zip(rows, of.volumes, strict=True)
    )
    Placement.objects.filter(host=host).update(since=now - SETTLED)
    Volume.objects.filter(placement__host=host).update(created_at=now - SETTLED)
    apply_hello(host, hello(of), problems(of), at)
    apply_facts(host, as_reply(of, now), at)
    host.refresh_from_db()
    if of.role != "silent":
        disks.read(host, of, now, is_shown=is_shown)
    return [
        Placed(each, row, host, of, _cached_at(each, n, now))
        for n, (row, each) in enumerate(zip(rows, of.volumes, strict=True))
    ]


def _row(
    each: Invented,
    n: int,
    customers: Sequence[Customer],
    plans: Sequence[CachePlan],
    now: datetime,
) -> Volume:
    customer = customers[int(each.phase * len(customers)) % len(customers)]
    is_sold = each.is_managed and n % 9 != 8
    return Volume(
        key=each.key,
        customer=customer if is_sold else None,
        label=each.label if is_sold or each.is_managed else each.lv_name,
        layout=each.layout,
        managed=each.is_managed,
        size_bytes=each.size_bytes,
        adopted_at=now - timedelta(days=9) if is_sold and n % 4 == 0 else None,
        external_id=f"vps-{each.key}" if is_sold else "",
        guest="" if each.is_retired else f"{each.guest} · vda",
        cache_plan=_plan(each, plans) if is_sold and n % 3 != 2 else None,
    )


def _plan(each: Invented, plans: Sequence[CachePlan]) -> CachePlan | None:
    """The one whose cache the volume has."""
    sizes = {
        plan: plan.size_bytes or each.size_bytes * (plan.ratio_percent or 0) // 100
        for plan in plans
    }
    return next(
        (plan for plan, size_bytes in sizes.items() if size_bytes == each.cache_bytes), None
    )


def _cached_at(each: Invented, n: int, now: datetime) -> datetime | None:
    """Some caches came within the last day; the others have been there for long."""
    if each.technology == "lvmcache" and n % 5 == 2:
        return now - timedelta(hours=6 + 7 * each.phase)
    return None


def _source(each: Placed, now: datetime) -> load.Source:
    gap = None
    if each.machine.role == "degraded":
        gap = (now - timedelta(hours=9), now - timedelta(hours=8, minutes=20))
    return load.Source(each.volume.pk, each.host.pk, each.of, each.cached_at, gap)


def _waiting(number: int) -> None:
    """A host whose fingerprint is not accepted yet."""
    Host.objects.create(
        name=f"stor-ams-{number + 1:02d}",
        address="198.51.100.250",
        state=HostState.UNVERIFIED,
        host_key_seen=HOST_KEY,
    )


def _gone(placed: Sequence[Placed], now: datetime) -> None:
    """A volume that its host's inventory lacks, and one that was to be made but is not there."""
    host = next(each for each in placed if each.machine.role == "maintenance")
    key = new_key()
    lost = Volume.objects.create(key=key, label="old-build data", managed=True, size_bytes=40 * GIB)
    planned = Volume.objects.create(label="new-shop data", size_bytes=80 * GIB)
    place = {"host": host.host, "vg_name": VG, "vg_uuid": host.machine.vg_uuid}
    Placement.objects.create(
        volume=lost,
        lv_name=volume_name(key),
        lv_uuid="gOnEgO-0000-0000-0000-0000-0000-000001",
        missing_since=now - timedelta(hours=11),
        **place,
    )
    Placement.objects.create(volume=planned, lv_name=volume_name(planned.key), **place)
