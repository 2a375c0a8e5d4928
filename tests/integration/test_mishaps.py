"""What befalls a storage host sends one mail and one webhook, and so does its end: how long each
of them takes, with samples every 60 s as in production."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
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
from storage.models import DiskRound, Host, HostChange, PhysicalDisk, Volume
from tests.integration.lab_machine import LabMachine
from tests.integration.machine import Machine
from tests.integration.mishaps import CachedBySpare, LabMishaps
from tests.integration.person import Person, finished, words
from tests.integration.recipients import Recipients
from tests.integration.running import Running
from tests.integration.until import until
from tests.lab import second_kernel

SAMPLE_SECONDS: Final = 60
A_ROUND_AND_MORE: Final = 25
WITHIN_SECONDS: Final = 120
END_SECONDS: Final = 400
PACED: Final = ("beat", "collector", "housekeeping")
HOLD_SECONDS: Final = {
    "contact": 90,
    "pending_rose": 30,
    "cache_metadata_full": 30,
    "kernel_changed": 30,
    # Half an hour of samples, judged every five minutes.
    "cache_dirty_stuck": 1800 + 300 + 30,
}
"""The rules' own time; data at risk and a failed job have none."""
OWN_END_SECONDS: Final = {"cache_dirty_stuck": 1200, "kernel_changed": 300}
"""The same of their ends, where it is not the usual one."""
METADATA_PERCENT: Final = 85
BOTH: Final = ("email", "webhook")
News = Counter[tuple[str, str, str]]


@dataclass
class Watch:
    """Breaks one thing after the other, and notes when each is notified."""

    recipients: Recipients
    host: Host
    before: News
    rows: list[str] = field(default_factory=list)
    mended: dict[str, datetime] = field(default_factory=dict)
    expected: News = field(default_factory=Counter)

    def news(self) -> News:
        """What was notified since the beginning; what passed by itself before is not counted."""
        return self.recipients.of_host(self.host) - self.before

    def breaks(self, name: str, family: str, begin: Callable[[], object]) -> None:
        """Until both were notified that it is there."""
        since = database_now()
        begin()
        self.is_notified(name, family, since)

    def is_notified(self, name: str, family: str, since: datetime) -> None:
        """Until both were notified of what is there since then."""
        self._notified(name, family, "opened", since, WITHIN_SECONDS + HOLD_SECONDS.get(family, 0))

    def mends(self, name: str, begin: Callable[[], object]) -> None:
        """From now on; `ends` waits for the end."""
        self.mended[name] = database_now()
        begin()

    def ends(self, name: str, family: str) -> None:
        """Until both were notified that it is over."""
        seconds = END_SECONDS + OWN_END_SECONDS.get(family, 0)
        self._notified(name, family, "resolved", self.mended[name], seconds)

    def may_have_been(self, family: str) -> None:
        """What came beside, if it did, notified both once, and so did its end."""
        beside: News = Counter((way, family, "opened") for way in BOTH)
        if (self.expected + beside) <= self.news():
            self.expected += beside + Counter((way, family, "resolved") for way in BOTH)

    def _notified(self, name: str, family: str, kind: str, since: datetime, seconds: float) -> None:
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
        """Nothing else was notified, nor anything twice."""
        time.sleep(A_ROUND_AND_MORE)
        assert self.news() == self.expected


@pytest.fixture
def paced(panel: Running) -> Iterator[None]:
    """With the pace of production: other tests cannot wait so long for each sample and round."""
    production = {
        "TIERCEL_SAMPLE_SECONDS": str(SAMPLE_SECONDS),
        "DJANGO_SETTINGS_MODULE": "panel.settings",
    }
    usual = {name: panel.environment[name] for name in production}

    def set_pace(settings: Mapping[str, str]) -> None:
        panel.environment |= settings
        for name in PACED:
            panel.stop(name)
            panel.start(name)

    set_pace(production)
    yield
    set_pace(usual)


@pytest.fixture
def watch(paced: None, host: Host, found: Volume, recipients: Recipients, person: Person) -> Watch:
    """Of a host of which nothing is wrong."""
    # Volumes of a test before this one.
    person.refresh(host)
    person.settle_missing(host)

    def is_well() -> bool:
        return not Alert.objects.unresolved().filter(host=host).exists()

    time.sleep(A_ROUND_AND_MORE)
    until("nothing is wrong", is_well, END_SECONDS)
    return Watch(recipients, host, recipients.of_host(host))


