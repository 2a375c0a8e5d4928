"""The page of one disk, and what people enter there."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from storage.health.smart_records import record_smart
from storage.inventory.facts import ArrayMember
from storage.models import Host, PhysicalDisk
from tests import make
from tests.one_line import on_one_line
from tests.scene import scene
from tests.storage.health.test_smart_records import disk, dom, hdd, reply

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make.staff_user("ada@example.com"))
    return client


def read(pending: int, host: Host | None = None) -> PhysicalDisk:
    host = host or make.host(last_seen_at=timezone.now())
    record_smart(host, reply(disk(hdd(pending))), "b", timezone.now())
    return PhysicalDisk.objects.get(host=host)


def page(client: Client, of: PhysicalDisk) -> str:
    response = client.get(address(of))
    assert response.status_code == 200
    return response.content.decode()


def address(of: PhysicalDisk, what: str = "host-disk") -> str:
    return reverse(what, args=[of.host.key, of.key])


def test_the_page_shows_what_a_disk_says_and_how_its_errors_rose(admin: Client) -> None:
    of = read(0)
    read(3, of.host)
    text = page(admin, of)
    assert "ST8000NM000A-2KE101" in text and "3 pending sectors." in text
    assert "Accept the errors" in text and "Undo the last change" not in text


def test_a_disk_without_new_errors_has_none_to_accept(admin: Client) -> None:
    assert "Accept the errors" not in page(admin, read(3))


def test_errors_are_accepted_with_a_reason_and_the_page_says_by_whom(admin: Client) -> None:
    of = read(0)
    read(3, of.host)
    refused = admin.post(address(of, "host-disk-accept"), {"reason": ""})
    assert refused.status_code == 422 and "Enter a reason" in refused.content.decode()
    admin.post(address(of, "host-disk-accept"), {"reason": "A power cut"})
    text = page(admin, of)
    assert "by ada@example.com: A power cut" in text
    assert "3 pending sectors more" not in text
    assert "accepted reason: - → A power cut" in text


def test_what_was_accepted_is_undone_by_the_button_below(admin: Client) -> None:
    of = read(0)
    read(3, of.host)
    admin.post(address(of, "host-disk-accept"), {"reason": "A power cut"})
    found = admin.get(address(of))
    admin.post(address(of, "host-disk-undo"), {"change": found.context["last_change"]})
    assert "3 pending sectors." in page(admin, of)
    stale = admin.post(address(of, "host-disk-undo"), {"change": found.context["last_change"]})
    assert stale.status_code == 422 and "changed again" in stale.content.decode()


def test_a_disk_that_is_gone_is_listed_until_its_loss_is_accepted(admin: Client) -> None:
    host = scene(make.lv()).host
    of, stays = read(3, host), disk(dom(1), "sdb")
    record_smart(host, reply(stays), "b", timezone.now())
    tab = reverse("host-disks", args=[host.key])
    assert address(of) in admin.get(tab).content.decode()
    text = page(admin, of)
    assert "The disk has been gone since" in text and "Accept that it is gone" in text
    admin.post(address(of, "host-disk-accept"), {"reason": "Sold"})
    text = page(admin, of)
    assert "Accept that it is gone" not in text and "Errors and loss accepted" in text
    assert address(of) not in admin.get(tab).content.decode()


def test_errors_accepted_before_a_disk_is_lost_are_no_accepted_loss(admin: Client) -> None:
    host = scene(make.lv()).host
    of, stays = read(0, host), disk(dom(1), "sdb")
    read(3, host)
    admin.post(address(of, "host-disk-accept"), {"reason": "A power cut"})
    record_smart(host, reply(stays), "b", timezone.now())
    text = page(admin, of)
    assert "Errors accepted" in text and "Errors and loss" not in text
    assert "Accept that it is gone" in text
    admin.post(address(of, "host-disk-accept"), {"reason": "Sold"})
    assert "Errors and loss accepted" in page(admin, of)


def test_unit_and_endurance_are_entered_and_forgotten(admin: Client) -> None:
    host = make.host(last_seen_at=timezone.now())
    record_smart(host, reply(disk(dom(50_000))), "b", timezone.now())
    of = PhysicalDisk.objects.get(host=host)
    admin.post(address(of, "host-disk-enter"), {"unit_bytes": 1 << 20, "rated_tb": "70.5"})
    of.refresh_from_db()
    assert (of.entered_unit_bytes, of.entered_rated_bytes) == (1 << 20, 70_500_000_000_000)
    text = page(admin, of)
    assert "An operator entered this unit" in text and 'value="70.5"' in text
    admin.post(address(of, "host-disk-enter"), {"unit_bytes": "", "rated_tb": ""})
    of.refresh_from_db()
    assert (of.entered_unit_bytes, of.entered_rated_bytes) == (None, None)
    odd = admin.post(address(of, "host-disk-enter"), {"unit_bytes": "7", "rated_tb": "-1"})
    assert odd.status_code == 422


def test_a_unit_that_a_program_entered_can_be_kept(admin: Client) -> None:
    of = read(0)
    PhysicalDisk.objects.update(entered_unit_bytes=8192)
    assert "8192 bytes" in page(admin, of)
    admin.post(address(of, "host-disk-enter"), {"unit_bytes": "8192", "rated_tb": ""})
    of.refresh_from_db()
    assert of.entered_unit_bytes == 8192


def test_a_self_test_is_asked_for_and_shown_with_who_asked(admin: Client) -> None:
    of = read(0)
    admin.post(address(of, "host-disk-test"), {"kind": "long"})
    text = page(admin, of)
    assert "Long self-test" in text and "waiting for the host" in text
    assert "ada@example.com" in text and "One test at a time." in text
    refused = admin.post(address(of, "host-disk-test"), {"kind": "short"})
    assert refused.status_code == 422 and "has not ended" in refused.content.decode()


def test_a_sleeping_disk_is_not_tested(admin: Client) -> None:
    of = read(0)
    PhysicalDisk.objects.update(state="standby")
    refused = admin.post(address(of, "host-disk-test"), {"kind": "short"})
    assert refused.status_code == 422 and "asleep" in refused.content.decode()


def test_who_writes_to_an_ssd_is_shown_for_the_time_that_is_chosen(admin: Client) -> None:
    there = scene(make.lv(), disks=(make.disk("sda", rotational=False, serial="D1"),))
    record_smart(there.host, reply(disk(dom(50_000))), "b", timezone.now())
    of = PhysicalDisk.objects.get(host=there.host)
    text = admin.get(address(of), {"writers": "7d"}).content.decode()
    assert "Who writes to it" in text and "No volume wrote to this SSD in this period." in text
    assert 'href="?writers=7d#writers" aria-current="true"' in on_one_line(text)
    assert "Who writes to it" not in page(admin, read(0)), "an HDD wears not by writing"


def test_an_array_shows_its_rebuild_its_spares_and_what_to_type(admin: Client) -> None:
    members = (ArrayMember("sda", "in_sync", "0"), ArrayMember("sdb", "spare", "1"),
               ArrayMember("sdz", "spare", "none"))  # fmt: skip
    rebuilt = make.array(
        degraded_count=1, sync_action="recover", members=members, sync_speed_kib=102_400,
        sync_done_sectors=2_048_000, sync_total_sectors=4_096_000,
    )  # fmt: skip
    host = scene(make.lv(), arrays=(rebuilt,)).host
    text = admin.get(reverse("host-disks", args=[host.key])).content.decode()
    assert "being rebuilt: 50\xa0%, 100\xa0MiB/s, about 10\xa0s left" in text
    assert "spare: sdz" in text and "Check md0" not in text
    broken = scene(make.lv(), arrays=(make.array(degraded_count=1),)).host
    text = admin.get(reverse("host-disks", args=[broken.key])).content.decode()
    assert "mdadm --manage /dev/md0 --add /dev/NEW" in text


def test_a_guests_array_that_was_started_on_the_host_is_only_to_be_stopped(admin: Client) -> None:
    volume = make.lv(tags=make.tags("aaaaaaaabbbbbbbb"), kname="dm-7")
    guests = make.array(name="md127", degraded_count=1, members=(ArrayMember("dm-7", "in_sync"),))
    host = scene(volume, arrays=(guests,)).host
    text = admin.get(reverse("host-disks", args=[host.key])).content.decode()
    assert "mdadm --stop /dev/md127" in text
    assert "--add" not in text and "Check md127" not in text


def test_a_check_of_an_array_is_asked_for_on_the_tab_and_shown_there(admin: Client) -> None:
    host = scene(make.lv(), arrays=(make.array(),)).host
    tab = reverse("host-disks", args=[host.key])
    assert "Check md0" in admin.get(tab).content.decode()
    admin.post(reverse("host-array-check", args=[host.key, "md0"]))
    text = admin.get(tab).content.decode()
    assert "waiting for the host" in text and "Check md0" not in text
    assert admin.post(reverse("host-array-check", args=[host.key, "md9"])).status_code == 404


def test_operators_look_at_a_disk_and_change_nothing(client: Client) -> None:
    client.force_login(make.staff_user(staff_role="operator"))
    of = read(0)
    assert "Requires the admin role." in page(client, of)
    assert client.post(address(of, "host-disk-enter"), {}).status_code == 403


def test_a_disk_of_another_host_is_none_of_this_one(admin: Client) -> None:
    of, other = read(0), read(0)
    assert admin.get(reverse("host-disk", args=[other.host.key, of.key])).status_code == 404


def test_the_trail_of_everything_has_what_people_decided(admin: Client) -> None:
    of = read(0)
    admin.post(address(of, "host-disk-enter"), {"unit_bytes": "", "rated_tb": "5"})
    text = admin.get(reverse("trail"), {"kind": "change"}).content.decode()
    assert "entered rated: - → 4.5\xa0TiB" in text and address(of) in text
