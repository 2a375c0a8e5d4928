"""Who is notified of what, and when."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from jobs import failpoints
from jobs.alerts import alert_judge
from jobs.models import AlertEvent
from panel.deliveries.alerts import alert_routing
from panel.deliveries.alerts.alert_delivery import ALERT_MESSAGES
from panel.deliveries.delivery_loop import deliver_due
from panel.models import AlertDelivery, AlertRoute
from storage.database_clock import database_now
from storage.models import Host
from tests import make
from tests.panel.deliveries.alerts.alert_messages import alert, event, mail_route, routed

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
NIGHT = datetime(2026, 11, 23, 23, 30, tzinfo=UTC)


def names(deliveries: list[AlertDelivery]) -> list[str]:
    return [each.route.name for each in deliveries]


def test_each_route_gets_one_message_whatever_happened_at_that_moment() -> None:
    mail_route("anna@example.org")
    mail_route("ben@example.org")
    for _ in range(3):
        event(alert())
    sent = routed()
    assert names(sent) == ["anna@example.org", "ben@example.org"]
    assert [each.events.count() for each in sent] == [3, 3]
    assert routed() == []


def test_what_is_not_to_be_notified_becomes_no_message() -> None:
    mail_route()
    event(alert(), is_notified=False)
    assert routed() == []


@pytest.mark.parametrize(("most_rank", "ranks"), [(2, [0, 1, 2]), (1, [0, 1]), (0, [0]), (-1, [])])
def test_a_route_hears_of_what_is_grave_enough(most_rank: int, ranks: list[int]) -> None:
    mail_route(most_rank=most_rank)
    for rank in (0, 1, 2):
        event(alert(rank=rank))
    heard = [each.rank for row in routed() for each in row.events.order_by("rank")]
    assert heard == ranks


def test_a_route_hears_of_its_hosts_sites_and_tags() -> None:
    hel, tagged, other = make.host(site="Hel"), make.host(tags=["nvme"]), make.host()
    named = mail_route("named@example.org")
    named.hosts.add(other)
    mail_route("sites@example.org", sites=["Hel"])
    mail_route("tags@example.org", tags=["nvme", "old"])
    mail_route("all@example.org")
    heard: dict[str, set[int]] = {}
    for host in (hel, tagged, other):
        event(alert(host))
        for row in routed():
            heard.setdefault(row.route.name, set()).add(host.pk)
    assert heard == {
        "named@example.org": {other.pk},
        "sites@example.org": {hel.pk},
        "tags@example.org": {tagged.pk},
        "all@example.org": {hel.pk, tagged.pk, other.pk},
    }


def test_only_the_tier_of_the_event_is_notified() -> None:
    mail_route("first@example.org", tier=1)
    mail_route("second@example.org", tier=2)
    there = alert()
    event(there)
    assert names(routed()) == ["first@example.org"]
    event(there, "escalated", tier=2)
    assert names(routed()) == ["second@example.org"]


def test_that_it_flaps_notifies_every_tier_that_it_had_reached() -> None:
    for tier, name in ((1, "first"), (2, "second"), (3, "third")):
        mail_route(f"{name}@example.org", tier=tier)
    event(alert(), "flapping", tier=2)
    assert names(routed()) == ["first@example.org", "second@example.org"]


@pytest.mark.parametrize("swing_minutes", [20, 40])
def test_a_link_that_flaps_all_day_sends_no_one_more_than_six_mails(swing_minutes: int) -> None:
    """Judged every ten minutes, with each message routed and sent."""
    for tier in (1, 2, 3):
        mail_route(f"tier{tier}@example.org", tier=tier)
    make.host(last_seen_at=timezone.now())
    cut = {"code": "unreachable", "message": "No route.", "correction": "Look."}
    begun = now = database_now()
    while now < begun + timedelta(days=1):
        is_cut = (now - begun) // timedelta(minutes=swing_minutes) % 2 == 0
        Host.objects.update(error=cut if is_cut else {}, last_seen_at=now, facts_at=now)
        alert_judge.judge(now)
        alert_routing.route_events(now)
        deliver_due(ALERT_MESSAGES)
        now += timedelta(minutes=10)
    kinds = (
        AlertEvent.objects.filter(is_notified=True).order_by("id").values_list("kind", flat=True)
    )
    assert "flapping" in kinds and len(kinds) <= 6, list(kinds)
    assert not AlertDelivery.objects.unsent().exists()
    mails = Counter(each.to[0] for each in mail.outbox)
    assert mails["tier1@example.org"] >= 2
    assert max(mails.values()) <= 6, mails


def test_who_was_notified_is_notified_that_it_is_over_and_no_one_else() -> None:
    mail_route("first@example.org", tier=1)
    mail_route("second@example.org", tier=2)
    mail_route("third@example.org", tier=3)
    there = alert()
    event(there)
    event(there, "escalated", tier=2)
    routed()
    AlertRoute.objects.filter(tier=1).update(most_rank=-1)
    event(there, "resolved", tier=2)
    assert names(routed()) == ["first@example.org", "second@example.org"]


@pytest.mark.parametrize("fate", ["delivered_at", "given_up_at"])
def test_who_was_notified_long_ago_is_notified_that_it_is_over(fate: str) -> None:
    mail_route()
    there = alert()
    event(there)
    routed()
    long_ago = timezone.now() - alert_routing.KEPT - timedelta(days=1)
    AlertDelivery.objects.update(**{fate: long_ago})
    alert_routing.prune_alert_messages(timezone.now())
    event(there, "resolved")
    there.resolved_at = timezone.now()
    there.save()
    # Also where the hour of forgetting comes between the end and its message.
    alert_routing.prune_alert_messages(timezone.now())
    assert names(routed()) == ["anna@example.org"]


def test_messages_of_what_has_long_been_over_are_forgotten_and_digests_too() -> None:
    mail_route(digest_hour=8)
    long_ago = timezone.now() - alert_routing.KEPT - timedelta(days=1)
    event(alert(resolved_at=long_ago))
    routed()
    alert_routing.write_digests(NOON.replace(hour=8))
    AlertDelivery.objects.update(delivered_at=long_ago)
    alert_routing.prune_alert_messages(timezone.now())
    assert not AlertDelivery.objects.exists()


def test_beginning_and_end_at_one_moment_are_one_message() -> None:
    mail_route()
    there = alert()
    event(there)
    event(there, "resolved")
    (row,) = routed()
    assert row.events.count() == 2


def test_a_route_that_is_off_and_a_person_who_left_hear_nothing() -> None:
    mail_route("off@example.org", is_on=False)
    gone = mail_route("gone@example.org")
    gone.user.is_active = False
    gone.user.save()
    customer = mail_route("customer@example.org")
    customer.user.staff_role = ""
    customer.user.save()
    event(alert())
    assert routed() == []
    assert not AlertEvent.objects.unrouted().exists()


@pytest.mark.parametrize(
    ("start", "end", "zone", "at", "until"),
    [
        (time(22), time(7), "UTC", NIGHT, NIGHT.replace(day=24, hour=7, minute=0)),
        (time(22), time(7), "UTC", NOON, None),
        (time(22), time(7), "UTC", NOON.replace(hour=6), NOON.replace(hour=7)),
        (time(9), time(17), "UTC", NOON, NOON.replace(hour=17)),
        (time(22), time(7), "Europe/Helsinki", NOON.replace(hour=21), NOON.replace(day=24, hour=5)),
        (time(22), time(7), "America/New_York", NIGHT, None),
        (None, None, "UTC", NIGHT, None),
    ],
)
def test_quiet_hours_end_on_the_clock_of_their_zone(
    start: Any, end: Any, zone: str, at: datetime, until: datetime | None
) -> None:
    route = AlertRoute(quiet_start=start, quiet_end=end, zone=zone)
    assert alert_routing.quiet_until(route, at) == until


def test_in_quiet_hours_messages_gather_and_data_at_risk_pierces() -> None:
    mail_route("anna@example.org", quiet_start=time(22), quiet_end=time(7))
    mail_route("ben@example.org", quiet_start=time(22), quiet_end=time(7), risk_pierces=False)
    event(alert(rank=1))
    first = routed(NIGHT)
    assert {each.next_at for each in first} == {NIGHT.replace(day=24, hour=7, minute=0)}
    event(alert(rank=2))
    assert routed(NIGHT + timedelta(hours=1)) == []
    assert [each.events.count() for each in AlertDelivery.objects.order_by("id")] == [2, 2]
    event(alert(rank=0))
    (loud,) = routed(NIGHT + timedelta(hours=2))
    assert loud.route.name == "anna@example.org"
    assert AlertDelivery.objects.get(route__name="ben@example.org").events.count() == 3


def test_a_digest_is_written_once_a_day_at_its_hour() -> None:
    mail_route(zone="Europe/Helsinki", digest_hour=8)
    mail_route("no@example.org")
    morning = datetime(2026, 11, 23, 6, 5, tzinfo=UTC)
    assert alert_routing.write_digests(morning - timedelta(hours=1)) == 0
    assert alert_routing.write_digests(morning) == 1
    assert alert_routing.write_digests(morning + timedelta(minutes=1)) == 0
    assert alert_routing.write_digests(morning + timedelta(days=1)) == 1
    assert set(AlertDelivery.objects.values_list("purpose", flat=True)) == {"digest"}


@pytest.mark.parametrize(
    ("zone", "hour", "at"),
    [
        # No worker looked in that hour.
        ("UTC", 8, datetime(2026, 11, 23, 11, 20, tzinfo=UTC)),
        # The clock goes from 02:00 to 03:00.
        ("Europe/Berlin", 2, datetime(2026, 3, 29, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_digest_whose_hour_has_passed_is_written_later_that_day_once(
    zone: str, hour: int, at: datetime
) -> None:
    mail_route(zone=zone, digest_hour=hour)
    assert alert_routing.write_digests(at) == 1
    assert alert_routing.write_digests(at + timedelta(hours=5)) == 0


def test_an_hour_that_comes_twice_brings_one_digest() -> None:
    mail_route(zone="Europe/Berlin", digest_hour=2)
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert alert_routing.write_digests(first) == 1
    assert alert_routing.write_digests(first + timedelta(hours=1)) == 0


class Killed(BaseException):
    pass


@pytest.mark.parametrize("point", ["route.before", "route.commit", "route.after"])
def test_a_worker_that_dies_while_it_routes_doubles_and_loses_nothing(
    point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail_route()
    event(alert())

    def die(name: str) -> None:
        if name == point:
            raise Killed

    with monkeypatch.context() as dying, pytest.raises(Killed):
        dying.setattr(failpoints, "hook", die)
        alert_routing.route_events()
    alert_routing.route_events()
    assert AlertDelivery.objects.count() == 1
