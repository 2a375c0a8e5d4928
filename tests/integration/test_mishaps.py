"""What befalls a storage host is told by one mail and one webhook, and so is its end: how long each
of them takes, with samples every 60 s as in production."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import pytest
from celery import Celery
from django.db.models import F, Max

from jobs.models import Alert, State
from panel.configuration.environment import broker
from panel.models import AlertDelivery
from storage.database_clock import database_now
from storage.models import DiskRound, Host, PhysicalDisk, Volume
from tests.integration.lab_machine import LabMachine
from tests.integration.machine import Machine
from tests.integration.mishaps import CachedBySpare, LabMishaps
from tests.integration.person import Person, finished
from tests.integration.running import Running
from tests.integration.told import A_ROUND_AND_MORE, Told
from tests.integration.until import until

SAMPLE_SECONDS: Final = 60
WITHIN_SECONDS: Final = 120
END_SECONDS: Final = 400
PACED: Final = ("beat", "collector", "worker")
HOLD_SECONDS: Final = {"contact": 90, "pending_rose": 30}
"""The rules' own time; data at risk and a failed job have none."""
BOTH: Final = ("email", "webhook")
News = Counter[tuple[str, str, str]]


@dataclass
class Watch:
    """Breaks one thing after the other, and notes when each is told."""

    told: Told
    host: Host
    before: News
    rows: list[str] = field(default_factory=list)
    mended: dict[str, datetime] = field(default_factory=dict)
    expected: News = field(default_factory=Counter)

    def news(self) -> News:
        """What was told since the beginning; what passed by itself before is not counted."""
        return self.told.of_host(self.host) - self.before

    def breaks(self, name: str, family: str, begin: Callable[[], object]) -> None:
        """Until both were told that it is there."""
        since = database_now()
        begin()
        self._told(name, family, "opened", since, WITHIN_SECONDS + HOLD_SECONDS.get(family, 0))

    def mends(self, name: str, begin: Callable[[], object]) -> None:
        """From now on; `ends` waits for the end."""
        self.mended[name] = database_now()
        begin()

    def ends(self, name: str, family: str) -> None:
        """Until both were told that it is over."""
        self._told(name, family, "resolved", self.mended[name], END_SECONDS)

    def _told(self, name: str, family: str, kind: str, since: datetime, seconds: float) -> None:
        wanted: News = Counter((way, family, kind) for way in BOTH)
        self.expected += wanted

        def both() -> bool:
            there = self.news()
            return all(there[each] >= self.expected[each] for each in wanted)

        until(lambda: f"{name} is {kind}: {self.news()} {self.open()}", both, seconds)
        took = [f"{self._last(*each, since):.0f}" for each in wanted]
        self.rows.append(" | ".join((name, kind, *took)))
        print(self.rows[-1], flush=True)

    def _last(self, way: str, family: str, kind: str, since: datetime) -> float:
        """Seconds from `since` to the last such message."""
        sent = AlertDelivery.objects.filter(
            route__kind=way,
            events__alert__host=self.host,
            events__alert__family=family,
            events__kind=kind,
        )
        at = sent.aggregate(at=Max("delivered_at"))["at"]
        return float((at - since).total_seconds())

    def open(self) -> list[str]:
        alerts = Alert.objects.unresolved().filter(host=self.host)
        return [f"{each.code} {each.opened_at} {each.absent_since}" for each in alerts]

    def is_exact(self) -> None:
        """Nothing else was told, nor anything twice."""
        time.sleep(A_ROUND_AND_MORE)
        assert self.news() == self.expected


@pytest.fixture
def paced(panel: Running) -> Iterator[None]:
    """With the pace of production: other tests cannot wait so long for each sample."""
    usual = panel.environment["TIERCEL_SAMPLE_SECONDS"]

    def set_pace(seconds: str) -> None:
        panel.environment["TIERCEL_SAMPLE_SECONDS"] = seconds
        for name in PACED:
            panel.stop(name)
            panel.start(name)

    set_pace(str(SAMPLE_SECONDS))
    yield
    set_pace(usual)


