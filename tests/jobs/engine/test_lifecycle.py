"""Retire, restore, destroy: whole jobs against the fake host, and the way through the pages."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.hosts.refresh import refresh
from jobs.models import Job, Kind, State
from storage.byte_sizes import GIB
from storage.inventory.volume_parts import VolumeUser
from storage.models import Host, Placement, Volume
from storage.naming import new_key, retired_name
from storage.planner.wish import Bcache, LvmCache, Wish
from tests import make
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import CSET, done, enrolled, new_volume
from tests.scene import Scene, end, job, scene, step

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db


def live(layout: str, *, cached: bool = False) -> Wish:
    key = new_key()
    if layout == "plain":
        return Wish(GIB, cache=LvmCache(f"c-{key}", GIB) if cached else None)
    cache = Bcache(f"s-{key}", CSET, GIB) if cached else None
    return Wish(GIB, layout="bcache", cache=cache)


def as_life(wish: Wish, life: Any) -> Wish:
    return dataclasses.replace(wish, cache=None, life=life)


def succeed(kind: Kind, volume: Volume, wish: Wish) -> Job:
    ended = done(kind, volume, wish)
    assert (ended.state, ended.error) == (State.SUCCEEDED, {}), kind
    return ended


def lv_names(host: FakeHost) -> list[str]:
    return [lv.name for lv in host.machine.lvs()]


def close_window(host: FakeHost) -> None:
    """Root keeps retired volumes no longer."""
    policy = {"vgs": ["vg0"], "undo_hours": 0}
    host.save("/etc/tiercel/agent.json", json.dumps(policy).encode())


@pytest.mark.parametrize("layout", ["plain", "bcache"])
def test_a_volume_is_retired_restored_retired_and_destroyed(
    enrolled: Host, fake_host: FakeHost, layout: str
) -> None:
    volume, wish = new_volume(enrolled, layout), live(layout)
    succeed(Kind.CREATE_VOLUME, volume, wish)
    succeed(Kind.ADD_CACHE, volume, live(layout, cached=True))
    succeed(Kind.RETIRE_VOLUME, volume, as_life(wish, "retired"))
    assert lv_names(fake_host) == [retired_name(volume.key)]
    assert volume.retired_at is not None and volume.size_bytes == GIB
    assert volume.placed is not None and volume.placed.lv_name == retired_name(volume.key)
    succeed(Kind.RESTORE_VOLUME, volume, wish)
    assert lv_names(fake_host) == [f"v-{volume.key}"]
    assert volume.retired_at is None and volume.layout == layout
    succeed(Kind.RETIRE_VOLUME, volume, as_life(wish, "retired"))
    close_window(fake_host)
    ended = succeed(Kind.DESTROY_VOLUME, volume, as_life(wish, "gone"))
    assert lv_names(fake_host) == []
    assert volume.destroyed_at is not None and volume.placed is None
    assert Placement.objects.get(volume=volume).until == volume.destroyed_at
    assert ended.is_irrevocable


def test_a_preview_of_an_end_shows_the_commands_that_run_then(
    enrolled: Host, fake_host: FakeHost
) -> None:
    volume, wish = new_volume(enrolled), live("plain")
    succeed(Kind.CREATE_VOLUME, volume, wish)
    off = as_life(wish, "retired")
    preview = done(Kind.RETIRE_VOLUME, volume, off, dry_run=True)
    ended = succeed(Kind.RETIRE_VOLUME, volume, off)
    assert [step.commands[0]["shell"] for step in preview.step_set.all()] == [
        step.commands[0]["shell"] for step in ended.step_set.all()
    ]


def test_a_volume_that_its_host_keeps_is_not_destroyed(enrolled: Host, fake_host: FakeHost) -> None:
    volume, wish = new_volume(enrolled), live("plain")
    succeed(Kind.CREATE_VOLUME, volume, wish)
    succeed(Kind.RETIRE_VOLUME, volume, as_life(wish, "retired"))
    ended = done(Kind.DESTROY_VOLUME, volume, as_life(wish, "gone"))
    assert (ended.state, ended.error["code"]) == (State.FAILED, "too_early")
    assert lv_names(fake_host) == [retired_name(volume.key)]
    assert volume.destroyed_at is None


def test_an_inventory_read_before_the_end_brings_no_ghost(
    enrolled: Host, fake_host: FakeHost
) -> None:
    volume, wish = new_volume(enrolled), live("plain")
    succeed(Kind.CREATE_VOLUME, volume, wish)
    succeed(Kind.RETIRE_VOLUME, volume, as_life(wish, "retired"))
    lv = fake_host.root.lv(retired_name(volume.key))
    close_window(fake_host)
    succeed(Kind.DESTROY_VOLUME, volume, as_life(wish, "gone"))
    with fake_host.changing():
        lv.vg.lvs.append(lv)
    assert refresh(enrolled)
    assert list(Volume.objects.all()) == [volume]


# The pages


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def off(hours: int = 48, **fields: Any) -> Scene:
    """A volume that was retired so many hours ago."""
    key, at = new_key(), timezone.now() - dt.timedelta(hours=hours)
    marks = ("tiercel.name=web12", f"tiercel.retired={int(at.timestamp())}")
    lv = make.lv(
        retired_name(key), tags=(*make.tags(key), *marks), active=False, open_count=0, **fields
    )
    there = scene(lv, managed=False)
    Volume.objects.filter(pk=there.volume.pk).update(key=key, managed=True, retired_at=at)
    there.volume.refresh_from_db()
    return there


def page(client: Client, there: Scene) -> str:
    response = client.get(reverse("volume", args=[there.volume.key]))
    assert response.status_code == 200
    return response.content.decode()


def post(client: Client, name: str, there: Scene, **data: object) -> Any:
    return client.post(reverse(name, args=[there.volume.key]), data)


def wish_of_preview() -> Wish:
    preview = Job.objects.get()
    assert preview.dry_run
    return Wish.from_json(preview.wish)


def test_retiring_goes_through_a_preview_without_the_cache(staff: Client) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    assert reverse("volume-retire", args=[there.volume.key]) in page(staff, there)
    assert post(staff, "volume-retire", there).status_code == 302
    wish = wish_of_preview()
    assert (wish.life, wish.cache, wish.size_bytes) == ("retired", None, there.volume.size_bytes)


def test_a_volume_in_use_is_not_retired_and_the_page_says_by_whom(staff: Client) -> None:
    there = scene(make.lv(users=(VolumeUser("qemu", "web12", "vda", 42),)))
    text = page(staff, there)
    assert reverse("volume-retire", args=[there.volume.key]) not in text
    assert "in use by qemu web12" in text
    assert post(staff, "volume-retire", there).status_code == 422
    assert not Job.objects.exists()


def test_a_retired_volume_is_restored_with_the_size_it_had(staff: Client) -> None:
    there = off()
    Volume.objects.filter(pk=there.volume.pk).update(size_bytes=7 * GIB)
    text = page(staff, there)
    assert "Retired" in text and reverse("volume-restore", args=[there.volume.key]) in text
    assert f'action="{reverse("cache-form", args=[there.volume.key])}' not in text
    assert post(staff, "volume-restore", there).status_code == 302
    wish = wish_of_preview()
    assert (wish.life, wish.size_bytes) == ("live", 7 * GIB)


@pytest.mark.parametrize("name", ["cache-remove", "volume-tag", "volume-retire"])
def test_a_retired_volume_can_only_be_restored_or_destroyed(staff: Client, name: str) -> None:
    assert post(staff, name, off()).status_code == 422
    assert not Job.objects.exists()


def test_destroying_takes_the_typed_label(staff: Client) -> None:
    there = off()
    assert reverse("volume-destroy", args=[there.volume.key]) in page(staff, there)
    form = staff.get(reverse("volume-destroy", args=[there.volume.key])).content.decode()
    assert "8\xa0GiB" in form and "unassigned" in form
    assert post(staff, "volume-destroy", there, confirm_label="web13").status_code == 422
    assert not Job.objects.exists()
    label = there.volume.label
    assert post(staff, "volume-destroy", there, confirm_label=label).status_code == 302
    assert wish_of_preview().life == "gone"


def test_a_volume_in_its_window_is_not_destroyed_and_the_page_says_until_when(
    staff: Client,
) -> None:
    there = off(hours=1)
    text = page(staff, there)
    assert reverse("volume-destroy", args=[there.volume.key]) not in text
    assert "can be destroyed after" in text
    label = there.volume.label
    assert post(staff, "volume-destroy", there, confirm_label=label).status_code == 422


def test_an_operator_destroys_nothing_not_even_by_anothers_preview(client: Client) -> None:
    there = off()
    client.force_login(make.staff_user(staff_role="operator"))
    assert "Requires the admin role" in page(client, there)
    preview = job(there, kind=Kind.DESTROY_VOLUME, dry_run=True)
    step(preview, verb="volume.destroy")
    end(preview)
    shown = client.get(reverse("job", args=[preview.key])).content.decode()
    assert "Requires the admin role" in shown
    assert client.post(reverse("preview-apply", args=[preview.key])).status_code == 403
    assert not Job.objects.filter(dry_run=False).exists()


def test_destroyed_volumes_are_listed_only_when_asked_for(staff: Client) -> None:
    there, retired = scene(label="gone disk"), off()
    Volume.objects.filter(pk=retired.volume.pk).update(label="sleeping disk")
    Placement.objects.filter(volume=there.volume).update(until=timezone.now())
    Volume.objects.filter(pk=there.volume.pk).update(destroyed_at=timezone.now())
    short = staff.get(reverse("volumes")).content.decode()
    assert "gone disk" not in short and "sleeping disk" in short
    assert "retired, can be restored" in short
    assert "gone disk" in staff.get(reverse("volumes"), {"state": "destroyed"}).content.decode()
    assert "for the history" in page(staff, there)


def test_customers_have_no_volume_that_is_switched_off(client: Client) -> None:
    there, customer, person = off(), make.customer(), make.user()
    customer.members.create(user=person, role="owner")
    Volume.objects.filter(pk=there.volume.pk).update(customer=customer)
    client.force_login(person)
    assert there.volume.label not in client.get(reverse("my-volumes")).content.decode()
    assert client.get(reverse("my-volume", args=[there.volume.key])).status_code == 404


def test_the_page_of_a_destroyed_volume_offers_nothing(staff: Client) -> None:
    there, now = scene(), timezone.now()
    Placement.objects.filter(volume=there.volume).update(until=now)
    Volume.objects.filter(pk=there.volume.pk).update(destroyed_at=now)
    text = page(staff, there)
    assert "Add a cache" not in text and "Change the volume" not in text
    for name in ("volume-retire", "volume-restore", "volume-destroy"):
        assert post(staff, name, there, confirm_label=there.volume.label).status_code == 422
