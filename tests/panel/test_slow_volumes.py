"""Where a volume is called slow: everywhere at the same moments, by the judge of the alerts."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from panel.models import KioskLink
from panel.staff.dashboard.fleet_summary import top_volumes
from panel.staff.dashboard.heat_map import LAST_DAY, LATENCY
from panel.staff.kiosk.screen import screen_of
from panel.staff.volumes.list_pages import volume_rows
from storage.models import Customer, Host, HostOutline, Volume
from storage.volumes.slow_volumes import slow_counts
from tests import make
from tests.proven import prove, sign_in
from tests.storage.analysis.test_disk_condition import NOON, Neighbours, at

pytestmark = pytest.mark.django_db


@pytest.fixture
def there() -> Neighbours:
    """A host with `calm`, a volume of a customer, and `noisy`, which does nothing here."""
    neighbours = Neighbours(make.host(name="stor-1", last_seen_at=NOON))
    HostOutline.objects.create(host=neighbours.host, slow_total_bytes=1 << 40)
    customer, owner = make.customer("Acme"), make.user("owner@example.com")
    customer.members.create(user=owner, role="owner")
    Volume.objects.filter(label="calm").update(customer=customer)
    neighbours.minutes(5, 5)
    return neighbours


def said(there: Neighbours) -> dict[str, bool]:
    """By each place that says it, whether it calls `calm` slow now."""
    volume, host = Volume.objects.get(label="calm"), there.host
    Host.objects.update(last_seen_at=timezone.now())
    admin = make.staff_user()
    staff = sign_in(Client(), admin)
    acme = Customer.objects.get()
    owner = acme.members.get().user
    customer = Client()
    customer.force_login(owner)
    prove(customer, owner)

    def page(client: Client, name: str, *args: str, **query: str) -> str:
        text = client.get(reverse(name, args=args), query).content.decode()
        return " ".join(text.replace("\xa0", " ").split())

    def tile(text: str, wanted: str) -> str:
        within = rf'class="tile [^"]*latency-(\w+)[^"]*"[^>]*>(?:(?!class="tile ).)*?{wanted}'
        found = re.search(within, text)
        return found.group(1) if found else "-"

    screen = screen_of(KioskLink(name="Office"), LATENCY, LAST_DAY, timezone.now())
    own = page(customer, "my-volume", volume.key)
    listed = page(customer, "my-volumes")
    [row] = volume_rows([volume], timezone.now())
    top = top_volumes(admin, timezone.now(), "top_read_ms", 1)
    card = page(staff, "volume-slowness", volume.key)
    api = staff.get(f"/api/v1/volumes/{volume.key}/slowness").json()
    return {
        "alert": "calm" in there.slow(),
        "filter": "calm" in page(staff, "volumes", state="slow").partition("<tbody")[2],
        "row of the list": row.is_slow and "slow" in [chip.text for chip in row.chips],
        "volume": "slow, a read takes" in page(staff, "volume", volume.key),
        "card on its page": "Open as a page" in page(staff, "volume", volume.key),
        "card": "Why is calm slow?" in card,
        "API": api["state"] == "slow",
        "host's map": tile(page(staff, "host-map", host.key), "calm") == "4",
        "map of hosts": tile(page(staff, "hosts-map"), "stor-1") == "4",
        "overview": any(each.is_slow for each in top),
        "screen": screen.slow_keys == {host.key},
        "customer of staff": "Why is it slow?" in page(staff, "customer", acme.key),
        "portal, volume": "Slow" in own.partition('id="glance-title"')[2].partition("</h2>")[0],
        "portal, card": "Why is it slow?" in own,
        "portal, list": "Why is it slow?" in listed,
    }


def agreed(there: Neighbours) -> bool:
    """What all places say."""
    with time_machine.travel(at(there.minute) + timedelta(seconds=5), tick=False):
        found = said(there)
    assert len(set(found.values())) == 1, found
    return found["alert"]


def test_all_places_call_a_volume_slow_at_the_same_moments(there: Neighbours) -> None:
    assert not agreed(there)
    there.minutes(1, 24)
    assert not agreed(there), "one minute may be one burst"
    there.minutes(1, 24)
    assert agreed(there)
    there.minutes(4, 6)
    assert agreed(there), "it is slow until reads have been well for five minutes"
    there.minutes(1, 6)
    assert not agreed(there)
    there.minutes(3, 900, calm=50)
    assert not agreed(there), "a few reads say nothing"


def test_the_overview_says_in_the_past_what_is_over(there: Neighbours) -> None:
    user = make.staff_user()

    def overview() -> str:
        with time_machine.travel(at(there.minute) + timedelta(seconds=5), tick=False):
            Host.objects.update(last_seen_at=timezone.now())
            text = (
                sign_in(Client(), user).get(reverse("home")).content.decode().replace("\xa0", " ")
            )
        return " ".join(text.split())

    there.minutes(3, 24, noisy=6000)
    text = overview()
    assert "2 volumes are slow" in text and "Waits for sdc too:" in text
    there.minutes(2, 5)
    text = overview()
    assert f"2 volumes were slow, until {at(8):%H:%M} UTC" in text
    assert "Guests waited for the disk." in text and "volumes are slow" not in text


def test_a_single_slow_sample_does_not_call_a_volume_slow_and_a_quick_one_does_not_end_it(
    there: Neighbours,
) -> None:
    there.works(10, 80)
    there.minutes(1, 5)
    assert not agreed(there)
    there.minutes(3, 24)
    there.works(10, 3)
    assert agreed(there)


def test_slow_volumes_of_a_list_are_read_in_one_query() -> None:
    host = make.host()
    volumes = [make.volume(label=f"v{n}") for n in range(8)]
    for volume in volumes:
        make.placement(volume, host)
        make.slow(volume, host)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        volume_rows(volumes, timezone.now(), with_course=False)
    assert sum("cachecondition" in query["sql"] for query in queries) == 1
    assert slow_counts([host.pk]) == {host.pk: 8}
