"""The card of a host's disks: wear, errors, temperature, and when an SSD is worn out."""

from __future__ import annotations

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from storage.discovery.ingest import apply_facts
from storage.health.smart_records import accept_errors, record_smart
from storage.inventory.facts import ArrayMember
from storage.models import Host, PhysicalDisk
from tests import make
from tests.one_line import on_one_line
from tests.smart_disks import ata, attribute, nvme
from tests.storage.health.test_smart_records import disk, reply

pytestmark = pytest.mark.django_db
TB = 10**12


@pytest.fixture
def host() -> Host:
    made = make.host(last_seen_at=timezone.now())
    apply_facts(made, make.inventory(make.facts(make.lv("v001"))), timezone.now())
    made.refresh_from_db()
    return made


def card(client: Client, host: Host) -> str:
    client.force_login(make.staff_user())
    response = client.get(reverse("host-disks", args=[host.key]))
    assert response.status_code == 200
    text = response.content.decode()
    return text[text.index('id="disks"') :].partition("</section>")[0]


def lines(text: str) -> list[str]:
    """The rows of the table's body."""
    return text.partition("<tbody>")[2].split("</tr>")[:-1]


def built(*members: ArrayMember, degraded: int = 0) -> Host:
    """A host whose array has these members, each a disk."""
    disks = tuple(make.disk(each.name, serial="") for each in members)
    array = make.array(members=members, degraded_count=degraded)
    made = make.host(last_seen_at=timezone.now())
    apply_facts(made, make.inventory(make.facts(disks=disks, arrays=(array,))), timezone.now())
    made.refresh_from_db()
    return made


def read(host: Host, *documents: Any, days_ago: int = 0, **more: Any) -> None:
    disks = [disk(each, f"sd{letter}") for letter, each in zip("xyz", documents, strict=False)]
    record_smart(host, reply(*disks, **more), "b", timezone.now() - timedelta(days=days_ago))


def test_a_host_that_was_not_asked_says_so(client: Client, host: Host) -> None:
    assert "read for the first time within 5 minutes" in card(client, host)


def test_a_host_without_smartctl_says_what_to_do(client: Client, host: Host) -> None:
    read(host, installed=False)
    assert "Install smartmontools" in card(client, host)


