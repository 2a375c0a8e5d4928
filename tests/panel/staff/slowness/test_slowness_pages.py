"""Why a volume is slow, or a disk busy: the card, where it leads, and what leads there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobs.alerts.alert_judge import judge
from jobs.models import Alert, Job
from storage.byte_sizes import MIB
from storage.models import Host, HostChange, Volume
from tests import make
from tests.panel.deliveries.alerts.alert_messages import alert
from tests.proven import sign_in
from tests.scene import HOSTILE, RTL
from tests.storage.analysis.test_disk_condition import NOON, Neighbours, at

pytestmark = pytest.mark.django_db
AFTER = NOON + timedelta(minutes=26, seconds=5)


@pytest.fixture
def neighbours() -> Iterator[Neighbours]:
    """`calm` has been slow for six minutes, and a minute ago still was, because of `noisy`."""
    there = Neighbours(make.host(last_seen_at=NOON))
    there.minutes(20, 5)
    there.minutes(6, 24, noisy=6000)
    Host.objects.update(last_seen_at=AFTER)
    with time_machine.travel(AFTER, tick=False):
        yield there


@pytest.fixture
def admin(client: Client, neighbours: Neighbours) -> Client:
    return sign_in(client, make.staff_user())


def named(label: str) -> Volume:
    return Volume.objects.get(label=label)


def card(client: Client, label: str = "calm", **query: str) -> str:
    response = client.get(reverse("volume-slowness", args=[named(label).key]), query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_the_card_says_what_since_when_which_disk_and_who(
    admin: Client, neighbours: Neighbours
) -> None:
    text = card(admin)
    assert "<h1" in text and "Why is calm slow?</h1>" in text
    assert "For 6 min, a read has taken 24.0 ms on average (20 ms is slow)." in text
    assert f"{at(20):%Y-%m-%d %H:%M} UTC" in text and "HDD sdc" in text
    assert "95 %</dd>" in text
    assert "noisy has 91.2 % of the I/O time of sdc, this volume 8.8 %." in text
    assert reverse("volume", args=[named("noisy").key]) in text
    assert f"{reverse('host', args=[neighbours.host.key])}?at=" in text


def test_the_volumes_page_has_the_same_card_while_it_is_slow(
    admin: Client, neighbours: Neighbours
) -> None:
    url = reverse("volume", args=[named("calm").key])
    page = " ".join(admin.get(url).content.decode().replace("\xa0", " ").split())
    assert page.count("Why is it slow?") >= 1 and "Open as a page" in page
    assert "noisy has 91.2 %" in page
    assert "Reads have been slow for 6 min." in page and "In the last sample" not in page
    assert "Reads of calm" not in page and ">slow<" not in page
    neighbours.minutes(1, 5)
    with time_machine.travel(at(27), tick=False):
        ebbing = " ".join(admin.get(url).content.decode().split())
        assert "For 6 min, a read took 24.0 ms on average" in ebbing.replace("\xa0", " ")
        assert "Reads have been faster since 12:26 UTC" in ebbing and "sdc had" not in ebbing
        assert "noisy had 91.2" in ebbing and "Waited for" in ebbing
    neighbours.minutes(4, 5)
    with time_machine.travel(at(31), tick=False):
        assert "Open as a page" not in admin.get(url).content.decode()


def test_what_changed_before_is_listed_with_links(admin: Client, neighbours: Neighbours) -> None:
    host = neighbours.host
    HostChange.objects.create(host=host, kind="kernel", at=at(18), before="6.1", after=HOSTILE)
    HostChange.objects.create(host=host, kind="lvm", at=at(25), before="later", after="x")
    later = Job.objects.create(kind="add-cache", host=host, volume=named("calm"), wish={})
    Job.objects.filter(pk=later.pk).update(created_at=at(20))
    moved = Job.objects.create(kind="remove-cache", host=host, volume=named("noisy"), wish={})
    Job.objects.filter(pk=moved.pk).update(created_at=at(19), started_at=at(19))
    alert(host, volume=named("calm"), code="drift", opened_at=at(10))
    text = card(admin).partition("What changed before")[2]
    # What has not begun is left out, and what a top user of the disk did comes first.
    assert "Add cache" not in text
    places = [text.index(each) for each in ("Job: Remove cache", "differs from", "Kernel")]
    assert places == sorted(places) and "later" not in text
    assert reverse("job", args=[moved.key]) in text and HOSTILE not in text


def test_an_earlier_moment_is_explained_by_what_was_then(admin: Client) -> None:
    text = card(admin, at=f"{at(15):%Y-%m-%dT%H:%M:%SZ}")
    assert "Its reads are not slow: a read took 5.00 ms on average over the last 3 min" in text
    with time_machine.travel(AFTER + timedelta(hours=2), tick=False):
        sign_in(admin, make.staff_user())
        over = card(admin, at=f"{at(26):%Y-%m-%dT%H:%M:%SZ}")
        now = card(admin)
    assert "a read has taken 24.0 ms" in over
    assert (
        "How fast it is now is not known. By its last figures, for 6 min, a read took 24.0 ms"
        in now
    )
    assert "At 12:26 UTC: noisy had 91.2 % of the I/O time of sdc" in now
    assert "There are no figures since 12:26 UTC: look whether the host answers" in now


def test_the_action_is_a_preview_in_one_click(admin: Client, neighbours: Neighbours) -> None:
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}}, facts_at=AFTER, last_seen_at=AFTER)
    text = card(admin)
    url = reverse("cache-form", args=[named("noisy").key])
    assert f'action="{url}"' in text and "Preview a cache of" in text
    size = text.partition('name="size_bytes" value="')[2].partition('"')[0]
    response = admin.post(url, {"size_bytes": size, "mode": "writethrough"})
    preview = Job.objects.get()
    assert response["Location"] == reverse("job", args=[preview.key])
    assert preview.dry_run and preview.volume == named("noisy")


def test_a_job_that_adds_the_cache_takes_the_place_of_the_advice(
    admin: Client, neighbours: Neighbours
) -> None:
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}}, facts_at=AFTER, last_seen_at=AFTER)
    assert "Preview a cache of" in card(admin)
    wish = {"cache": {"size_bytes": 512 * MIB}}
    job = Job.objects.create(
        kind="add-cache", host=neighbours.host, volume=named("noisy"), wish=wish
    )
    text = card(admin).partition("What helps")[2].partition("What changed before")[0]
    assert "Preview a cache of 256 MiB: Add a cache of 256 MiB to noisy" not in text
    assert f'<a href="{reverse("job", args=[job.key])}">Adding a cache to noisy (512' in text
    assert "to noisy." not in text and "Limit noisy" in text
    Job.objects.update(state="succeeded", ended_at=at(19))
    assert "noisy (512" not in card(admin), "it was made before"
    Job.objects.update(ended_at=at(25))
    assert "Added a cache to noisy (512" in card(admin)


def test_a_volume_smaller_than_every_cache_is_offered_what_the_form_offers(
    admin: Client, neighbours: Neighbours
) -> None:
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}}, facts_at=AFTER, last_seen_at=AFTER)
    Volume.objects.update(size_bytes=128 * MIB)
    text = card(admin).replace("\xa0", " ")
    assert "Add a cache of 256 MiB to noisy.</strong> 256 MiB holds the whole volume." in text
    assert "this volume reads again" not in text
    url = reverse("cache-form", args=[named("noisy").key])
    form = admin.get(url).content.decode()
    assert "256 MiB holds the whole volume." in form.replace("\xa0", " ")
    assert 'name="size_bytes" id="cache-size"' in form and form.count('<option value="') == 1
    refused = admin.post(url, {"size_bytes": 128 * MIB, "mode": "writethrough"}).content.decode()
    assert "A cache of 128\xa0MiB is not offered here." in refused and "134217728" not in refused


@pytest.mark.parametrize("part", ["volume", "volume-cache"])
def test_the_page_of_a_slow_volume_has_one_button_that_adds_a_cache(
    admin: Client, part: str
) -> None:
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}}, facts_at=AFTER, last_seen_at=AFTER)
    text = admin.get(reverse(part, args=[named("noisy").key])).content.decode()
    cache = text.partition('id="cache-title"')[2].partition("</section>")[0]
    assert "btn-primary" not in cache
    assert "Choose another size" in cache and 'href="#slow-helps"' in cache
    assert text.count("Preview a cache of") == (2 if part == "volume" else 0), "label and name"


def test_who_may_not_change_sees_the_button_with_the_reason(
    client: Client, neighbours: Neighbours
) -> None:
    sign_in(client, make.staff_user(staff_role="read_only"))
    text = card(client)
    assert "Requires the operator role." in text


def test_a_failing_disk_is_to_be_replaced(admin: Client, neighbours: Neighbours) -> None:
    alert(neighbours.host, code="disk_failing", subject="sdc", message=f"sdc is failing {HOSTILE}.")
    text = card(admin)
    assert "sdc is not well. sdc is failing" in text and HOSTILE not in text
    assert f"{reverse('host-disks', args=[neighbours.host.key])}#disks" in text


def test_a_name_that_is_an_attack_is_data(admin: Client) -> None:
    Volume.objects.filter(label="noisy").update(label=f"{HOSTILE}{RTL}")
    text = card(admin)
    assert HOSTILE not in text and "&lt;script&gt;" in text


def test_an_alert_leads_to_the_card_and_so_does_the_overview(
    admin: Client, neighbours: Neighbours
) -> None:
    judge(AFTER)
    judge(AFTER + timedelta(minutes=1))
    slow = Alert.objects.get(code="volume_slow", volume__label="calm")
    path = reverse("volume-slowness", args=[named("calm").key])
    assert f'href="{path}"' in admin.get(reverse("alert", args=[slow.key])).content.decode()
    host = admin.get(reverse("host", args=[neighbours.host.key])).content.decode()
    assert "Why is it slow?" in host or "Show volumes" in host
    listed = admin.get(reverse("volumes")).content.decode()
    assert f'href="{path}"' in listed
    Alert.objects.filter(pk=slow.pk).update(resolved_at=AFTER)
    over = admin.get(reverse("alert", args=[slow.key])).content.decode()
    assert f"{path}?at=" in over and "Why was it slow?" in over


def test_a_disk_has_a_card_of_its_own(admin: Client, neighbours: Neighbours) -> None:
    neighbours.minutes(14, 24, noisy=6000)
    with time_machine.travel(at(40), tick=False):
        url = reverse("host-busy", args=[neighbours.host.key, "sdc"])
        response = admin.get(url)
        gone = admin.get(reverse("host-busy", args=[neighbours.host.key, "nope"]))
    text = " ".join(response.content.decode().split())
    assert "It has more to do than it can" in text
    assert "noisy and calm are slow because of it." in text
    assert "noisy has 91.2 % of the I/O time of sdc." in text
    assert "at least" not in text and f"{at(20):%Y-%m-%d %H:%M} UTC" in text
    assert gone.status_code == 404


def test_a_disk_that_has_been_busy_for_minutes_is_not_averaged_with_the_quiet_before(
    admin: Client, neighbours: Neighbours
) -> None:
    url = reverse("host-busy", args=[neighbours.host.key, "sdc"])
    text = " ".join(admin.get(url).content.decode().replace("\xa0", " ").split())
    assert "Why is sdc slow?" in text and "It has more to do than it can" in text
    assert '<dd class="num">95 %</dd>' in text and f"{at(20):%Y-%m-%d %H:%M} UTC" in text
    assert "noisy and calm are slow because of it." in text
    assert "nothing is to be done" not in text and "not overloaded" not in text
    neighbours.minutes(4, 5)
    with time_machine.travel(at(30), tick=False):
        over = admin.get(url).content.decode()
    assert "Is sdc slow?" in over and "because of it" not in over


def test_a_disk_that_keeps_a_volume_waiting_is_explained_below_the_limit_of_alerts(
    admin: Client, neighbours: Neighbours
) -> None:
    Host.objects.update(busy_percent=97)
    url = reverse("host-busy", args=[neighbours.host.key, "sdc"])
    text = " ".join(admin.get(url).content.decode().replace("\xa0", " ").split())
    assert "Why is sdc slow?" in text and "noisy and calm are slow because of it." in text
    assert f"{at(20):%Y-%m-%d %H:%M} UTC" in text and "nothing is to be done" not in text


def test_a_card_takes_as_many_queries_for_many_users_as_for_few(
    admin: Client, neighbours: Neighbours
) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            card(admin)
        return len(queries)

    def more(n: int) -> None:
        HostChange.objects.create(host=neighbours.host, kind="boot", at=at(n))
        volume = make.volume(label=f"more{n}")
        done = Job.objects.create(kind="flush-cache", host=neighbours.host, volume=volume, wish={})
        Job.objects.filter(pk=done.pk).update(created_at=at(n))

    more(0)
    asked()
    few = asked()
    for n in range(1, 6):
        more(n)
    assert asked() == few <= 40