def read_disks(panel: Running, host: Host) -> None:
    """Now, and not only after 45 minutes. Disks that the mishaps make come and go."""
    PhysicalDisk.objects.filter(host=host).update(may_leave=True)
    DiskRound.objects.filter(host=host).update(tried_at=F("tried_at") - timedelta(hours=1))
    app = Celery("tests", set_as_current=False)
    app.config_from_object("django.conf:settings", namespace="CELERY")
    app.conf.broker_url = broker(panel.environment["REDIS_URL"])
    app.send_task("jobs.tasks.read_disks", args=[0], queue="collect.0", expires=60)


def play(
    watch: Watch, mishaps: LabMishaps, machine: Machine, person: Person, found: Volume
) -> None:
    """One after the other; some ends come together."""
    panel, host = watch.recipients.panel, watch.host
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


def fall_silent(watch: Watch, mishaps: LabMishaps) -> None:
    watch.breaks("host silent", "contact", mishaps.fall_silent)
    watch.mends("host silent", mishaps.speak)
    watch.ends("host silent", "contact")


def lose_ssd(watch: Watch, cached: CachedBySpare, mode: str) -> None:
    """As by `device_del`, and back again."""
    watch.breaks(f"SSD deleted, {mode}", "pv_missing", cached.lose)
    watch.mends(f"SSD deleted, {mode}", cached.bring_back)
    watch.ends(f"SSD deleted, {mode}", "pv_missing")


@pytest.mark.lab
@pytest.mark.thorough
@pytest.mark.xdist_group("lab")
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("machine", ["lab"], indirect=True)
def test_each_mishap_of_a_real_host_notifies_once_and_so_does_its_end(
    watch: Watch, machine: LabMachine, person: Person, found: Volume
) -> None:
    mishaps = LabMishaps(machine)
    dirty = "dirty does not drain"
    with mishaps.ready(), mishaps.writes_back_nothing():
        # That takes half an hour, in which all else happens.
        begun = database_now()
        with mishaps.cached("writethrough") as cached:
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
        # Its volume is gone with it.
        person.refresh(watch.host)
        person.settle_missing(watch.host)
        watch.is_notified(dirty, "cache_dirty_stuck", begun)
        watch.mends(dirty, mishaps.drain)
        fall_silent(watch, mishaps)
        watch.ends(dirty, "cache_dirty_stuck")
        # Where a round fell between the end of the volume and the word of a person.
        watch.may_have_been("missing")
        watch.is_exact()


@pytest.mark.lab
@pytest.mark.thorough
@pytest.mark.xdist_group("lab")
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("machine", ["lab"], indirect=True)
def test_metadata_that_is_full_notifies_once_and_so_does_its_end(
    watch: Watch, machine: LabMachine, person: Person
) -> None:
    mishaps, name = LabMishaps(machine), "metadata full"
    with mishaps.another_ssd() as ssd:
        mishaps.fill_metadata(ssd, METADATA_PERCENT)
        watch.breaks(name, "cache_metadata_full", lambda: person.refresh(watch.host))
        watch.mends(name, mishaps.take_another_cache)
        watch.ends(name, "cache_metadata_full")
        watch.is_exact()


@pytest.mark.lab
@pytest.mark.thorough
@pytest.mark.xdist_group("lab")
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("machine", ["lab"], indirect=True)
def test_a_restart_into_another_kernel_notifies_once_and_so_does_its_end(
    watch: Watch, machine: LabMachine, found: Volume, person: Person
) -> None:
    """The last of this file: the machine's disks may have other names afterwards."""
    lab, name = machine.lab, "another kernel"
    before = lab.run(["uname", "-r"]).stdout.strip()
    second_kernel.install(lab)
    begun = time.monotonic()
    assert second_kernel.restart_into(lab) == f"{before.removesuffix('-amd64')}-cloud-amd64"
    print(f"restarted in {time.monotonic() - begun:.0f} s", flush=True)
    watch.breaks(name, "kernel_changed", lambda: None)
    watch.mends(name, lambda: None)
    # A machine that starts for longer than the rule waits is also silent.
    watch.may_have_been("contact")
    (change,) = HostChange.objects.filter(host=watch.host, kind="kernel")
    assert change.before.startswith(before) and "cloud" in change.after
    history = person.host_page(watch.host, "history")
    assert change.after in words(history) and "Compare before and after" in history
    for path in (f"hosts/{watch.host.key}", f"volumes/{found.key}"):
        marks = json.loads(person.visitor.get(f"/{path}/marks?range=1h").text)["marks"]
        assert "new kernel" in [each["label"].rpartition(": ")[2] for each in marks], path
    watch.ends(name, "kernel_changed")
    watch.is_exact()