def test_wear_and_the_forecast_with_its_assumption(client: Client, host: Host) -> None:
    model = "Samsung SSD 970 EVO Plus 250GB"
    for days_ago, written in ((20, 100 * TB), (0, 120 * TB)):
        document = nvme(model, "N1", units_written=written // 512_000, percentage_used=40)
        read(host, document, days_ago=days_ago)
    text = card(client, host)
    ends = timezone.now() + timedelta(days=30)
    assert "40&nbsp;%" in text and f"worn out about {ends:%Y-%m-%d}" in text
    assert "If 931\xa0GiB a day are written as in the last 20 days" in text
    assert "35 °C" in text and "look at it" in text


def test_a_unit_that_is_not_known_is_said(client: Client, host: Host) -> None:
    read(host, ata("SuperMicro SSD", "D1", [attribute(241, "Total_LBAs_Written", 50_000)]))
    text = card(client, host)
    assert "unit unknown" in text and "by firmware: it must be measured" in text


def test_a_rise_of_errors_is_shown_with_what_to_do(client: Client, host: Host) -> None:
    for days_ago, errors in ((1, 1), (0, 3)):
        rows = [attribute(199, "UDMA_CRC_Error_Count", errors)]
        read(host, ata("ST8000", "H1", rows, rotation_rpm=7200), days_ago=days_ago)
    text = card(client, host)
    assert "2 transfer errors more, 3 in all" in text and "Check the cable" in text
    assert "3 transfer errors" in text


def test_a_sleeping_disk_keeps_its_last_figures(client: Client, host: Host) -> None:
    read(host, ata("ST8000", "H1", [], rotation_rpm=7200), days_ago=1)
    record_smart(host, reply(disk(None, "sdx", state="standby")), "b", timezone.now())
    text = card(client, host)
    assert "asleep, not woken" in text and "ST8000" in text and "30 °C" in text


def test_what_a_disk_says_is_only_text(client: Client, host: Host) -> None:
    read(host, nvme("<script>alert(1)</script>", "<b>"))
    text = card(client, host)
    assert "<script>" not in text and "&lt;script&gt;" in text


def test_a_disk_that_is_gone_is_shown_until_its_loss_is_accepted(
    client: Client, host: Host
) -> None:
    read(host, nvme("M", "N1"), nvme("M", "N2"), days_ago=1)
    read(host, nvme("M", "N1"))
    text = card(client, host)
    assert "N2" in text and "The disk has been gone since" in text
    gone = PhysicalDisk.objects.get(identity="M N2")
    accept_errors(gone, "ada@example.com", "sold", timezone.now())
    assert "N2" not in card(client, host)


def test_a_disk_has_one_row_with_what_the_array_and_the_disk_say(client: Client) -> None:
    host = built(*(ArrayMember(f"sd{letter}", "in_sync") for letter in "xy"))
    read(host, ata("ST8000", "H1", [], passed=False), ata("ST8000", "H2", []))
    text = card(client, host)
    failing, good = lines(text)
    assert "In its array" in text and text.count(">Health</th>") == 1 and ">Kind</th>" not in text
    assert "sdx" in failing and "in sync" in failing and "failing" in failing
    # The kernel calls both rotating; the host's policy calls the array fast.
    assert 'class="row-error"' in failing and "SSD" in failing and "100\xa0GiB" in failing
    assert "sdy" in good and "in sync" in good and ">good<" in good and 'class="row-' not in good


def test_a_disk_that_says_it_is_well_takes_the_colour_of_its_array(client: Client) -> None:
    host = built(ArrayMember("sdx", "faulty"), ArrayMember("sdy", "in_sync"), degraded=1)
    read(host, ata("ST8000", "H1", []), ata("ST8000", "H2", []))
    failed, other = lines(card(client, host))
    assert 'class="row-error"' in failed and ">failed<" in failed and ">good<" in failed
    assert 'class="row-warning"' in other and "its array is degraded" in other


def test_disks_that_only_one_side_knows_have_a_row_each(client: Client) -> None:
    host = built(ArrayMember("sda", "in_sync"))
    read(host, ata("ST8000", "H1", []))
    known, behind = lines(card(client, host))
    assert "sda" in known and "in sync" in known
    assert 'data-label="Health"> - <' in on_one_line(known)
    assert "/dev/sdx" in behind
    assert 'data-label="In its array"> - <' in on_one_line(behind)


def test_a_host_without_readings_has_no_empty_columns(client: Client) -> None:
    text = card(client, built(ArrayMember("sda", "in_sync")))
    assert ">Kind</th>" in text and "In its array" in text and "serial" in text
    for column in ("Health", "Wear", "Errors", "Temperature"):
        assert f">{column}</th>" not in text, column


def commands(client: Client, host: Host) -> list[str]:
    client.force_login(make.staff_user())
    text = client.get(reverse("host-disks", args=[host.key])).content.decode()
    if "On the host:" not in text:
        return []
    code = text.partition("On the host:")[2].partition("<code>")[2].partition("</code>")[0]
    return unescape(code).strip().splitlines()


def with_disks(host: Host, *names: str, **array: Any) -> Host:
    """The host's inventory anew: these disks, and md0 of the first two."""
    members = array.pop("members")
    disks = tuple(make.disk(name, serial=f"serial of {name}") for name in names)
    facts = make.facts(disks=disks, arrays=(make.array(members=members, **array),))
    apply_facts(host, make.inventory(facts), timezone.now())
    host.refresh_from_db()
    return host


MD0 = "mdadm --manage /dev/md0"


def test_a_failed_member_is_removed_and_the_one_free_disk_added(client: Client) -> None:
    members = (ArrayMember("sdx", "in_sync", "0"), ArrayMember("sdy", "faulty", "none"))
    host = with_disks(make.host(), "sdx", "sdy", "sdz", members=members, degraded_count=1)
    assert commands(client, host) == [f"{MD0} --remove /dev/sdy", f"{MD0} --add /dev/sdz"]
    with_disks(host, "sdx", "sdy", members=members, degraded_count=1)
    assert commands(client, host)[1] == f"{MD0} --add /dev/NEW", "no disk is free"
    with_disks(host, "sdx", members=members, degraded_count=1)
    assert commands(client, host)[0] == f"{MD0} --remove detached", "it was pulled out"


def test_a_spare_takes_the_place_by_itself(client: Client) -> None:
    members = (
        ArrayMember("sdx", "in_sync", "0"),
        ArrayMember("sdy", "faulty", "none"),
        ArrayMember("sdz", "spare", "1"),
    )
    host = with_disks(
        make.host(), "sdx", "sdy", "sdz",
        members=members, degraded_count=1, sync_action="recover",
    )  # fmt: skip
    assert commands(client, host) == [f"{MD0} --remove /dev/sdy"]


def test_partitions_are_made_on_the_new_disk_first(client: Client) -> None:
    members = (ArrayMember("sdx2", "in_sync", "0"), ArrayMember("sdy2", "faulty", "none"))
    host = with_disks(make.host(), "sdx", "sdy", "nvme0n1", members=members, degraded_count=1)
    assert commands(client, host) == [
        f"{MD0} --remove /dev/sdy2",
        "sfdisk -d /dev/sdx | sfdisk /dev/nvme0n1  # wipes /dev/nvme0n1",
        f"{MD0} --add /dev/nvme0n1p2",
    ]


def test_a_failing_member_is_replaced_while_the_array_stays_whole(client: Client) -> None:
    members = (ArrayMember("sdx", "in_sync", "0"), ArrayMember("sdy", "in_sync", "1"))
    host = with_disks(make.host(), "sdx", "sdy", "sdz", members=members)
    assert commands(client, host) == []
    read(host, ata("HDD", "serial of sdx", []), ata("HDD", "serial of sdy", [], passed=False))
    assert commands(client, host) == [
        f"{MD0} --add /dev/sdz",
        f"{MD0} --replace /dev/sdy --with /dev/sdz",
        "mdadm --wait /dev/md0  # until it is rebuilt",
        f"{MD0} --remove /dev/sdy",
    ]


def test_what_is_no_name_of_a_device_is_in_no_command(client: Client) -> None:
    members = (ArrayMember("sdx;reboot", "faulty", "0"), ArrayMember("sdy", "in_sync", "1"))
    host = with_disks(make.host(), "sdy", members=members, degraded_count=1)
    assert commands(client, host) == []
