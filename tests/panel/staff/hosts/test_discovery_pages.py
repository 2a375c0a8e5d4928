"""Pages of what was found on hosts: the stack, drift, and the way to adoption."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from panel.staff.adoption_pages import PatternForm
from storage.discovery.ingest import apply_facts
from storage.inventory.facts import Array, ArrayMember
from storage.inventory.volume_parts import VolumeUser
from storage.models import Placement, Volume
from tests import make
from tests.one_line import on_one_line
from tests.scene import Scene, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def page(client: Client, name: str, *args: str) -> str:
    response = client.get(reverse(name, args=args))
    assert response.status_code == 200
    return response.content.decode()


def shrunken(count: int, left: int) -> Scene:
    """A host that had `count` volumes beside one, and whose inventory now has `left` of them."""
    there = scene(managed=False)
    others = [make.lv(f"v{n}") for n in range(count - 1)]
    before = timezone.now() + dt.timedelta(seconds=1)
    apply_facts(there.host, make.inventory(make.facts(there.lv, *others)), before)
    after = before + dt.timedelta(seconds=1)
    kept = (there.lv, *others)[count - left :]
    apply_facts(there.host, make.inventory(make.facts(*kept)), after)
    return there


def test_a_host_shows_what_stands_on_what(staff: Client) -> None:
    array = Array(
        name="md0",
        dev="9:0",
        uuid="u",
        level="raid1",
        state="clean",
        size_bytes=2**30,
        degraded_count=1,
        sync_action="recover",
        members=(ArrayMember("sda", "in_sync"), ArrayMember("sdb", "faulty")),
    )
    guest = VolumeUser("qemu", "web12", "vdb", 7)
    there = scene(
        make.lv(cache=make.dm_cache("theirs", mode="writeback"), users=(guest,)),
        managed=False,
        arrays=(array,),
        disks=(make.disk("sda", rotational=False), make.disk("sdc")),
        more_lvs=(make.lv("pool0", layout=("thin", "pool"), role=("private",)),),
    )
    text = page(staff, "host-disks", there.host.key)
    for words in (
        "Storage map",
        "raid1, recover",
        "degraded: 1 of 2 disks",
        "failed in md0",
        "lvmcache, writeback on md0",
        "web12 · vdb",
        "thin pool on sdc",
    ):
        assert words in text, words


def test_a_shrunken_inventory_is_shown_on_every_page_of_the_host(staff: Client) -> None:
    there = shrunken(5, 2)
    words = "3 of 5 volumes are missing since"
    assert words in page(staff, "home")
    assert words in page(staff, "hosts")
    text = page(staff, "host", there.host.key)
    assert words in text
    assert "nothing was deleted" in text
    assert f"{reverse('host-volumes', args=[there.host.key])}#missing" in text
    assert "Missing volumes" in page(staff, "host-volumes", there.host.key)


def test_a_missing_volume_says_so_on_its_page(staff: Client) -> None:
    there = shrunken(5, 2)
    text = page(staff, "volume", there.volume.key)
    assert "Missing on the host for" in text
    assert "Nothing was deleted in the panel" in text
    assert Placement.objects.filter(volume=there.volume, until=None).exists()


def test_a_person_says_that_missing_volumes_are_gone_for_good(staff: Client) -> None:
    there = shrunken(5, 2)
    response = staff.post(reverse("host-missing", args=[there.host.key]), follow=True)
    text = response.content.decode()
    assert "3 volumes removed from" in text
    assert "missing since" not in text
    assert Placement.objects.filter(host=there.host, until=None).count() == 2
    assert Volume.objects.count() == 5
    assert page(staff, "volume", there.volume.key)


def test_a_missing_volume_that_a_job_holds_stays_on_the_list(staff: Client) -> None:
    there = shrunken(5, 2)
    job(there)
    text = staff.post(reverse("host-missing", args=[there.host.key]), follow=True).content.decode()
    assert "2 volumes removed from" in text
    assert there.volume.placed is not None


def test_those_who_only_look_cannot_say_so(client: Client) -> None:
    there = shrunken(5, 2)
    client.force_login(make.staff_user(staff_role="read_only"))
    assert client.post(reverse("host-missing", args=[there.host.key])).status_code == 403
    assert "Requires the operator role" in page(client, "host-volumes", there.host.key)


def test_a_host_that_lost_nothing_says_nothing_of_drift(staff: Client) -> None:
    host = scene().host
    assert "missing since" not in page(staff, "host", host.key)
    assert "Missing volumes" not in page(staff, "host-volumes", host.key)


def test_a_volume_without_a_customer_leads_to_its_adoption(staff: Client) -> None:
    there = scene(managed=False)
    text = page(staff, "volume", there.volume.key)
    link = f"{reverse('adopt')}?pattern=web12&amp;host={there.host.key}"
    assert link in text
    response = staff.get(link.replace("&amp;", "&"))
    assert 'value="web12"' in response.content.decode()
    (field,) = re.findall(r'<input[^>]* name="host"[^>]*>', response.content.decode())
    assert f' value="{there.host.name}" ' in field
    asked = {"pattern": "web12", "host": there.host.name, "new_customer": "Acme"}
    form = PatternForm(response.wsgi_request.user, asked)
    assert form.is_valid() and form.cleaned_data["host"] == there.host


@pytest.mark.parametrize("text", ["web12", "vps-7"])
def test_a_volume_is_found_by_its_guest_and_by_its_external_id(staff: Client, text: str) -> None:
    make.volume(label="the wanted", guest="web12 · vdb", external_id="vps-7")
    make.volume(label="another", guest="db1 · vda", external_id="vps-8")
    found = staff.get(reverse("volumes"), {"q": text}).content.decode()
    assert "the wanted" in found
    assert "another" not in found


def adopted(*, allowed: bool) -> Scene:
    there = scene(managed=False, vgs=(make.vg(allowed=allowed),))
    owner = make.customer(name="Acme Ltd")
    Volume.objects.update(customer=owner, adopted_at=timezone.now())
    return there


def test_an_adopted_volume_shows_its_customer_and_that_it_has_no_tag(staff: Client) -> None:
    text = page(staff, "host-volumes", adopted(allowed=False).host.key)
    assert "Acme Ltd" in text
    assert "adopted, not tagged" in text
    assert "found, not adopted" not in text
    assert "not tagged yet" not in text


def test_a_tag_that_is_allowed_by_now_has_a_way_to_it(client: Client) -> None:
    there = adopted(allowed=True)
    client.force_login(make.staff_user(staff_role="operator"))
    text = page(client, "host-volumes", there.host.key)
    assert "1 adopted volume is not tagged yet" in on_one_line(text)
    client.force_login(make.staff_user(staff_role="read_only"))
    assert "not tagged yet" not in page(client, "host-volumes", there.host.key)


def test_those_who_only_look_are_offered_no_adoption(client: Client) -> None:
    there = scene(managed=False)
    client.force_login(make.staff_user(staff_role="read_only"))
    assert reverse("adopt") not in page(client, "volume", there.volume.key)