@pytest.fixture
def watch(paced: None, host: Host, found: Volume, told: Told) -> Watch:
    """Of a host of which nothing is wrong."""

    def is_well() -> bool:
        return not Alert.objects.unresolved().filter(host=host).exists()

    time.sleep(A_ROUND_AND_MORE)
    until("nothing is wrong", is_well, END_SECONDS)
    return Watch(told, host, told.of_host(host))


def read_disks(panel: Running, host: Host) -> None:
    """Now, and not only after 45 minutes."""
    DiskRound.objects.filter(host=host).update(tried_at=F("tried_at") - timedelta(hours=1))
    app = Celery("tests", set_as_current=False)
    app.config_from_object("django.conf:settings", namespace="CELERY")
    app.conf.broker_url = broker(panel.environment["REDIS_URL"])
    app.send_task("jobs.tasks.read_disks", args=[0], queue="collect.0", expires=60)


def play(
    watch: Watch, mishaps: LabMishaps, machine: Machine, person: Person, found: Volume
) -> None:
    """One after the other; some ends come together, but for that of the silence."""
    panel, host = watch.told.panel, watch.host
    watch.breaks("mdadm --fail", "array", mishaps.lose_member)
    watch.mends("mdadm --fail", mishaps.get_member_back)

    mishaps.show_pending(0)
    read_disks(panel, host)
    is_known = PhysicalDisk.objects.filter(host=host, identity__contains="PENDING1")
    until("the disk is known", is_known.exists, WITHIN_SECONDS)
    mishaps.show_pending(1)
    watch.breaks("pending sector", "pending_rose", lambda: read_disks(panel, host))

    preview = person.tag(found)
    machine.forbid_all()
    failed = person.apply(preview)
    watch.breaks("failed job", "job", lambda: finished(failed))
    assert failed.state == State.FAILED
    machine.allow("vg0")
    person.refresh(host)
    again = person.apply(person.tag(found))
    watch.mends("failed job", lambda: finished(again))
    watch.ends("failed job", "job")

    mishaps.show_pending(0)
    watch.mends("pending sector", lambda: read_disks(panel, host))
    watch.ends("pending sector", "pending_rose")
    watch.ends("mdadm --fail", "array")

    watch.breaks("host silent", "contact", mishaps.fall_silent)
    watch.mends("host silent", mishaps.speak)
    watch.ends("host silent", "contact")
    watch.is_exact()


def lose_ssd(watch: Watch, cached: CachedBySpare, mode: str) -> None:
    """As by `device_del`, and back again."""
    watch.breaks(f"SSD deleted, {mode}", "pv_missing", cached.lose)
    watch.mends(f"SSD deleted, {mode}", cached.bring_back)
    watch.ends(f"SSD deleted, {mode}", "pv_missing")


@pytest.mark.lab
@pytest.mark.thorough
@pytest.mark.xdist_group("lab")
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("machine", ["lab"], indirect=True)
def test_each_mishap_of_a_real_host_is_told_once_and_so_is_its_end(
    watch: Watch, machine: LabMachine, person: Person, found: Volume
) -> None:
    mishaps = LabMishaps(machine)
    with mishaps.ready(), mishaps.cached("writethrough") as cached:
        person.refresh(watch.host)
        lose_ssd(watch, cached, "writethrough")
        # A single SSD with the only copy of data is a problem in itself.
        name = "writeback on a single SSD"
        set_mode = cached.set_mode
        watch.breaks(name, "writeback_single_ssd", lambda: set_mode("writeback"))
        lose_ssd(watch, cached, "writeback")
        watch.mends(name, lambda: set_mode("writethrough"))
        watch.ends(name, "writeback_single_ssd")
        play(watch, mishaps, machine, person, found)
