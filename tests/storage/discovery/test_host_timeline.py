"""What differs between two answers of a host is a row of its time line, once."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest

from storage.discovery import host_timeline
from storage.discovery.ingest import apply_facts, apply_hello
from storage.inventory.facts import Disk
from storage.metrics.samples.window import kept
from storage.models import Host, HostChange
from tests import make

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 21, 4, 0, tzinfo=dt.UTC)
HELLO = {
    "agent": "0.9",
    "boot_id": "one",
    "kernel": "6.1.0-37-amd64",
    "kernel_version": "#1 SMP Debian 6.1.140-1 (2025-05-22)",
    "lvm2": "2.03.16",
    "bcache_tools": "1.0.8-4",
}
Row = tuple[str, str, str, str]


def says(host: Host, minutes: float = 0, **fields: Any) -> None:
    apply_hello(host, {**HELLO, **fields}, [], NOW + dt.timedelta(minutes=minutes))


def rows(host: Host) -> list[Row]:
    listed = HostChange.objects.filter(host=host).order_by("at", "pk")
    return list(listed.values_list("kind", "subject", "before", "after"))


def disk(name: str, serial: str, **fields: Any) -> Disk:
    made = Disk(name, "8:0", 1 << 40, True, "ST1", serial, "sata", 512, False)
    return dataclasses.replace(made, **fields)


def has(host: Host, minutes: float, *disks: Disk) -> None:
    at = NOW + dt.timedelta(minutes=minutes)
    apply_facts(host, make.inventory(make.facts(disks=disks)), at)


def test_the_first_answer_is_no_change_and_the_same_one_neither() -> None:
    host = make.host(hello={})
    says(host)
    says(host, 5)
    has(host, 5, disk("sda", "A"))
    has(host, 10, disk("sda", "A"))
    assert rows(host) == []


def test_a_restart_is_one_row_however_often_the_host_answers_after_it() -> None:
    host = make.host(hello={})
    for minutes, boot in ((0, "one"), (5, "two"), (10, "two"), (15, "two")):
        says(host, minutes, boot_id=boot)
    assert rows(host) == [("boot", "", "", "6.1.0-37-amd64 (6.1.140)")]
    assert HostChange.objects.get().at == NOW + dt.timedelta(minutes=5)


def test_a_restart_into_another_kernel_is_one_row_of_the_kernel() -> None:
    host = make.host(hello={})
    says(host)
    says(host, 5, boot_id="two", kernel="6.12.57+deb13-amd64", kernel_version="#1 Debian 6.12.57-1")
    assert rows(host) == [("kernel", "", "6.1.0-37-amd64 (6.1.140)", "6.12.57+deb13-amd64")]


def test_another_build_under_the_same_name_is_another_kernel() -> None:
    host = make.host(hello={})
    says(host)
    says(host, 5, boot_id="two", kernel_version="#1 SMP Debian 6.1.147-1 (2025-08-02)")
    assert rows(host) == [("kernel", "", "6.1.0-37-amd64 (6.1.140)", "6.1.0-37-amd64 (6.1.147)")]


def test_versions_that_change_are_rows_each() -> None:
    host = make.host(hello={})
    says(host)
    says(host, 5, agent="1.0", lvm2="2.03.31", bcache_tools="1.1-2")
    assert rows(host) == [
        ("agent", "", "0.9", "1.0"),
        ("lvm", "", "2.03.16", "2.03.31"),
        ("bcache_tools", "", "1.0.8-4", "1.1-2"),
    ]


@pytest.mark.parametrize("value", ["", None, 7, ["6.1"]])
def test_what_an_answer_leaves_out_is_no_change(value: object) -> None:
    host = make.host(hello={})
    says(host)
    says(host, 5, **dict.fromkeys(HELLO, value))
    assert rows(host) == []


def test_an_agent_that_learns_to_say_more_is_no_other_kernel() -> None:
    host = make.host(hello={})
    says(host, kernel_version="")
    says(host, 5)
    assert rows(host) == []


def test_disks_come_go_and_change_by_their_serial_numbers() -> None:
    host = make.host(hello={})
    has(host, 0, disk("sda", "A"), disk("sdb", "B"))
    # The kernel's names may change at each restart.
    has(host, 5, disk("sdb", "A"), disk("sda", "B"))
    assert rows(host) == []
    has(host, 10, disk("sda", "A"), disk("sdc", "C", model="SSD", size_bytes=1 << 30))
    has(host, 90, disk("sda", "A", size_bytes=2 << 40), disk("sdc", "C", model="SSD"))
    assert rows(host) == [
        ("disk_gone", "B", "ST1 1 TiB", ""),
        ("disk_added", "C", "", "SSD 1 GiB"),
        ("disk_changed", "A", "ST1 1 TiB", "ST1 2 TiB"),
        ("disk_changed", "C", "SSD 1 GiB", "SSD 1 TiB"),
    ]


def test_another_io_scheduler_is_a_row_and_one_that_was_not_reported_before_is_none() -> None:
    host = make.host(hello={})
    has(host, 0, disk("sda", "A"))
    has(host, 5, disk("sda", "A", scheduler="mq-deadline"))
    assert rows(host) == []
    has(host, 90, disk("sda", "A", scheduler="bfq"))
    assert rows(host) == [
        ("disk_changed", "A", "I/O scheduler mq-deadline", "I/O scheduler bfq"),
    ]


def test_a_host_that_lists_no_disk_at_all_did_not_say() -> None:
    host = make.host(hello={})
    has(host, 0, disk("sda", "A"))
    has(host, 5)
    has(host, 10, disk("sda", "A"))
    assert rows(host) == []


def test_a_disk_that_flaps_is_no_flood() -> None:
    host = make.host(hello={})
    both = disk("sda", "A"), disk("sdb", "B")
    for round_no in range(24):
        has(host, 5 * round_no, *both[: 2 - round_no % 2])
    assert HostChange.objects.filter(host=host).count() <= 4
    assert sum(HostChange.objects.values_list("count", flat=True)) == 23


def test_a_kernel_that_flaps_is_no_flood() -> None:
    host = make.host(hello={})
    for round_no in range(13):
        says(host, 5 * round_no, kernel=f"6.{round_no % 2}.4")
    assert HostChange.objects.count() <= 2


def test_text_of_the_host_is_cut_and_storable() -> None:
    host = make.host(hello={})
    says(host)
    says(host, 5, agent="\0\ud800" + "x" * 5000)
    (row,) = rows(host)
    assert len(row[3]) == 200


def test_the_time_line_is_kept_as_long_as_samples() -> None:
    host = make.host(hello={})
    says(host)
    says(host, 5, boot_id="two")
    host_timeline.prune_timeline(NOW + kept())
    assert len(rows(host)) == 1
    host_timeline.prune_timeline(NOW + kept() + dt.timedelta(minutes=6))
    assert rows(host) == []
