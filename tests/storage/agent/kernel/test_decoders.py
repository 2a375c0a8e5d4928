"""Decoders of what LVM, device-mapper, bcache and the kernel print."""

from __future__ import annotations

import json

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.kernel import bcache_sysfs, dm, lvm, stats
from storage.agent.kernel.diskstats import diskstats
from storage.agent.kernel.local_host import CommandResult

STATUS = (
    "8 72/3072 128 4096/4096 1204 331 900 21 12 4108 37 2 metadata2 writeback "
    "2 migration_threshold 16384 smq 0 rw -"
)


def test_a_cache_status_is_read_field_by_field() -> None:
    found = dm.parse_cache(STATUS)
    assert (found.metadata_used, found.metadata_total) == (72, 3072)
    assert (found.chunk_sectors, found.used, found.total) == (128, 4096, 4096)
    assert (found.read_hits, found.read_misses, found.write_hits, found.write_misses) == (
        1204,
        331,
        900,
        21,
    )
    assert (found.demotions, found.promotions, found.dirty) == (12, 4108, 37)
    assert (found.mode, found.policy, found.migration_threshold) == ("writeback", "smq", 16384)
    assert (found.read_only, found.needs_check, found.failed) == (False, False, False)


def test_features_core_and_policy_arguments_may_vary_in_number() -> None:
    found = dm.parse_cache(
        "8 1/10 64 2/20 1 2 3 4 5 6 7 3 metadata2 writethrough no_discard_passdown "
        "0 mq 4 random_threshold 4 sequential_threshold 512 ro needs_check"
    )
    assert (found.mode, found.policy, found.migration_threshold) == ("writethrough", "mq", None)
    assert (found.read_only, found.needs_check) == (True, True)


@pytest.mark.parametrize("rest", ["Fail", "Error", "", "8 x/y z"])
def test_a_status_without_figures_is_a_failed_cache(rest: str) -> None:
    assert dm.parse_cache(rest).failed


def test_a_dm_uuid_becomes_the_dashed_form_of_lvm() -> None:
    assert dm.dashed("m2HgF4js5tX0qTeAMcQICmfqK10GIeGU") == "m2HgF4-js5t-X0qT-eAMc-QICm-fqK1-0GIeGU"


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("0", 0),
        ("0.0k", 0),
        ("0.5k", 512),
        ("4.0M", 4 << 20),
        ("1.2G", (1 << 30) + (2 << 30) // 10),
        ("512", 512),
        ("nonsense", 0),
    ],
)
def test_the_kernels_human_sizes_are_bytes(value: str, size: int) -> None:
    assert bcache_sysfs.human(value) == size


def test_the_chosen_word_is_in_brackets() -> None:
    assert bcache_sysfs.chosen("writethrough [writeback] writearound none") == "writeback"


def test_rows_are_found_behind_an_advisory_on_stdout() -> None:
    report = json.dumps({"report": [{"vg": [{"vg_name": "vg0", "vg_tags": "a,b"}]}]})
    advisory = "  Consider pruning vg0 VG archive with more then 8 MiB in 8129 files.\n"
    found = lvm.rows(CommandResult(0, advisory + report + "\n  bye\n"), "vg", ["lvm", "fullreport"])
    assert found == ({"vg_name": "vg0", "vg_tags": "a,b"},)


def test_the_report_descriptor_wins_over_stdout() -> None:
    report = json.dumps({"report": [{"vg": []}]})
    assert lvm.rows(CommandResult(0, "noise", report=report), "vg", ["lvm", "fullreport"]) == ()


def test_null_numbers_and_lists_of_newer_releases_are_read_alike() -> None:
    row = {"lv_tags": ["a", "b"], "lv_kernel_minor": 4, "pool_lv": None}
    report = json.dumps({"report": [{"lv": [row]}]})
    found = lvm.rows(CommandResult(0, report), "lv", ["lvm", "fullreport"])
    assert found == ({"lv_tags": "a,b", "lv_kernel_minor": "4", "pool_lv": ""},)


def test_rows_of_all_volume_groups_and_of_unused_pvs_are_one_list() -> None:
    parts = [{"pv": [{"pv_name": "/dev/sda"}], "seg": []}, {"pv": [{"pv_name": "/dev/sdb"}]}]
    found = lvm.rows(CommandResult(0, json.dumps({"report": parts})), "pv", ["lvm", "fullreport"])
    assert [row["pv_name"] for row in found] == ["/dev/sda", "/dev/sdb"]


@pytest.mark.parametrize("text", ["", "no json", "{", '{"report":3}', '{"report":[{"lv":3}]}'])
def test_an_unreadable_report_is_an_error_and_not_an_empty_host(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        lvm.rows(CommandResult(0, text), "lv", ["lvm", "fullreport"])
    assert refused.value.code == "cmd_failed"


def test_diskstats_of_an_older_kernel_are_filled_with_zeros() -> None:
    found = diskstats("   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n")
    assert found == {"sda": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0, 0, 0, 0, 0]}


def test_diskstats_of_some_devices_are_theirs_alone() -> None:
    lines = [f" 253 {n} dm-{n} {n} 2 3 4 5 6 7 8 9 10 11\n" for n in range(3)]
    assert list(diskstats("".join(lines), {"dm-1", "dm-7"})) == ["dm-1"]


@pytest.mark.parametrize(
    ("name", "layer", "visible"),
    [
        ("vg0-v--abcdefgh", "", True),
        ("vg0-a+b.c_d", "", True),
        ("vg0-my_cdata_copy", "", False),
        ("vg0-mirror_rimage_0", "", False),
        ("x_rimage_0-web", "", True),
        ("vg0-v--abcdefgh_corig", "real", False),
    ],
)
def test_public_volumes_are_distinguished_without_lvm(name: str, layer: str, visible: bool) -> None:
    assert dm.visible(dm.DmDevice("dm-0", name, "", "", layer, False)) is visible


def test_a_histogram_is_the_last_word_of_a_region() -> None:
    answer = "0+2097152 1 0 8 9 1 0 8 9 0 9 9 9 9 0:1:6:4:7:10:5:3:2:1:4:2:0:0\n"
    assert stats.parse_histogram(answer, 14) == (0, 1, 6, 4, 7, 10, 5, 3, 2, 1, 4, 2, 0, 0)
    assert stats.parse_histogram("0+2097152 1 0 8 9 1 0 8 9 0 9 9 9 9\n", 14) is None
    assert stats.parse_histogram("0+8 1:2\n", 14) is None


def test_a_region_counts_reads_apart_from_writes_in_nanoseconds() -> None:
    answer = "0+2097152 17 0 136 1234567 5 0 40 7654321 0 9 9 9 9 0:1:6:4:7:10:5:3:2:1:4:2:0:0\n"
    assert stats.directions(answer) == {
        "reads": 17, "read_ns": 1_234_567, "writes": 5, "write_ns": 7_654_321,
    }  # fmt: skip
