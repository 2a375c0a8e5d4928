"""Volumes that are not as recorded: shown, accepted, repaired."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.models import Job, Kind
from storage.byte_sizes import GIB
from storage.inventory.facts import BcacheBacking
from storage.models import Volume
from storage.planner.wish import Bcache, LvmCache, Wish
from tests import make
from tests.scene import Scene, job, scene

pytestmark = pytest.mark.django_db

POOL = "c-aaaaaaaaaaaaaaaa"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def page(client: Client, name: str, *args: str, script: bool = True) -> str:
    """As the page itself loads it or, without a script, a person."""
    asked_by = {"HX-Request": "true"} if script else {}
    response = client.get(reverse(name, args=args), headers=asked_by)
    assert response.status_code == 200
    return response.content.decode()


def recorded(there: Scene, **cache: Any) -> Volume:
    """The record says: with a writethrough cache of 2 GiB, or what `cache` says."""
    wish = Wish(8 * GIB, cache=LvmCache(**{"name": POOL, "size_bytes": 2 * GIB, **cache}))
    there.volume.wish = wish.to_json()
    there.volume.save()
    return there.volume


def cached(**fields: Any) -> Scene:
    return scene(make.lv(cache=make.dm_cache(POOL, **fields)))


def test_a_volume_as_recorded_has_no_drift(staff: Client) -> None:
    there = cached()
    recorded(there)
    assert page(staff, "volume-drift", there.volume.key).strip() == ""
    assert "Not as recorded" not in page(staff, "host-volumes", there.host.key)
    checks = page(staff, "host-checks", there.host.key)
    assert "All volumes match the record." in checks and "not as recorded" not in checks


def test_a_changed_mode_is_shown_on_both_pages(staff: Client) -> None:
    there = cached(mode="writeback")
    recorded(there)
    for text in (
        page(staff, "volume-drift", there.volume.key),
        page(staff, "host-volumes", there.host.key),
    ):
        assert "Not as recorded" in text
        assert "Cache mode" in text and "writethrough" in text and "writeback" in text
    assert "1 volume not as recorded." in page(staff, "host-checks", there.host.key)


def test_accepting_makes_what_is_there_the_record(staff: Client) -> None:
    there = cached(mode="writeback")
    volume = recorded(there)
    response = staff.post(reverse("volume-drift-accept", args=[volume.key]))
    assert response.status_code == 302
    volume.refresh_from_db()
    wish = volume.current_wish
    assert wish is not None and isinstance(wish.cache, LvmCache)
    assert wish.cache.mode == "writeback"
    assert page(staff, "volume-drift", volume.key).strip() == ""
    assert not Job.objects.exists()
    assert staff.post(reverse("volume-drift-accept", args=[volume.key])).status_code == 422


def not_accepted(client: Client, volume: Volume) -> str:
    """The page of a volume whose record stays what it is, whichever person asks."""
    before = volume.wish
    text = page(client, "volume-drift", volume.key)
    assert reverse("volume-drift-accept", args=[volume.key]) not in text
    response = client.post(reverse("volume-drift-accept", args=[volume.key]))
    assert response.status_code == 422
    volume.refresh_from_db()
    assert volume.wish == before
    return text


def bcache_recorded(there: Scene) -> Volume:
    cache = Bcache("s-aaaaaaaaaaaaaaaa", make.CSET_UUID, 2 * GIB)
    there.volume.wish = Wish(8 * GIB, layout="bcache", cache=cache).to_json()
    there.volume.save()
    return there.volume


def test_a_volume_that_is_not_registered_does_not_become_one_without_a_cache(
    staff: Client,
) -> None:
    volume = bcache_recorded(scene(layout="bcache"))
    text = not_accepted(staff, volume)
    assert "not registered" in text and "As root on the host: /usr/lib/tiercel/agent.pyz" in text


@pytest.mark.parametrize("backing", [None, make.bcache(state="dirty", device=None)])
def test_a_lost_ssd_is_not_accepted_away(staff: Client, backing: BcacheBacking | None) -> None:
    pvs = (make.pv(), make.fast_pv("[unknown]", missing=True))
    vgs = (make.vg(missing_pv_count=1),)
    volume = bcache_recorded(scene(make.lv(bcache=backing), layout="bcache", pvs=pvs, vgs=vgs))
    assert "the card about the lost SSD" in not_accepted(staff, volume)
    assert "Data may be lost" in page(staff, "volume-loss", volume.key)


def test_what_no_record_could_say_is_left_to_a_repair(staff: Client) -> None:
    untagged, emptied = cached(), cached(policy="cleaner")
    Volume.objects.filter(pk=untagged.volume.pk).update(managed=False)
    untagged.volume.refresh_from_db()
    for there, words in ((untagged, "the tag is gone"), (emptied, "(cleaner)")):
        text = not_accepted(staff, recorded(there))
        assert words in text and "Repair it instead." in text


def test_what_a_broken_attempt_left_is_shown_until_a_job_works_on_the_volume(
    staff: Client,
) -> None:
    there = scene(make.lv())
    volume = there.volume
    volume.wish = Wish(8 * GIB).to_json()
    volume.save()
    left = make.pool("c-bbbbbbbbbbbbbbbb", tags=make.tags(volume.key, made="pool"))
    there.host.facts["lvs"].append(dataclasses.asdict(left))
    there.host.save()
    text = not_accepted(staff, volume)
    assert "c-bbbbbbbbbbbbbbbb" in text and "Preview repair" in text
    job(there)
    assert page(staff, "volume-drift", volume.key).strip() == ""


def test_a_half_made_volume_is_finished_and_not_accepted(staff: Client) -> None:
    there = scene(make.lv(tags=("tiercel.zeroing",)), managed=False)
    key = there.volume.key
    lv = dataclasses.replace(there.lv, tags=make.tags(key, zeroing=True))
    there.host.facts = make.inventory(make.facts(lv))
    there.host.save()
    assert "Finish the volume" in not_accepted(staff, there.volume)
    text = staff.post(reverse("volume-drift-accept", args=[key])).content.decode()
    assert "is not finished" in text


def test_repairing_previews_the_record(staff: Client) -> None:
    there = cached(mode="writeback")
    volume = recorded(there)
    response = staff.post(reverse("volume-repair", args=[volume.key]))
    assert response.status_code == 302
    preview = Job.objects.get()
    assert (preview.kind, preview.dry_run) == (Kind.REPAIR_VOLUME, True)
    assert preview.wish == volume.wish


def test_what_no_job_can_undo_says_so_and_can_be_accepted(staff: Client) -> None:
    there = scene(make.lv(size_bytes=16 * GIB))
    there.volume.wish = Wish(8 * GIB).to_json()
    there.volume.save()
    text = page(staff, "volume-drift", there.volume.key)
    assert "Size" in text and "cannot be shrunk" in text
    assert staff.post(reverse("volume-repair", args=[there.volume.key])).status_code == 422


def test_while_a_job_works_on_it_nothing_is_said_or_accepted(staff: Client) -> None:
    there = cached(mode="writeback")
    volume = recorded(there)
    holder = job(there)
    assert page(staff, "volume-drift", volume.key).strip() == ""
    response = staff.post(reverse("volume-drift-accept", args=[volume.key]))
    assert response.status_code == 409
    assert reverse("job", args=[holder.key]) in response.content.decode()
    volume.refresh_from_db()
    assert volume.current_wish is not None
    assert isinstance(volume.current_wish.cache, LvmCache)
    assert volume.current_wish.cache.mode == "writethrough"


def test_those_who_only_look_get_the_reason(client: Client) -> None:
    client.force_login(make.staff_user(staff_role="read_only"))
    there = cached(mode="writeback")
    recorded(there)
    text = page(client, "volume-drift", there.volume.key)
    assert "Requires the operator role." in text
    assert "<form" not in text


def test_the_volumes_page_asks_for_it_and_shows_the_stable_path(staff: Client) -> None:
    there = scene(host={"hello": {"policy": {"vgs": ["vg0"]}, "links": True}})
    text = page(staff, "volume", there.volume.key)
    assert reverse("volume-drift", args=[there.volume.key]) in text
    assert f"/dev/tiercel/{there.volume.key}" in page(
        staff, "volume-details", there.volume.key, script=False
    )


def test_a_host_without_inventory_has_no_checks(staff: Client) -> None:
    host = make.host()
    assert page(staff, "host-checks", host.key) == ""
    assert "nothing to report" in page(staff, "host-checks", host.key, script=False)


@pytest.mark.parametrize(
    ("name", "loaded_by", "words"),
    [
        ("volume-drift", "volume", "Not as recorded"),
        ("volume-loss", "volume", None),
        ("host-checks", "host-settings", "1 volume not as recorded."),
    ],
)
def test_without_a_script_the_checks_are_pages_of_their_own(
    staff: Client, name: str, loaded_by: str, words: str | None
) -> None:
    there = cached(mode="writeback")
    recorded(there)
    kind, key = ("host", there.host.key) if name == "host-checks" else ("volume", there.volume.key)
    path = reverse(name, args=[key])
    assert f'<noscript><p><a href="{path}">' in page(staff, loaded_by, key, script=False)
    alone = page(staff, name, key, script=False)
    assert alone.startswith("<!doctype html>")
    assert f'href="{reverse(kind, args=[key])}"' in alone
    assert words in alone if words else "not as recorded" not in alone.lower()
    assert "<!doctype" not in page(staff, name, key)
