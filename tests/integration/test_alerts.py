"""From a problem to a mail and a webhook, by a real worker, mail server and receiver."""

from __future__ import annotations

import time
from collections.abc import Callable

from panel.models import AlertDelivery
from storage.models import Host
from tests import make
from tests.integration.fake_machine import FakeMachine
from tests.integration.machine import Machine
from tests.integration.person import Person
from tests.integration.recipients import A_ROUND_AND_MORE, WITHIN_SECONDS, Recipients
from tests.integration.running import REDIS
from tests.integration.until import until


def new_host(name: str) -> Host:
    """One whose key waits for a person; no collector asks it."""
    return make.host(name=name, state="unverified", host_key="", host_key_seen=make.HOST_KEY)


def test_each_problem_is_one_mail_and_one_webhook_and_one_more_when_it_is_over(
    recipients: Recipients,
) -> None:
    host = new_host("alert-one")
    recipients.wait_for("alert.opened")
    assert recipients.subjects == [
        "[Tiercel] alert-one: New host waiting for you to approve its SSH key"
    ]
    Host.objects.filter(pk=host.pk).update(state="pending")
    recipients.wait_for("alert.opened", "alert.resolved")
    assert recipients.subjects[1].startswith("[Tiercel] Resolved: alert-one")


def test_neither_housekeeping_nor_redis_nor_mail_server_loses_or_doubles_a_message(
    recipients: Recipients,
) -> None:
    recipients.postbox.is_down(True)
    recipients.panel.kill("housekeeping")
    recipients.panel.kill(REDIS)
    host = new_host("alert-two")
    time.sleep(5)
    recipients.panel.start(REDIS)
    recipients.panel.start("housekeeping")
    until("the webhook came", lambda: len(recipients.place.got) == 1, WITHIN_SECONDS)
    until(
        "the mail was tried",
        lambda: AlertDelivery.objects.filter(
            route__kind="email", attempts__gt=1, delivered_at=None
        ).exists(),
        WITHIN_SECONDS,
    )
    recipients.panel.kill("housekeeping")
    recipients.panel.start("housekeeping")
    recipients.postbox.is_down(False)
    recipients.wait_for("alert.opened")
    Host.objects.filter(pk=host.pk).update(state="pending")
    recipients.wait_for("alert.opened", "alert.resolved")


def test_a_disk_that_an_array_loses_notifies_once_with_what_it_concerns(
    make_fake_machine: Callable[..., FakeMachine],
    enrol: Callable[[Machine, str], Host],
    person: Person,
    recipients: Recipients,
) -> None:
    machine = make_fake_machine()
    host = enrol(machine, "alert-three")
    with machine.host.changing() as there:
        there.arrays[0].failed = {"sdb"}
    person.refresh(host)
    until("the array is notified", lambda: recipients.codes.count("array_degraded"), WITHIN_SECONDS)
    time.sleep(A_ROUND_AND_MORE)
    # The host's key, which was accepted at the same moment, may be in the same message.
    assert recipients.codes.count("array_degraded") == 1
    mails = [str(each.get_content()) for each in recipients.postbox.got]
    (about,) = [each for each in mails if "alert-three: Array degraded" in each]
    assert "has failed in md0 (raid1): 1 of 2 disks left." in about
    assert "What to do: Replace the disk" in about
