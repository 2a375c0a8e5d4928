"""Which disk a member of an array is."""

from __future__ import annotations

import pytest

from storage.inventory.member_disks import connected


@pytest.mark.parametrize(
    ("member", "disk"),
    [("sdb", "sdb"), ("sdb3", "sdb"), ("nvme0n1", "nvme0n1"), ("nvme0n1p3", "nvme0n1")],
)
def test_a_member_is_a_disk_or_a_partition_of_one(member: str, disk: str) -> None:
    assert connected([member], {disk: "ST4000, ZC1"}) == {member: f"{member} (ST4000, ZC1)"}


def test_a_disk_without_model_and_serial_has_its_name_alone() -> None:
    assert connected(["sdb"], {"sdb": ""}) == {"sdb": "sdb"}


def test_a_disk_that_was_pulled_is_not_connected() -> None:
    assert connected(["sdb1"], {"sda": "ST4000, ZC1"}) == {}
