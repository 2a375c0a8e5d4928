"""The way from a form through a preview to a job, and what stands in it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.hosts.trust import key_fingerprint
from jobs.models import Job, State
from storage.byte_sizes import GIB
from storage.models import Customer, Volume
from storage.planner.wish import Bcache, LvmCache, Wish
from tests import make
from tests.proven import sign_in
from tests.scene import HOST_KEY, Scene, end, job, scene, step

pytestmark = pytest.mark.django_db

POOL = "c-aaaaaaaaaaaaaaaa"


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, make.staff_user())


def page(client: Client, name: str, *args: str, **query: str) -> str:
    response = client.get(reverse(name, args=args), query)
    assert response.status_code == 200
    return response.content.decode()


def send(client: Client, name: str, *args: str, **data: object) -> Any:
    return client.post(reverse(name, args=args), data)


def preview_of(response: Any) -> Job:
    """The preview that an answer leads to."""
    assert response.status_code == 302
    return Job.objects.get(key=response["Location"].rstrip("/").split("/")[-1])


def cached(**fields: Any) -> Scene:
    return scene(make.lv(cache=make.dm_cache(POOL, **fields)))


@pytest.mark.parametrize("name", ["job-cancel", "preview-apply"])
def test_the_job_of_another_customer_cannot_be_changed(client: Client, name: str) -> None:
    there = job(scene(), dry_run=True)
    sign_in(client, make.user())
    assert send(client, name, there.key).status_code == 404
    there.refresh_from_db()
    assert there.state == State.QUEUED


@pytest.mark.parametrize("name", ["cache-form", "cache-remove", "volume-tag", "volume-discard"])
def test_the_volume_of_another_customer_cannot_be_changed(client: Client, name: str) -> None:
    there = scene()
    sign_in(client, make.user())
    assert send(client, name, there.volume.key, mode="writethrough").status_code == 404
    assert not Job.objects.exists()
    assert Volume.objects.filter(pk=there.volume.pk).exists()


@pytest.mark.parametrize("name", ["host-accept", "host-refresh"])
def test_a_host_cannot_be_changed_by_a_customer(client: Client, name: str) -> None:
    there = scene()
    sign_in(client, make.user())
    assert send(client, name, there.host.key).status_code == 404


@pytest.mark.parametrize(
    "name", ["cache-remove", "volume-tag", "volume-discard", "host-accept", "preview-apply"]
)
def test_what_changes_something_is_never_a_get(staff: Client, name: str) -> None:
    assert staff.get(reverse(name, args=["aaaaaaaaaaaaaaaa"])).status_code == 405


def test_adding_a_cache_goes_from_form_to_preview_to_job(staff: Client) -> None:
    there = scene()
    response = send(staff, "cache-form", there.volume.key, size_bytes=2 * GIB, mode="writethrough")
    preview = preview_of(response)
    wish = Wish.from_json(preview.wish)
    assert (preview.kind, preview.dry_run, preview.state) == ("add-cache", True, State.QUEUED)
    assert isinstance(wish.cache, LvmCache)
    assert (wish.cache.size_bytes, wish.cache.mode) == (2 * GIB, "writethrough")
    assert "Confirm and run" not in page(staff, "job", preview.key)

    step(preview, deferred=[{"code": "not_found", "message": "the pool comes from step 1"}])
    end(preview)
    text = page(staff, "job", preview.key)
    for shown in ("Commands", "the pool comes from step 1", "lvmcache", "2\xa0GiB"):
        assert shown in text

    made = preview_of(send(staff, "preview-apply", preview.key))
    assert (made.dry_run, made.wish, made.kind) == (False, preview.wish, preview.kind)
    assert made.actor is not None


def test_a_bcache_ready_volume_gets_a_bcache_wish(staff: Client) -> None:
    there = scene(make.lv(bcache=make.bcache()), layout="bcache")
    response = send(staff, "cache-form", there.volume.key, size_bytes=GIB, mode="writearound")
    wish = Wish.from_json(preview_of(response).wish)
    assert isinstance(wish.cache, Bcache)
    assert wish.cache.cache_mode == "writearound"


def test_a_preview_that_has_not_ended_cannot_be_applied(staff: Client) -> None:
    preview = job(scene(), dry_run=True)
    response = send(staff, "preview-apply", preview.key)
    assert response.status_code == 422
    assert not Job.objects.filter(dry_run=False).exists()


def test_a_real_job_cannot_be_applied_again(staff: Client) -> None:
    there = job(scene())
    end(there)
    assert send(staff, "preview-apply", there.key).status_code == 404


def test_a_busy_volume_names_the_job_in_the_way(staff: Client) -> None:
    there = scene()
    holder, preview = job(there), job(there, dry_run=True)
    end(preview)
    response = send(staff, "preview-apply", preview.key)
    assert response.status_code == 409
    assert reverse("job", args=[holder.key]) in response.content.decode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"size_bytes": 2 * GIB, "mode": "passthrough"}, "Select a valid choice"),
        ({"size_bytes": 1, "mode": "writethrough"}, "A cache of 1\xa0B is not offered here."),
        ({"mode": "writethrough"}, "Choose a size."),
        ({"size_bytes": 2 * GIB}, "This field is required"),
        ({"size_bytes": 2 * GIB, "mode": "writeback"}, "The SSD is not redundant"),
    ],
)
def test_a_wrong_cache_form_comes_back_with_its_errors(
    staff: Client, data: dict[str, object], words: str
) -> None:
    there = scene(pvs=(make.pv(), make.fast_pv("sdb", redundant=False)))
    response = send(staff, "cache-form", there.volume.key, **data)
    assert response.status_code == 422
    assert words in response.content.decode()
    assert not Job.objects.exists()


def test_a_quarantined_host_refuses_every_change(staff: Client) -> None:
    there = scene(host={"state": "quarantined"})
    for name in ("cache-form", "cache-remove", "volume-tag"):
        response = send(staff, name, there.volume.key, size_bytes=GIB, mode="writethrough")
        assert response.status_code == 422
        assert "quarantined" in response.content.decode()
    assert not Job.objects.exists()


def test_changing_the_mode_keeps_everything_else_of_the_cache(staff: Client) -> None:
    there = cached(migration_threshold_sectors=4096)
    wish = Wish.from_json(
        preview_of(send(staff, "cache-form", there.volume.key, mode="writeback")).wish
    )
    assert wish.cache == LvmCache(POOL, 2 * GIB, "writeback", 64, 4096)


def test_removing_a_cache_previews_a_wish_without_one(staff: Client) -> None:
    there = cached()
    preview = preview_of(send(staff, "cache-remove", there.volume.key))
    assert (preview.kind, Wish.from_json(preview.wish).cache) == ("remove-cache", None)
    end(preview)
    step(preview)
    assert "What will change" in page(staff, "job", preview.key)


def test_removing_the_cache_of_a_volume_on_ssd_moves_nothing(staff: Client) -> None:
    there = scene(make.lv(cache=make.dm_cache(POOL), pvs=("md0",)))
    for name in ("cache-remove", "volume-retire"):
        wish = Wish.from_json(preview_of(send(staff, name, there.volume.key)).wish)
        assert (wish.cache, wish.tier) == (None, "ssd")


def test_tagging_previews_the_volume_as_it_is(staff: Client) -> None:
    there = scene(managed=False)
    preview = preview_of(send(staff, "volume-tag", there.volume.key))
    assert preview.kind == "tag-volume"
    assert Wish.from_json(preview.wish) == Wish(8 * GIB)


def new_volume(there: Scene, **fields: object) -> dict[str, object]:
    defaults = {
        "label": "shop · disk",
        "new_customer": "Nordlys",
        "size": 10,
        "unit": "GiB",
        "group": f"{there.host.key}/{make.VG_UUID}",
        "layout": "bcache",
    }
    return {**defaults, **fields}


def test_a_new_volume_goes_from_form_to_preview(staff: Client) -> None:
    there = scene()
    preview = preview_of(send(staff, "volume-new", **new_volume(there)))
    volume = preview.volume
    assert (volume.label, volume.layout, volume.managed) == ("shop · disk", "bcache", False)
    assert volume.customer == Customer.objects.get(name="Nordlys")
    assert volume.placed is not None
    assert (volume.placed.host, volume.placed.lv_uuid) == (there.host, None)
    assert Wish.from_json(preview.wish) == Wish(10 * GIB, layout="bcache")
    assert "Not created yet" in page(staff, "volume", volume.key)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"label": ""}, "This field is required"),
        ({"size": 0}, "greater than or equal to 1"),
        ({"group": "x/y"}, "Select a valid choice"),
        ({"layout": "zfs"}, "Select a valid choice"),
        ({"label": "a\0b"}, "Null characters are not allowed"),
        ({"label": "a\u202eb"}, "without control characters"),
    ],
)
def test_a_wrong_volume_form_comes_back_with_its_errors(
    staff: Client, fields: dict[str, object], words: str
) -> None:
    there = scene()
    response = send(staff, "volume-new", **new_volume(there, **fields))
    assert response.status_code == 422
    assert words in response.content.decode()
    assert Volume.objects.count() == 1
    assert not Customer.objects.exists()


def test_a_customer_is_chosen_or_named_but_not_both(staff: Client) -> None:
    there = scene()
    data = new_volume(there, customer=make.customer().key)
    response = send(staff, "volume-new", **data)
    assert "not both" in response.content.decode()


def test_only_groups_that_root_allowed_are_offered(staff: Client) -> None:
    scene(vgs=(make.vg(allowed=False),))
    assert "No host allows Tiercel to create volumes" in page(staff, "volume-new")


def test_a_volume_that_was_only_previewed_can_be_discarded(staff: Client) -> None:
    there = scene()
    volume = preview_of(send(staff, "volume-new", **new_volume(there))).volume
    assert send(staff, "volume-discard", volume.key).status_code == 302
    assert not Volume.objects.filter(pk=volume.pk).exists()


def test_a_volume_that_exists_or_is_being_made_cannot_be_discarded(staff: Client) -> None:
    there = scene()
    coming = preview_of(send(staff, "volume-new", **new_volume(there)))
    end(coming)
    send(staff, "preview-apply", coming.key)
    for volume in (there.volume, coming.volume):
        assert send(staff, "volume-discard", volume.key).status_code == 422
        assert Volume.objects.filter(pk=volume.pk).exists()


def test_a_queued_job_can_be_cancelled(staff: Client) -> None:
    there = job(scene())
    assert "Cancel</button>" in page(staff, "job", there.key)
    send(staff, "job-cancel", there.key)
    there.refresh_from_db()
    assert there.state == State.CANCELLED
    assert "Cancel</button>" not in page(staff, "job", there.key)


def test_the_right_fingerprint_makes_a_host_active(staff: Client) -> None:
    host = make.host(state="unverified", host_key="", host_key_seen=HOST_KEY)
    response = send(staff, "host-accept", host.key, fingerprint=key_fingerprint(HOST_KEY))
    assert response.status_code == 302
    host.refresh_from_db()
    assert (host.state, host.host_key) == ("active", HOST_KEY)


@pytest.mark.parametrize("given", ["", "SHA256:AAAA"])
def test_a_wrong_fingerprint_changes_nothing_and_says_what_to_read(
    staff: Client, given: str
) -> None:
    host = make.host(state="unverified", host_key="", host_key_seen=HOST_KEY)
    response = send(staff, "host-accept", host.key, fingerprint=given)
    assert response.status_code == 422
    assert "ssh-keygen -lf" in response.content.decode()
    host.refresh_from_db()
    assert host.state == "unverified"
