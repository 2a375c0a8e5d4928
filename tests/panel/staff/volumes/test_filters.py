"""The list of volumes: what is found, in which order, and that it costs the same for many."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from panel.accounts.name_search import find_names
from panel.lists.listing import in_order
from panel.staff.hosts.host_list import volume_counts
from panel.staff.hosts.host_volumes import residents_of
from panel.staff.volumes.filters import CACHES, STATES, VolumeFilter
from panel.staff.volumes.list_pages import LISTING, volume_rows
from storage.adoption.adopt import taken_ids
from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts
from storage.models import Customer, Host, LatestSample, Placement, Volume
from tests import fleet, make
from tests.scene import Scene, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def found(**asked: str) -> list[str]:
    """Labels in the order of the list."""
    filters = VolumeFilter(asked, make.staff_user())
    query = QueryDict(urlencode(asked))
    return [volume.label for volume in in_order(LISTING, query, filters.found(timezone.now()))]


def sampled(there: Scene, **fields: Any) -> None:
    """The last minute of a volume: 6,000 reads of 1 ms and no cache, by default."""
    defaults = {
        "host": there.host,
        "at": timezone.now(),
        "boot_id": "b",
        "boottime_ns": 1,
        "counters": {},
        "dt_ms": 60_000,
        "reads": 6_000,
        "writes": 0,
        "read_sectors": 48_000,
        "read_ms": 6_000,
        "write_ms": 0,
        "write_sectors": 0,
    }
    LatestSample.objects.update_or_create(volume=there.volume, defaults={**defaults, **fields})


def lvmcached(label: str, size_gib: int = 2) -> Scene:
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa", size_bytes=size_gib * GIB)
    return scene(make.lv(cache=cache), label=label)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("slow", lambda there: make.slow(there.volume, there.host)),
        ("dirty", lambda there: sampled(there, dirty_bytes=1)),
        ("old", lambda there: sampled(there, at=timezone.now() - timedelta(hours=1))),
        ("found", lambda there: _volume(there, managed=False)),
        ("trouble", lambda there: _place(there, cache_trouble="The cache has failed.")),
        ("missing", lambda there: _place(there, missing_since=timezone.now())),
        ("planned", lambda there: _place(there, lv_uuid=None)),
        ("retired", lambda there: _volume(there, retired_at=timezone.now())),
        ("destroyed", lambda there: _volume(there, destroyed_at=timezone.now())),
    ],
)
def test_a_state_finds_the_volumes_in_it_and_no_others(
    name: str, change: Callable[[Scene], None]
) -> None:
    for label in ("odd", "usual"):
        there = scene(label=label)
        sampled(there)
        if label == "odd":
            change(there)
    assert found(state=name) == ["odd"]


def _volume(there: Scene, **fields: Any) -> None:
    Volume.objects.filter(pk=there.volume.pk).update(**fields)


def _place(there: Scene, **fields: Any) -> None:
    Placement.objects.filter(volume=there.volume).update(**fields)


def test_destroyed_volumes_are_in_no_state_but_their_own() -> None:
    there = scene(label="gone")
    _volume(there, destroyed_at=timezone.now(), managed=False)
    assert [name for name in STATES if found(state=name)] == ["destroyed"]


def test_a_previewed_volume_is_in_no_list_or_count_but_its_own() -> None:
    there = scene(make.lv("real"))
    preview = make.volume(label="preview", previewed_at=timezone.now(), external_id="tf-1")
    make.placement(preview, there.host, lv_uuid=None)
    real = there.volume.label
    assert found() == [real]
    assert {state for state in STATES if "preview" in found(state=state)} == {"previewed"}
    assert volume_counts([there.host.pk]) == {there.host.pk: 1}
    assert [each.volume_id for each in residents_of(there.host)] == [there.volume.pk]
    assert not find_names(make.staff_user(), "preview", 5)
    assert taken_ids() == frozenset()
    assert list(Volume.objects.in_service()) == [there.volume]


def test_a_volume_is_slow_by_its_judge_and_not_by_its_last_sample() -> None:
    judged, sampled_slow = scene(label="judged slow"), scene(label="one slow sample")
    old = scene(label="silent")
    sampled(judged)
    sampled(sampled_slow, read_ms=6_000 * 30)
    sampled(old, at=timezone.now() - timedelta(hours=2))
    for there in (judged, old):
        make.slow(there.volume, there.host)
    assert found(state="slow") == ["judged slow"]
    rows = volume_rows(Volume.objects.order_by("label"), timezone.now())
    assert [[chip.text for chip in row.chips] for row in rows] == [["slow"], [], ["old data"]]
    assert [row.is_slow for row in rows] == [True, False, False]


def test_volumes_are_found_by_the_technology_of_their_cache() -> None:
    lvmcached("with a cache")
    scene(label="without")
    Volume.objects.create(label="lies nowhere", size_bytes=GIB)
    shown = {name: found(cache=name) for name in CACHES if name}
    assert shown == {
        "any": ["with a cache"],
        "none": ["lies nowhere", "without"],
        "lvmcache": ["with a cache"],
        "bcache": [],
    }


def test_host_and_customer_are_named_by_key_or_by_a_part_of_the_name() -> None:
    there, other = scene(label="a", host={"name": "stor-1"}), scene(label="b")
    acme = make.customer("Acme Ltd")
    _volume(there, customer=acme)
    for asked in ({"host": there.host.key}, {"host": "TOR-1"}, {"customer": acme.key}):
        assert found(**asked) == ["a"]
    assert found(customer="acme") == ["a"] and found(host=other.host.key) == ["b"]


@pytest.mark.parametrize("asked", [lambda host: host.key, lambda host: "Node1"])
def test_a_host_that_is_named_whole_leaves_those_out_that_begin_like_it(
    asked: Callable[[Host], str],
) -> None:
    one = scene(label="on 1", host={"name": "node1"})
    scene(label="on 10", host={"name": "node10"})
    assert found(host=asked(one.host)) == ["on 1"]
    assert found(host="node") == ["on 1", "on 10"]


@pytest.mark.parametrize("asked", [lambda acme: acme.key, lambda acme: "acme"])
def test_a_customer_that_is_named_whole_leaves_those_out_that_begin_like_it(
    asked: Callable[[Customer], str],
) -> None:
    acme = make.customer("Acme")
    _volume(scene(label="theirs"), customer=acme)
    _volume(scene(label="not theirs"), customer=make.customer("Acme Ltd"))
    assert found(customer=asked(acme)) == ["theirs"]


def test_each_word_of_a_search_may_be_in_another_name() -> None:
    there = scene(label="database", host={"name": "stor-7"})
    _volume(there, customer=make.customer("Acme Ltd"), external_id="whmcs-4711")
    scene(label="database without customer")
    for text in ("acme base", "4711 stor-7", there.volume.key[:9], "DATABASE ltd"):
        assert found(q=text) == ["database"]
    assert found(q="acme nothing") == []


def test_what_the_panels_search_finds_is_in_the_list_it_leads_to() -> None:
    there = scene(make.lv("lv-4711"), label="database", host={"name": "stor-7"})
    _volume(there, customer=make.customer("Acme Ltd"), external_id="whmcs-42")
    staff = make.staff_user()
    for text in ("acme base", "whmcs database", "lv-47", "ltd 42"):
        (volumes,) = (group for group in find_names(staff, text, 5) if group.name == "Volumes")
        asked = dict(parse_qsl(urlsplit(volumes.more_url).query))
        assert [hit.title for hit in volumes.hits] == found(**asked) == ["database"]


def test_a_link_by_key_shows_the_name_in_the_field(staff: Client) -> None:
    there = scene(host={"name": "stor-1"})
    text = staff.get(reverse("volumes"), {"host": there.host.key}).content.decode()
    assert 'name="host" value="stor-1"' in text


def test_an_earlier_place_finds_nothing() -> None:
    there, other = scene(host={"name": "old-host"}), scene(host={"name": "new-host"})
    _place(there, until=timezone.now())
    make.placement(there.volume, other.host, lv_name="elsewhere")
    assert found(host="old-host") == [] and len(found(host="new-host")) == 2


@pytest.mark.parametrize("name", [column.name for column in LISTING.columns])
def test_what_is_unknown_comes_last_in_either_order(name: str) -> None:
    unknown = Volume.objects.create(label="zzz unknown", size_bytes=3 * GIB)
    for n in (1, 2):
        there = lvmcached(f"v{n}", size_gib=n)
        _volume(there, customer=make.customer(), size_bytes=(8 - n) * GIB)
        hits = {"read_hits": 90 * n, "read_misses": 100, "dirty_bytes": n, "technology": 1}
        sampled(there, reads=n * 1000, **hits)
    up, down = found(sort=name), found(sort=f"-{name}")
    assert up != down
    if name not in ("volume", "size"):
        assert up[-1] == down[-1] == unknown.label


def test_hit_rates_of_both_technologies_are_sorted_together() -> None:
    for label, fields in {
        "dm 60 %": {"technology": 1, "read_hits": 600, "read_misses": 400},
        "bcache 75 %": {"technology": 2, "read_sectors": 1000, "slow_read_sectors": 250},
        "too few": {"technology": 1, "read_hits": 50, "read_misses": 49},
        "none": {},
    }.items():
        sampled(scene(label=label), **fields)
    assert found(sort="-hits")[:2] == ["bcache 75 %", "dm 60 %"]


def test_the_list_and_its_order_show_the_same_hit_rate() -> None:
    there = lvmcached("a")
    sampled(there, technology=1, read_hits=600, read_misses=400)
    (volume,) = VolumeFilter({}, make.staff_user()).found(timezone.now())
    (row,) = volume_rows([volume], timezone.now())
    assert row.latest is not None
    assert volume.hit_rate == row.latest.hit_rate == 0.6  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "query", ["sort=nonsense", "state=nonsense", "cache=9", "page=x", "host=" + "k" * 70]
)
def test_an_address_that_makes_no_sense_is_answered(staff: Client, query: str) -> None:
    scene()
    assert staff.get(f"{reverse('volumes')}?{query}").status_code == 200


def test_a_click_on_a_column_turns_its_order_and_keeps_the_filters(staff: Client) -> None:
    scene()
    address = reverse("volumes")
    assert "?state=&amp;sort=-iops" in staff.get(f"{address}?state=").content.decode()
    text = staff.get(f"{address}?sort=-iops&q=web").content.decode()
    assert "?sort=iops&amp;q=web" in text and 'aria-sort="descending"' in text


def test_an_inventory_notes_the_cache_beside_the_place_and_forgets_it_with_the_cache() -> None:
    there = scene()
    later = timezone.now() + timedelta(seconds=1)
    with_cache = make.lv(uuid=there.lv.uuid, cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"))
    apply_facts(there.host, make.inventory(make.facts(with_cache)), later)
    assert found(cache="lvmcache") == [there.volume.label]
    apply_facts(there.host, make.inventory(make.facts(there.lv)), later + timedelta(seconds=1))
    assert found(cache="lvmcache") == []


def test_a_found_volume_has_its_note_at_once() -> None:
    host = make.host()
    cached = make.lv("old", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"))
    apply_facts(host, make.inventory(make.facts(cached)), timezone.now())
    assert found(cache="lvmcache") == ["old"]


def test_ten_volumes_and_a_hundred_cost_the_same_queries(staff: Client) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert staff.get(reverse("volumes"), {"sort": "-iops"}).status_code == 200
        return len(queries)

    fleet.build(2, 10, hours=0.1)
    few = count()
    for number in range(2, 4):
        host = make.host()
        facts = make.facts(*(make.lv(f"more{number}-{n}") for n in range(45)))
        apply_facts(host, make.inventory(facts), timezone.now())
    assert count() == few
