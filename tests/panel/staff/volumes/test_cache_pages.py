"""Another size for a cache, its settings, and a flush: from the page to the preview."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from jobs.models import Job
from storage.byte_sizes import GIB, MIB
from storage.planner.wish import Bcache, LvmCache, Wish
from tests import make
from tests.one_line import on_one_line
from tests.scene import Scene, job, scene, step

pytestmark = pytest.mark.django_db

POOL = "c-aaaaaaaaaaaaaaaa"
OP_ID = "2f1b9b1e-1111-4111-8111-111111111111"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def cached(**fields: Any) -> Scene:
    facts = {name: fields.pop(name) for name in ("pvs",) if name in fields}
    return scene(make.lv(cache=make.dm_cache(POOL, **fields)), **facts)


def on_bcache(*, is_healthy: bool = True, **fields: Any) -> Scene:
    device = make.lv("s-aaaaaaaaaaaaaaaa", size_bytes=2 * GIB, pvs=("md0",))
    backing = make.bcache(**{"cset_uuid": make.CSET_UUID, "state": "clean", **fields})
    csets = (make.cset(device.uuid, backing_count=1),)
    pvs = (make.pv(), make.fast_pv(healthy=is_healthy))
    return scene(make.lv(bcache=backing), layout="bcache", more_lvs=(device,), csets=csets, pvs=pvs)


def page(client: Client, name: str, *args: str) -> str:
    response = client.get(reverse(name, args=args))
    assert response.status_code == 200
    return response.content.decode()


def asked(client: Client, name: str, there: Scene, **data: object) -> Job:
    """The preview that sending the form leads to."""
    response = client.post(reverse(name, args=[there.volume.key]), data)
    assert response.status_code == 302, response.content
    made = Job.objects.get()
    assert made.dry_run
    return made


def test_another_size_is_a_new_cache_set_as_the_old_one(staff: Client) -> None:
    there = cached(migration_threshold_sectors=4096)
    assert reverse("cache-replace", args=[there.volume.key]) in page(
        staff, "volume", there.volume.key
    )
    made = asked(staff, "cache-replace", there, size_bytes=4 * GIB, mode="writethrough")
    cache = Wish.from_json(made.wish).cache
    assert isinstance(cache, LvmCache)
    assert made.kind == "replace-cache"
    assert (cache.size_bytes, cache.migration_threshold_sectors) == (4 * GIB, 4096)
    assert cache.name != POOL


def test_another_size_of_bcache_is_another_cache_set(staff: Client) -> None:
    made = asked(staff, "cache-replace", on_bcache(), size_bytes=GIB, mode="writethrough")
    cache = Wish.from_json(made.wish).cache
    assert isinstance(cache, Bcache)
    assert cache.size_bytes == GIB and cache.cset_uuid != make.CSET_UUID


def test_the_size_it_has_is_no_other_size(staff: Client) -> None:
    there = cached()
    url = reverse("cache-replace", args=[there.volume.key])
    data = {"size_bytes": 2 * GIB, "mode": "writethrough"}
    assert staff.post(url, data).status_code == 422
    assert not Job.objects.exists()


def test_sizes_count_the_room_that_the_old_cache_frees(staff: Client) -> None:
    there = cached(pvs=(make.pv(), make.fast_pv(free_bytes=GIB + 64 * MIB)))
    text = page(staff, "cache-replace", there.volume.key)
    assert 'value="3221225472" selected' in text
    assert 'value="4294967296"' not in text


def test_without_room_for_any_other_size_the_page_says_why(staff: Client) -> None:
    broken = cached(needs_check=True)
    text = page(staff, "volume", broken.volume.key)
    assert "lvconvert --repair" in text
    assert reverse("cache-replace", args=[broken.volume.key]) not in text


def test_any_size_can_be_typed(staff: Client) -> None:
    made = asked(staff, "cache-form", scene(), own_gib="1.5", mode="writethrough")
    cache = Wish.from_json(made.wish).cache
    assert isinstance(cache, LvmCache)
    assert cache.size_bytes == 1536 * MIB


def test_a_typed_size_replaces_a_cache_too(staff: Client) -> None:
    made = asked(staff, "cache-replace", cached(), own_gib="2.5", mode="writethrough")
    cache = Wish.from_json(made.wish).cache
    assert cache is not None and cache.size_bytes == 2560 * MIB


@pytest.mark.parametrize(
    ("own_gib", "words"),
    [("0.01", "The smallest cache is"), ("9", "The volume has only 8\xa0GiB"), ("x", "number")],
)
def test_a_typed_size_that_makes_no_sense_is_an_error_and_stays_in_the_form(
    staff: Client, own_gib: str, words: str
) -> None:
    url = reverse("cache-form", args=[scene().volume.key])
    answer = staff.post(url, {"own_gib": own_gib, "mode": "writethrough"})
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert f'value="{own_gib}"' in answer.content.decode()
    assert not Job.objects.exists()


def test_a_typed_size_for_which_there_is_no_room_is_an_error_of_the_form(staff: Client) -> None:
    there = scene(pvs=(make.pv(), make.fast_pv(free_bytes=2 * GIB)))
    url = reverse("cache-form", args=[there.volume.key])
    answer = staff.post(url, {"own_gib": "4", "mode": "writethrough"})
    assert answer.status_code == 422
    assert "of SSD free" in answer.content.decode()
    assert not Job.objects.exists()


def test_without_a_size_the_form_asks_for_one(staff: Client) -> None:
    url = reverse("cache-form", args=[scene().volume.key])
    answer = staff.post(url, {"mode": "writethrough"})
    assert answer.status_code == 422
    assert "Choose a size" in answer.content.decode()


def test_a_volume_without_a_cache_has_nothing_to_replace_or_flush(staff: Client) -> None:
    there = scene()
    assert "has no cache" in page(staff, "cache-replace", there.volume.key)
    assert staff.post(reverse("cache-flush", args=[there.volume.key])).status_code == 422
    assert not Job.objects.exists()


def test_a_flush_goes_from_the_page_to_a_preview(staff: Client) -> None:
    there = cached(mode="writeback", dirty_bytes=GIB)
    assert reverse("cache-flush", args=[there.volume.key]) in page(
        staff, "volume", there.volume.key
    )
    made = asked(staff, "cache-flush", there)
    wish = Wish.from_json(made.wish)
    assert (made.kind, wish.flushed) == ("flush-cache", True)
    assert "written to the HDD" in page(staff, "job", made.key)


@pytest.mark.parametrize(("is_healthy", "mode"), [(True, "writeback"), (False, "writethrough")])
def test_a_flush_of_bcache_ends_in_the_mode_that_its_ssds_allow(
    staff: Client, is_healthy: bool, mode: str
) -> None:
    dirty = {"state": "dirty", "cache_mode": "writeback", "dirty_bytes": GIB}
    there = on_bcache(is_healthy=is_healthy, **dirty)
    wish = Wish.from_json(asked(staff, "cache-flush", there).wish)
    assert isinstance(wish.cache, Bcache)
    assert (wish.flushed, wish.cache.cache_mode) == (True, mode)


def test_a_clean_cache_says_why_there_is_nothing_to_flush(staff: Client) -> None:
    there = cached()
    text = page(staff, "volume", there.volume.key)
    assert reverse("cache-flush", args=[there.volume.key]) not in text
    assert "Nothing to flush." in text


def test_settings_are_changed_beside_the_mode_and_keep_their_value_when_left_out(
    staff: Client,
) -> None:
    there = on_bcache()
    assert "Advanced settings" in page(staff, "cache-form", there.volume.key)
    made = asked(staff, "cache-form", there, mode="writeback", writeback_percent=25)
    cache = Wish.from_json(made.wish).cache
    assert isinstance(cache, Bcache)
    assert (cache.writeback_percent, cache.sequential_cutoff_bytes) == (25, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("writeback_percent", 41),
        ("writeback_percent", -1),
        ("sequential_cutoff_bytes", 1025),
        ("sequential_cutoff_bytes", 1000),
    ],
)
def test_a_setting_that_the_kernel_would_not_take_is_an_error(
    staff: Client, name: str, value: int
) -> None:
    there = on_bcache()
    url = reverse("cache-form", args=[there.volume.key])
    response = staff.post(url, {"mode": "writethrough", name: value})
    assert response.status_code == 422
    assert "is-invalid" in response.content.decode()


def flushing(**pace: int) -> Job:
    there = job(scene(), kind="flush-cache", state="running", lease_owner="w", lease_until=now())
    progress = {"label": "flushed", "done_bytes": GIB, "total_bytes": 4 * GIB, **pace}
    step(
        there,
        verb="cache.flush",
        state="running",
        op_id=OP_ID,
        started_at=now(),
        progress=progress,
    )
    return there


def now() -> Any:
    return timezone.now()


def test_a_flush_shows_what_is_left_how_fast_it_falls_and_how_long_it_takes(
    staff: Client,
) -> None:
    text = page(staff, "job", flushing(rate_bytes_s=8 * MIB, left_s=384, stalled_s=1).key)
    assert "3\xa0GiB dirty, falling by 8\xa0MiB/s, about 6\xa0min left" in on_one_line(
        strip_tags(text)
    )
    assert "has not decreased" not in text


def test_a_flush_that_stands_still_for_a_minute_raises_an_alarm(staff: Client) -> None:
    text = page(staff, "job", flushing(rate_bytes_s=0, stalled_s=60).key)
    assert "Dirty data has not decreased for 1\xa0min" in text
    assert ", about" not in text
