"""The page of advice, and its card on the host's page."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job
from storage.byte_sizes import GIB, MIB
from storage.inventory.volume_parts import VolumeUser
from storage.metrics.rates import CachedBy
from storage.models import Host, Sample
from storage.volumes.cache_sizes import within
from storage.volumes.cache_wish import offered_sizes
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.one_line import on_one_line
from tests.scene import HOSTILE
from tests.storage.analysis.advice.load import NOW, known, sampled, sampled_days

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_the_time_of_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are of when this module was loaded: a long run gets here much later."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user(staff_role="read_only"))
    return client


def page(client: Client, key: str, name: str = "host-advice") -> str:
    response = client.get(reverse(name, args=[key]))
    assert response.status_code == 200
    return response.content.decode()


def test_an_observed_host_gets_shares_hit_rates_arithmetic_and_commands(staff: Client) -> None:
    guest = (VolumeUser("qemu", "web12", "vda", 7),)
    host, _facts, volumes = known(
        make.lv("web", users=guest, size_bytes=80 * GIB),
        make.lv("cached", cache=make.dm_cache("theirs", mode="writeback")),
        vgs=(make.vg(allowed=False),),
    )
    load = {"read_ms": 10_000, "busy_ms": 30_000, "reads": 100}
    sampled(volumes["web"], 20, **load, read_sectors=20_000)
    figures = {"reads": 100, "read_hits": 97, "read_misses": 3}
    sampled(volumes["cached"], 20, busy_ms=10_000, technology=CachedBy.DM_CACHE, **figures)
    text = page(staff, host.key)
    for words in (
        "97.1\xa0%",
        "Cache web first",
        "97\xa0%",
        "Reads waited 3\xa0min in 20\xa0min: 12\xa0s per GiB of a cache of 16\xa0GiB",
        "lvconvert -y --type cache",
        'data-copy="byhand-add"',
        "migration_threshold=16384",
    ):
        assert words in text, words


def test_the_page_says_by_which_days_it_judged(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("web", size_bytes=80 * GIB))
    # 15 GiB a day.
    moved = {"read_sectors": 200_000, "write_sectors": 120_000}
    sampled_days(volumes["web"], 5, lambda _ts: 1, end=NOW, **moved)
    text = on_one_line(page(staff, host.key))
    assert "Reads wait 24.0\xa0h a day: 1.5\xa0h per GiB of a cache of 16\xa0GiB" in text
    assert "Average of 5 days without the worst" in text
    assert "5 of 14 days have data" in text
    assert "Who reads from the HDDs: last 14 days" in text
    assert "Who reads from the HDDs: last hour" in text
    assert "Not enough data yet" not in text
    card = on_one_line(page(staff, host.key, "host-advice-card"))
    assert "reads waiting on average, on a typical day" in card
    assert "Preliminary" not in card


def test_a_new_volume_is_preliminary_where_the_others_are_not(
    staff: Client,
) -> None:
    host, _facts, volumes = known(make.lv("web"), make.lv("new"))
    sampled_days(volumes["web"], 5, lambda _ts: 1, end=NOW)
    sampled(volumes["new"], 20, read_ms=10_000, reads=100)
    text = page(staff, host.key)
    assert "Not enough data yet" not in text
    assert "Preliminary: 20\xa0min of data" in text


def test_commands_to_copy_are_one_to_a_line(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("web"))
    sampled(volumes["web"], 20, read_ms=1_000, busy_ms=1_000)
    shown = page(staff, host.key).split('id="byhand-add">')[1].split("</code>")[0]
    programs = [line.split()[0] for line in shown.splitlines()]
    # The cache is zeroed and marked as that before it becomes one.
    made = ["lvcreate", "blkdiscard", "lvchange", "lvconvert"]
    assert programs == ["lvchange", *made, "lvconvert"]


def test_what_the_host_lives_on_is_not_suggested(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("root", host_use="mounted at /"), make.lv("web"))
    for volume in volumes.values():
        sampled(volume, 20, read_ms=10_000, busy_ms=30_000)
    shown = page(staff, host.key).split('id="first"')[1].split("</section>")[0]
    assert "vg0/web" in shown or ">web<" in shown
    assert ">root<" not in shown and "vg0/root" not in shown


def test_a_first_look_says_how_little_it_knows(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("web"))
    sampled(volumes["web"], 4, read_ms=1_000, busy_ms=1_000)
    assert "Not enough data yet: 4\xa0min of 3\xa0d" in page(staff, host.key)
    card = on_one_line(page(staff, host.key, "host-advice-card"))
    assert "Preliminary: 4\xa0min of 3\xa0d of data" in card


def test_a_host_without_figures_says_what_would_be_shown(staff: Client) -> None:
    host, _facts, _volumes = known(make.lv("web"))
    text = page(staff, host.key)
    assert "No data for this period yet" in text
    assert "No volume of this host has a cache" in text
    assert "No risks found" in text


def test_a_volume_sampled_for_seconds_is_too_early_to_judge(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("web"))
    sampled(volumes["web"], 1, read_ms=900, busy_ms=900)
    Sample.objects.update(dt_ms=40_000)
    assert "Not enough data: 40\xa0s so far" in page(staff, host.key)
    assert "Not enough data: 40\xa0s so far" in page(staff, host.key, "host-advice-card")


def test_the_card_says_how_many_reads_waited_at_a_time(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("web", size_bytes=80 * GIB))
    sampled(volumes["web"], 20, read_ms=30_000, busy_ms=30_000, reads=100)
    assert "reads waiting on average" in page(staff, host.key, "host-advice-card")


def test_days_without_a_waiting_read_are_named(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("web"))
    sampled(volumes["web"], 60, write_ms=900, busy_ms=900)
    little = "wait for HDDs for less than 10\xa0min"
    assert f"{little} a day so far." in page(staff, host.key)
    assert f"{little} a day so far." in page(staff, host.key, "host-advice-card")
    sampled_days(volumes["web"], 4, lambda _ts: 0, end=NOW - timedelta(hours=2))
    for name in ("host-advice", "host-advice-card"):
        assert f"{little} on a typical day of the last 14 days." in page(staff, host.key, name)


def test_a_cache_without_samples_has_no_figures_yet(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("theirs", cache=make.dm_cache("pool")))
    assert "too few reads" in page(staff, host.key)
    figures = {"reads": 100, "read_hits": 90, "read_misses": 10}
    sampled(volumes["theirs"], 1, technology=CachedBy.DM_CACHE, **figures)
    text = page(staff, host.key)
    assert "too few reads" not in text
    assert "90\xa0%" in text


def test_a_host_before_its_first_inventory_has_a_page(staff: Client) -> None:
    assert "Not enough data yet: 0\xa0s of 3\xa0d" in page(staff, make.host().key)


def test_the_card_leads_to_the_page(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("web"))
    sampled(volumes["web"], 20, read_ms=1_000, busy_ms=1_000)
    text = page(staff, host.key, "host")
    assert reverse("host-advice", args=[host.key]) in text
    assert reverse("host-advice-card", args=[host.key]) in text
    assert "Best candidate" in page(staff, host.key, "host-advice-card")


def test_names_of_guests_are_shown_as_text(staff: Client) -> None:
    host, _facts, volumes = known(make.lv("web", users=(VolumeUser("qemu", HOSTILE, "", 7),)))
    sampled(volumes["web"], 20, read_ms=1_000, busy_ms=1_000)
    assert HOSTILE not in page(staff, host.key)
    assert HOSTILE not in page(staff, host.key, "host-advice-card")


def test_customers_get_no_advice(client: Client) -> None:
    host, _facts, _volumes = known(make.lv("web"))
    client.force_login(make.user())
    assert client.get(reverse("host-advice", args=[host.key])).status_code == 404


def test_the_best_candidate_is_previewed_from_the_page(client: Client) -> None:
    client.force_login(make.staff_user(staff_role="operator"))
    host, _facts, volumes = known(make.lv("web", size_bytes=80 * GIB))
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}})
    sampled(volumes["web"], 20, read_ms=10_000, reads=100)
    text = page(client, host.key)
    form = text.split(f'action="{reverse("cache-form", args=[volumes["web"].key])}"')[1]
    size = form.split('name="size_bytes" value="')[1].split('"')[0]
    data = {"size_bytes": size, "mode": "writethrough"}
    response = client.post(reverse("cache-form", args=[volumes["web"].key]), data)
    assert response.status_code == 302
    assert Job.objects.get().dry_run


def test_no_cache_is_advised_that_is_larger_than_the_volume_but_the_smallest() -> None:
    assert within((256 * MIB, GIB), 128 * MIB) == [256 * MIB]
    assert within((256 * MIB, GIB), 512 * MIB) == [256 * MIB]


def test_a_volume_smaller_than_every_cache_is_advised_the_one_that_the_form_offers(
    staff: Client,
) -> None:
    """The page must not say that nothing waits above a table that shows what does."""
    host, _facts, volumes = known(make.lv("mail", size_bytes=128 * MIB), make.lv("idle"))
    sampled(volumes["mail"], 8, read_ms=7_000, busy_ms=7_000, reads=1_200)
    sampled(volumes["idle"], 8, read_ms=125, busy_ms=125, reads=10)
    shown = page(staff, host.key).split('id="first"')[1].split("</section>")[0]
    assert (
        "Cache mail first" in shown
        and "a cache of 256\xa0MiB" in shown
        and "256\xa0MiB holds the whole volume" in shown
        and "Not possible" not in shown
    )
    assert ">idle<" not in shown
    row = snapshots_of([volumes["mail"]])[0]
    assert offered_sizes(row) == [256 * MIB]


def test_those_who_hardly_read_from_the_disks_stand_last(staff: Client) -> None:
    host, _facts, volumes = known(
        make.lv("quiet"), make.lv("cached", cache=make.dm_cache("theirs"))
    )
    figures = {"reads": 10_000, "read_hits": 9_990, "read_misses": 10}
    sampled(volumes["cached"], 20, busy_ms=50_000, technology=CachedBy.DM_CACHE, **figures)
    sampled(volumes["quiet"], 20, busy_ms=1_000, reads=100)
    shown = page(staff, host.key).split('id="uses"')[1].split("</section>")[0]
    assert shown.index(">quiet<") < shown.index(">cached<")
