from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.agent.commands.free_space import pool_overhead
from storage.byte_sizes import GIB, MIB
from storage.planner.lvm_sizes import choose, keep, pool_bytes, pool_metadata_bytes, round_up
from storage.planner.technologies.lookup import volume_bytes
from tests import make

EXTENT = 4 * MIB


@given(st.integers(1, 2**60), st.sampled_from([64 * 1024, MIB, EXTENT, 6 * MIB]))
def test_sizes_are_rounded_up_to_whole_extents(size_bytes: int, extent_bytes: int) -> None:
    rounded = round_up(size_bytes, extent_bytes)
    assert rounded % extent_bytes == 0
    assert 0 <= rounded - size_bytes < extent_bytes


def test_a_bcache_ready_volume_is_larger_by_its_superblock_and_padding() -> None:
    assert volume_bytes(8 * GIB, "plain", EXTENT) == 8 * GIB
    assert volume_bytes(8 * GIB, "bcache", EXTENT) == 8 * GIB + 4 * MIB
    assert volume_bytes(8 * GIB + 1, "plain", EXTENT) == 8 * GIB + EXTENT


@pytest.mark.parametrize(
    ("size_bytes", "chunk_kib", "metadata_bytes"),
    [(64 * MIB, 64, 8 * MIB), (2 * GIB, 64, 8 * MIB), (10 * GIB, 64, 12 * MIB)],
)
def test_pool_metadata_is_4_mib_and_44_bytes_a_chunk(
    size_bytes: int, chunk_kib: int, metadata_bytes: int
) -> None:
    assert pool_metadata_bytes(size_bytes, chunk_kib, EXTENT) == metadata_bytes


def test_the_first_pool_of_a_group_pays_for_the_spare_metadata_too() -> None:
    assert pool_bytes(2 * GIB, 64, EXTENT, 0) == 2 * GIB + 8 * MIB + 8 * MIB
    assert pool_bytes(2 * GIB, 64, EXTENT, 4 * MIB) == 2 * GIB + 8 * MIB + 4 * MIB
    assert pool_bytes(2 * GIB, 64, EXTENT, 12 * MIB) == 2 * GIB + 8 * MIB


@given(st.integers(16, 10**6), st.sampled_from([64, 96, 128, 256]), st.integers(0, 20))
def test_the_agent_never_wants_more_room_than_the_plan_counted(
    extents: int, chunk_kib: int, spare_extents: int
) -> None:
    size_bytes, spare_bytes = extents * EXTENT, spare_extents * EXTENT
    planned = pool_bytes(size_bytes, chunk_kib, EXTENT, spare_bytes)
    wanted = size_bytes + pool_overhead(size_bytes, chunk_kib * 1024, EXTENT, spare_bytes)
    assert wanted <= planned <= wanted + 2 * EXTENT


def test_the_emptiest_disk_that_suffices_is_chosen() -> None:
    disks = [make.pv("sdc", free_bytes=2 * GIB), make.pv("sdd", free_bytes=3 * GIB)]
    assert choose(disks, GIB) == ("sdd",)


def test_all_disks_are_chosen_where_one_is_too_small() -> None:
    disks = [make.pv("sdc", free_bytes=2 * GIB), make.pv("sdd", free_bytes=3 * GIB)]
    assert choose(disks, 5 * GIB) == ("sdd", "sdc")
    assert choose(disks, 5 * GIB + 1) == ()


def test_missing_and_duplicate_disks_are_never_chosen() -> None:
    disks = [make.pv("sdc", missing=True), make.pv("sdd", duplicate=True)]
    assert choose(disks, EXTENT) == ()
    assert choose([], EXTENT) == ()


def test_a_full_disk_is_not_named_beside_one_with_room() -> None:
    disks = [
        make.pv("sda", free_bytes=0),
        make.pv("sdb", free_bytes=GIB),
        make.pv("sdc", free_bytes=GIB),
    ]
    assert choose(disks, 2 * GIB) == ("sdb", "sdc")


def test_disks_that_were_chosen_are_kept_while_they_suffice() -> None:
    disks = [make.pv("sdc", free_bytes=2 * GIB), make.pv("sdd", free_bytes=3 * GIB)]
    assert keep(disks, 2 * GIB, ["sdc"]) == ("sdc",)
    assert keep(disks, 2 * GIB + 1, ["sdc"]) == ()
    assert keep(disks, 5 * GIB, ["sdc", "sdd"]) == ("sdc", "sdd")
    assert keep(disks, GIB, []) == keep(disks, GIB, ["sde"]) == keep(disks, GIB, ["sdd", "sde"])
    assert keep(disks, GIB, []) == ()


@pytest.mark.parametrize(
    "unfit", [{"missing": True}, {"duplicate": True}, {"healthy": False}, {"free_bytes": 0}]
)
def test_a_disk_that_is_unfit_now_is_not_kept(unfit: dict[str, Any]) -> None:
    disks = [make.pv("sdc", **unfit), make.pv("sdd")]
    assert keep(disks, GIB, ["sdc"]) == keep(disks, GIB, ["sdd", "sdc"]) == ()
