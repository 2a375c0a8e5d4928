"""Worker, Redis or mail server away for ten minutes, while problems begin and end: the messages
that recipients get."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import F, Q

from jobs.alerts import alert_actions
from jobs.models import Alert, AlertEvent
from panel.models import AlertDelivery, AlertRoute
from storage.models import Host
from tests import make
from tests.faults.fault import Fault, Play, Played
from tests.faults.named.panel import at_work
from tests.faults.workers import Workers
from tests.integration.running import REDIS, Running
from tests.integration.until import until
from tests.panel.deliveries.alerts.alert_messages import arrived, route_to
from tests.panel.deliveries.alerts.receivers import Place, Postbox

AWAY_SECONDS: Final = 600.0
FASTER: Final = float(os.environ.get("FAULTS_FASTER", "10"))
"""So many times faster than the clock on the wall time passes for alerts; 1 plays in real time."""
STEP_SECONDS: Final = 20.0
NOTIFIED_SECONDS: Final = 120.0
RETRIED_SECONDS: Final = 360.0
"""A mail that was refused for ten minutes is tried again after at most so long."""
A_ROUND_SECONDS: Final = 25.0
ESCALATE_SECONDS: Final = 300
MOMENTS: Final = {
    Alert: (
        "first_seen_at",
        "present_since",
        "absent_since",
        "opened_at",
        "notified_at",
        "last_notified_at",
        "resolved_at",
        "acknowledged_at",
        "tier_at",
    ),
    AlertEvent: ("at", "routed_at"),
    AlertDelivery: ("next_at", "delivered_at", "given_up_at", "created_at"),
}
MAIL: Final = "mail server"
Messages = Counter[tuple[str, str, str]]
"""How many messages each route got of what happened to which host."""


def faults() -> Iterator[Fault]:
    expected = "an alert sends one message when it opens, one when it ends; acknowledged, none"
    minutes = AWAY_SECONDS / 60
    for name, what in (
        ("housekeeping", "housekeeping is killed and stays away"),
        (REDIS, "Redis is killed and stays away"),
        (MAIL, "the mail server refuses everything, and housekeeping is killed,"),
    ):
        yield Fault(f"alerts: {what} for {minutes:.0f} minutes while problems open and resolve",
                    expected, _away(name), "A01", alone=True)  # fmt: skip


@dataclass
class AlertScene:
    """A panel that notifies one person, one address and, a tier later, a second person, of hosts of
    this scene only. `moved` is by how many seconds what is stored was moved into the past."""

    panel: Running
    postbox: Postbox
    place: Place
    routes: list[AlertRoute] = field(default_factory=list)
    hosts: dict[str, Host] = field(default_factory=dict)
    moved: float = 0.0
    began: float = field(default_factory=time.monotonic)

    @property
    def passed(self) -> float:
        """The seconds since it began, as alerts know them."""
        return time.monotonic() - self.began + self.moved

    def begin(self, name: str, state: str = "unverified") -> None:
        """Another problem: a host whose key waits for a person, or one that is locked out."""
        key = "" if state == "unverified" else make.HOST_KEY
        with transaction.atomic():
            host = make.host(name=f"{name}-{self.panel.port}", state=state, host_key=key)
            for route in self.routes:
                route.hosts.add(host)
        self.hosts[name] = host

    def solve(self, name: str) -> None:
        Host.objects.filter(pk=self.hosts[name].pk).update(state="pending")

    def alert(self, name: str) -> Alert:
        return Alert.objects.get(host=self.hosts[name])

    def let_pass(self, seconds: float, faster: float = FASTER) -> None:
        """So long for alerts: part of it really, and the rest by moving what is stored into the
        past."""
        end = self.passed + seconds
        while (left := end - self.passed) > 0:
            step = min(left, STEP_SECONDS)
            time.sleep(step / faster)
            self._move(timedelta(seconds=step - step / faster))

    def _move(self, by: timedelta) -> None:
        if not by:
            return
        self.moved += by.total_seconds()
        mine = Q(host__in=[each.pk for each in self.hosts.values()])
        of = {Alert: mine, AlertEvent: Q(alert__host__in=self.hosts.values()),
              AlertDelivery: Q(route__in=self.routes)}  # fmt: skip
        for model, names in MOMENTS.items():
            moved = {name: F(name) - by for name in names}
            model._default_manager.filter(of[model]).update(**moved)

    def came(self) -> Messages:
        """What arrived, by the ids of the messages; a copy counts."""
        names = {host.pk: name for name, host in self.hosts.items()}
        return Counter(
            (message.route.name, names[event.alert.host_id], event.kind)
            for message, event in arrived(self.postbox, self.place)
        )

    def wait(self, expected: Messages, seconds: float, faster: float = 1.0) -> None:
        """Until as much has come, at most so long for alerts."""
        end = self.passed + seconds
        while self.came().total() < expected.total() and self.passed < end:
            self.let_pass(faster, faster)


@contextmanager
def _alert_scene() -> Iterator[AlertScene]:
    with ExitStack() as stack:
        postbox, place = stack.enter_context(Postbox()), stack.enter_context(Place())
        settings = {
            "TIERCEL_SMTP_HOST": "127.0.0.1",
            "TIERCEL_SMTP_PORT": str(postbox.port),
            "TIERCEL_SMTP_STARTTLS": "0",
            "TIERCEL_ALERT_PRIVATE_HOSTS": "127.0.0.1",
            "TIERCEL_ALERT_ESCALATE_SECONDS": str(ESCALATE_SECONDS),
        }
        panel, _ = stack.enter_context(at_work(**settings))
        scene = AlertScene(panel, postbox, place)
        unused = make.host(name=f"unused-{panel.port}", state="pending")
        for tier, name in ((1, "anna"), (2, "ben")):
            person = make.staff_user(f"{name}-{panel.port}@example.org")
            scene.routes.append(
                AlertRoute.objects.create(name=name, kind="email", user=person, tier=tier)
            )
        scene.routes.append(route_to(f"{place.url}/hook"))
        for route in scene.routes:
            # Without a host a route is about all, also those of other scenes.
            route.hosts.add(unused)
        try:
            yield scene
        finally:
            AlertRoute.objects.filter(pk__in=[each.pk for each in scene.routes]).delete()
            Host.objects.filter(pk__in=[each.pk for each in scene.hosts.values()]).update(
                state="pending"
            )
            connection.close()


def _away(name: str) -> Play:
    def play(workers: Workers) -> Played:
        with _alert_scene() as scene:
            return _played(scene, name)

    return play


def _both(*news: tuple[str, str]) -> Messages:
    """News that both of the first tier hear."""
    return Counter((route, *each) for route in ("anna", "webhook") for each in news)


def _played(scene: AlertScene, name: str) -> Played:
    scene.begin("mended")
    scene.begin("urgent", "quarantined")
    scene.begin("known", "quarantined")
    expected = _both(("mended", "opened"), ("urgent", "opened"), ("known", "opened"))
    scene.wait(expected, NOTIFIED_SECONDS)
    problems = _differences(scene, expected)
    alert_actions.acknowledge(scene.alert("known"), None, "We are working on it.", None)

    is_mail = name == MAIL
    went = scene.passed
    if is_mail:
        scene.postbox.is_down(True)
    else:
        scene.panel.kill(name)
    scene.begin("brief")
    if is_mail:
        # The webhook shows that it was judged; its mail is refused.
        expected += _both(("brief", "opened"), ("brief", "resolved"))
        until("it opens", lambda: _is_open(scene.hosts["brief"]), NOTIFIED_SECONDS)
        scene.panel.kill("housekeeping")
        scene.panel.start("housekeeping")
    scene.let_pass(AWAY_SECONDS / 2)
    scene.solve("brief")
    scene.solve("mended")
    scene.begin("lasting")
    scene.let_pass(max(0.0, went + AWAY_SECONDS - scene.passed))
    back = scene.passed
    if is_mail:
        scene.postbox.is_down(False)
    else:
        scene.panel.start(name)
    # What began and ended while no round judged was not seen.
    expected += _both(("mended", "resolved"), ("lasting", "opened"))
    expected[("ben", "urgent", "escalated")] += 1
    scene.wait(expected, RETRIED_SECONDS + NOTIFIED_SECONDS * FASTER, FASTER if is_mail else 1.0)
    recovery = scene.passed - back

    scene.solve("lasting")
    expected += _both(("lasting", "resolved"))
    scene.wait(expected, NOTIFIED_SECONDS)
    time.sleep(A_ROUND_SECONDS)
    problems += _differences(scene, expected) + _out_of_order(scene)
    if scene.alert("known").acknowledged_at is None:
        problems.append("an acknowledged alert is unacknowledged again")
    bound = RETRIED_SECONDS + NOTIFIED_SECONDS if is_mail else NOTIFIED_SECONDS
    return Played(f"{scene.came().total()} messages, each once", problems, recovery, bound)


def _differences(scene: AlertScene, expected: Messages) -> list[str]:
    came = scene.came()
    lost = [f"lost: {' '.join(each)}" for each in expected - came]
    return lost + [f"not expected: {' '.join(each)}" for each in came - expected]


def _is_open(host: Host) -> bool:
    return Alert.objects.open().filter(host=host).exists()


def _out_of_order(scene: AlertScene) -> list[str]:
    """Mails that say that an alert is over before the one that it began."""
    begun: set[str] = set()
    wrong = []
    for mail in scene.postbox.got:
        subject = str(mail["Subject"])
        named = {name for name, host in scene.hosts.items() if host.name in subject}
        if "Resolved: " in subject:
            wrong += [f"the end of {name} came first" for name in named - begun]
        begun |= named
    return wrong
