"""From a problem to a mail and a webhook, by a real worker, mail server and receiver."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from jobs.models import Alert
from panel.models import AlertDelivery, AlertRoute, User
from storage.models import Host
from tests import make
from tests.integration.fake_machine import FakeMachine
from tests.integration.machine import Machine
from tests.integration.person import Person
from tests.integration.running import REDIS, Running
from tests.integration.until import until
from tests.panel.alerts.receivers import Place, Postbox
from tests.panel.alerts.telling import SECRET, route_to

WITHIN_SECONDS = 120
A_ROUND_AND_MORE = 25


@dataclass(frozen=True)
class Told:
    """A panel that tells one person and one address."""

    panel: Running
    postbox: Postbox
    place: Place

    @property
    def subjects(self) -> list[str]:
        return [str(each["Subject"]) for each in self.postbox.got]

    @property
    def bodies(self) -> list[Any]:
        """What came by HTTP, with good signatures."""
        return [Webhook(SECRET).verify(each["body"], each["headers"]) for each in self.place.got]

    @property
    def codes(self) -> list[str]:
        """Of each alert that came by HTTP."""
        return [each["code"] for body in self.bodies for each in body["data"]["alerts"]]

    @property
    def types(self) -> list[str]:
        return [body["type"] for body in self.bodies]

    def wait_for(self, *types: str) -> None:
        """Until as many mails and webhooks came, and then for more than a round."""
        until(
            f"{types} came",
            lambda: len(self.place.got) >= len(types) and len(self.postbox.got) >= len(types),
            WITHIN_SECONDS,
        )
        time.sleep(A_ROUND_AND_MORE)
        assert self.types == list(types)
        assert len(self.subjects) == len(types)


@pytest.fixture
def told(panel: Running) -> Iterator[Told]:
    with Postbox() as postbox, Place() as place:
        before = dict(panel.environment)
        panel.stop("worker")
        panel.environment |= {
            "TIERCEL_SMTP_HOST": "127.0.0.1",
            "TIERCEL_SMTP_PORT": str(postbox.port),
            "TIERCEL_SMTP_STARTTLS": "0",
        }
        panel.start("worker")
        Alert.objects.all().delete()
        AlertRoute.objects.create(
            name="Anna", kind="email", user=User.objects.filter(staff_role="admin").first()
        )
        route_to(f"{place.url}/hook")
        yield Told(panel, postbox, place)
        AlertRoute.objects.all().delete()
        panel.stop("worker")
        panel.environment.clear()
        panel.environment |= before
        panel.start("worker")


def new_host(name: str) -> Host:
    """One whose key waits for a person; no collector asks it."""
    return make.host(name=name, state="unverified", host_key="", host_key_seen=make.HOST_KEY)


def test_each_problem_is_one_mail_and_one_webhook_and_one_more_when_it_is_over(told: Told) -> None:
    host = new_host("alert-one")
    told.wait_for("alert.opened")
    assert told.subjects == ["[Tiercel] alert-one: New host waiting for you to approve its SSH key"]
    Host.objects.filter(pk=host.pk).update(state="pending")
    told.wait_for("alert.opened", "alert.resolved")
    assert told.subjects[1].startswith("[Tiercel] Resolved: alert-one")


def test_neither_worker_nor_redis_nor_mail_server_loses_or_doubles_a_message(told: Told) -> None:
    told.postbox.is_down(True)
    told.panel.kill("worker")
    told.panel.kill(REDIS)
    host = new_host("alert-two")
    time.sleep(5)
    told.panel.start(REDIS)
    told.panel.start("worker")
    until("the webhook came", lambda: len(told.place.got) == 1, WITHIN_SECONDS)
    until(
        "the mail was tried",
        lambda: AlertDelivery.objects.filter(
            route__kind="email", attempts__gt=1, delivered_at=None
        ).exists(),
        WITHIN_SECONDS,
    )
    told.panel.kill("worker")
    told.panel.start("worker")
    told.postbox.is_down(False)
    told.wait_for("alert.opened")
    Host.objects.filter(pk=host.pk).update(state="pending")
    told.wait_for("alert.opened", "alert.resolved")


def test_a_disk_that_an_array_loses_is_told_once_with_what_it_concerns(
    make_fake_machine: Callable[..., FakeMachine],
    enrol: Callable[[Machine, str], Host],
    person: Person,
    told: Told,
) -> None:
    machine = make_fake_machine()
    host = enrol(machine, "alert-three")
    with machine.host.changing() as there:
        there.arrays[0].failed = {"sdb"}
    person.refresh(host)
    until("the array is told", lambda: told.codes.count("array_degraded"), WITHIN_SECONDS)
    time.sleep(A_ROUND_AND_MORE)
    # The host's key, which was accepted at the same moment, may be told in the same message.
    assert told.codes.count("array_degraded") == 1
    mails = [str(each.get_content()) for each in told.postbox.got]
    (about,) = [each for each in mails if "alert-three: Array degraded" in each]
    assert "md0 (raid1) is missing 1 disk." in about
    assert "What to do: Replace the disk" in about
