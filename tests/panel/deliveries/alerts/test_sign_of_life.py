"""The sign of life goes out only while alerts work."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from jobs.models import AlertRound, LifeSign
from panel import tasks
from panel.deliveries import delivery_queue
from panel.deliveries.alerts import alert_delivery, sign_of_life
from panel.models import AlertDelivery
from storage.models import Host
from tests import make
from tests.panel.deliveries.alerts.alert_messages import alert, event, mail_route
from tests.panel.deliveries.alerts.receivers import Place
from tests.scene import job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(settings: Settings) -> Iterator[Place]:
    with Place() as made:
        settings.TIERCEL_HEARTBEAT_URL = f"{made.url}/ping/secret"
        AlertRound.objects.create(at=timezone.now())
        make.host(last_seen_at=timezone.now())
        yield made


def why() -> str:
    return AlertRound.objects.get().heartbeat_error


def test_it_is_called_while_all_works(place: Place) -> None:
    tasks.send_sign_of_life()
    assert [each["path"] for each in place.got] == ["/ping/secret"]
    assert AlertRound.objects.get().heartbeat_at is not None
    assert why() == ""


def test_without_an_address_nothing_is_called(place: Place, settings: Settings) -> None:
    settings.TIERCEL_HEARTBEAT_URL = ""
    assert not sign_of_life.send_sign()
    assert place.got == []


def test_not_while_alerts_are_not_judged(place: Place) -> None:
    AlertRound.objects.update(at=timezone.now() - timedelta(minutes=5))
    assert not sign_of_life.send_sign()
    assert (place.got, why()) == ([], "Alerts are not judged.")


def test_not_while_due_jobs_are_not_taken(place: Place) -> None:
    job(scene(), updated_at=timezone.now() - timedelta(minutes=5))
    assert not sign_of_life.send_sign()
    assert (place.got, why()) == ([], "No worker took a job for 5 min though 1 is due.")


def test_jobs_that_wait_for_busy_slots_do_not_stop_it(place: Place) -> None:
    job(scene(), updated_at=timezone.now() - timedelta(minutes=5))
    now = timezone.now()
    LifeSign.objects.create(
        kind="worker", node="a", process="p", slot=0, queues="jobs", seen_at=now, doing="a job",
        busy_since=now, took_at=now,
    )  # fmt: skip
    assert sign_of_life.send_sign()


def test_not_while_no_host_is_heard(place: Place) -> None:
    Host.objects.update(last_seen_at=timezone.now() - timedelta(hours=1))
    assert not sign_of_life.send_sign()
    assert (place.got, "collector" in why()) == ([], True)


def test_one_silent_host_of_several_is_no_reason(place: Place) -> None:
    make.host(last_seen_at=timezone.now() - timedelta(hours=1))
    assert sign_of_life.send_sign()


def test_not_while_messages_are_not_sent(place: Place) -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    AlertDelivery.objects.create(route=mail_route(), next_at=long_ago)
    assert not sign_of_life.send_sign()
    assert why() == "Alert messages are not being sent."


def failing(**fields: Any) -> AlertDelivery:
    """A message that was tried some times, and is tried again in a while."""
    now = timezone.now()
    route = fields.pop("route", None) or mail_route(f"{AlertDelivery.objects.count()}@example.org")
    defaults = {"attempts": 9, "next_at": now + timedelta(minutes=10)}
    written = {"created_at": now - timedelta(minutes=20)}
    return AlertDelivery.objects.create(route=route, **{**defaults, **written, **fields})


def test_not_while_every_message_fails(place: Place) -> None:
    failing()
    assert not sign_of_life.send_sign()
    assert (place.got, why()) == ([], "No alert message is accepted any more.")


def test_one_address_that_fails_is_no_reason(place: Place) -> None:
    failing()
    failing(delivered_at=timezone.now() - timedelta(minutes=19))
    assert sign_of_life.send_sign()


def test_what_was_taken_before_the_oldest_that_fails_is_no_comfort(place: Place) -> None:
    failing()
    failing(delivered_at=timezone.now() - timedelta(minutes=21))
    assert not sign_of_life.send_sign()


def test_what_one_address_took_while_only_another_failed_is_no_comfort(place: Place) -> None:
    now = timezone.now()
    failing(created_at=now - timedelta(hours=5))
    mail = mail_route("mail@example.org")
    failing(route=mail, created_at=now - timedelta(hours=2), delivered_at=now - timedelta(hours=1))
    assert sign_of_life.send_sign()
    failing(route=mail)
    assert not sign_of_life.send_sign()


def test_not_after_all_were_given_up_until_one_goes_out_again(place: Place) -> None:
    ago = timezone.now() - timedelta(days=3)
    route = mail_route()
    failing(route=route, created_at=ago, given_up_at=ago + timedelta(days=1))
    assert not sign_of_life.send_sign()
    assert why() == "No alert message is accepted any more."
    failing(purpose=AlertDelivery.Purpose.TEST, delivered_at=timezone.now())
    assert sign_of_life.send_sign()


def test_what_was_given_up_before_its_address_took_another_is_over(place: Place) -> None:
    now = timezone.now()
    mail = mail_route()
    failing(route=mail, created_at=now - timedelta(days=9), given_up_at=now - timedelta(days=8))
    failing(route=mail, delivered_at=now - timedelta(hours=5))
    failing(created_at=now - timedelta(hours=2))
    assert not sign_of_life.send_sign(), "the other address fails, and nothing was taken since"
    failing(route=mail, delivered_at=now - timedelta(hours=1))
    assert sign_of_life.send_sign()


@pytest.mark.parametrize("why_not", [alert_delivery.NOT_IN_USE, delivery_queue.HELD])
def test_what_was_not_to_be_sent_any_more_is_no_reason(place: Place, why_not: str) -> None:
    ago = timezone.now() - timedelta(hours=1)
    failing(created_at=ago, given_up_at=ago, last_error=why_not)
    assert sign_of_life.send_sign()


def test_a_test_message_that_fails_is_no_reason(place: Place) -> None:
    failing(purpose=AlertDelivery.Purpose.TEST)
    assert sign_of_life.send_sign()


def test_a_message_that_failed_just_now_is_no_reason(place: Place) -> None:
    failing(created_at=timezone.now() - timedelta(minutes=10))
    assert sign_of_life.send_sign()


def test_a_message_that_waited_for_the_end_of_quiet_hours_is_as_old_as_their_end(
    place: Place,
) -> None:
    now = timezone.now()
    quiet = {
        "quiet_start": (now - timedelta(hours=3)).time(),
        "quiet_end": (now - timedelta(minutes=5)).time(),
    }
    route = mail_route(**quiet)
    row = failing(route=route, created_at=now - timedelta(hours=2), attempts=3)
    row.events.add(event(alert(rank=1)))
    assert sign_of_life.send_sign()
    # Data at risk did not wait.
    row.events.add(event(alert(rank=0)))
    assert not sign_of_life.send_sign()


def test_an_address_that_answers_badly_is_noted(place: Place) -> None:
    place.statuses[:] = [500]
    assert not sign_of_life.send_sign()
    assert why() == "The answer was 500."
    assert sign_of_life.send_sign()
    assert why() == ""


def test_a_private_address_is_not_called(place: Place, settings: Settings) -> None:
    settings.TIERCEL_HEARTBEAT_URL = "https://10.0.0.1/ping"
    assert not sign_of_life.send_sign()
    assert "TIERCEL_ALERT_PRIVATE_HOSTS" in why()
