"""What the host does not say, or says by a word that no table has, is not well."""

from __future__ import annotations

from typing import Any

import pytest

from storage.health.restart_checks import before_restart
from storage.inventory.disk_list import devices_of
from storage.inventory.facts import BareBacking
from tests import make
from tests.reported.host import Seen
from tests.reported.test_bcache_states import SET
from tests.reported.test_disk_answers import log_of
from tests.reported.test_lvm_states import cached, layers, thin_pool
from tests.reported.test_md_states import host as md_host
from tests.smart_disks import ata, nvme, sas
from tests.storage.health.test_smart_findings import codes


def restart(facts: Any) -> str:
    """What keeps caches from being known clean before a restart."""
    point = before_restart({"boot": {"unit": True}}, facts, (), 0)[0]
    return "" if point.is_well else f"{point.text} {point.correction}"


# --- Arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("in_sync,write_error", "write error"),
        ("in_sync,write_error,want_replacement", "write error"),
        ("in_sync,blocked", "blocked"),
        ("in_sync,dreaming", "dreaming"),
        ("spare,blocked", "blocked"),
        ("want_replacement", "want replacement"),
        ("", "in an unknown state"),
    ],
)
def test_a_member_with_a_word_beside_in_sync_is_not_simply_in_sync(words: str, state: str) -> None:
    there = {"sda1": [words, "0"], "sdb1": ["in_sync", "1"]}
    seen = md_host({"name": "md0", "members": there})
    uses = {use.disk.name: (use.tone, use.state) for use in devices_of(seen.host)}
    assert uses["sda"] == ("warning", state)
    assert uses["sdb"] == ("ok", "in sync")


# --- bcache --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "is_known"),
    [
        ({"state": "clean", "dirty_data": "0.0k"}, True),
        ({"state": "clean", "dirty_data": "-4.0k"}, True),
        ({"state": "no cache", "dirty_data": ""}, True),
        ({"state": "dirty", "dirty_data": ""}, False),
        ({"state": "dirty", "dirty_data": "-1.5k"}, False),
        ({"state": "dirty", "dirty_data": "much"}, False),
        ({"state": "dreaming", "dirty_data": "0.0k"}, False),
        ({"state": "", "dirty_data": "0.0k"}, False),
    ],
)
@pytest.mark.parametrize("on", ["dm-0", "sdb1"])
def test_a_bcache_that_does_not_tell_what_is_dirty_is_not_clean(
    on: str, files: dict[str, str], is_known: bool
) -> None:
    seen = Seen(
        policy={"vgs": ["tank"]},
        disks=[
            {"name": "sda"},
            {"name": "sdb", "dev": "8:16", "partitions": ["sdb1"]},
            {"name": "sdc", "dev": "8:32", "partitions": ["sdc1"]},
        ],
        lvm={
            "vgs": [{"name": "tank"}],
            "pvs": [{"name": "/dev/sda", "vg": "tank"}],
            "lvs": [{"vg": "tank", "name": "web", "devices": ["/dev/sda(0)"]}],
        },
        bcache={
            "backings": [
                {"on": on, "device": "bcache0", "set": SET, "writeback_percent": "10",
                 "cache_mode": "writethrough [writeback] writearound none", **files},
            ],
            "sets": [{"uuid": SET, "on": "sdc1", "bucket_size": "512.0k", "backings": [on]}],
        },
    )  # fmt: skip
    assert seen.lv("web").name == "web" and seen.host.unread == ()
    assert ("It is unknown" in restart(seen.host)) is not is_known


def test_dirty_data_of_a_bcache_that_root_made_counts_before_a_restart() -> None:
    def bare(**fields: Any) -> str:
        usual = {"device": "sdb1", "kname": "bcache0", "cset_uuid": SET, "mode": "writeback",
                 "state": "dirty", "dirty_bytes": 4096, "users": ()}  # fmt: skip
        return restart(make.facts(backings=(BareBacking(**{**usual, **fields}),)))

    assert "4 KiB only in 1 cache, not on the HDDs: bcache0" in bare()
    assert "cache_mode" in bare()
    assert "bcache on sdb1 (it waits for its cache set)" in bare(kname=None)
    assert bare(state="clean", dirty_bytes=0) == ""


# --- LVM -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "severity", "typed"),
    [
        ("out_of_data", "error", "lvextend -L +SIZE tank/web"),
        ("metadata_read_only", "error", "lvconvert --repair tank/web"),
        ("failed", "error", "lvconvert --repair tank/web"),
        ("unknown", "warning", "lvs -a -o name,lv_health_status,devices tank/web"),
        ("tired", "warning", "lvs -a -o name,lv_health_status,devices tank/web"),
    ],
)
def test_a_thin_pool_that_is_ill_is_reported_though_lvm_ends_well(
    word: str, severity: str, typed: str
) -> None:
    described = thin_pool(dirty=0)
    next(each for each in described["lvm"]["lvs"] if each["name"] == "web")["health"] = word
    seen = Seen(**described)
    (finding,) = (each for each in seen.findings if each.code == "lv_unhealthy")
    assert (finding.severity, finding.subject) == (severity, "tank/web")
    assert typed in finding.correction


@pytest.mark.parametrize("name", ["web_tdata", "vm-7"])
def test_the_cache_of_a_pool_and_a_thin_volume_have_a_health_too(name: str) -> None:
    described = thin_pool(dirty=0)
    next(each for each in described["lvm"]["lvs"] if each["name"] == name)["health"] = "failed"
    assert "lv_unhealthy" in Seen(**described).codes


def test_a_word_for_a_missing_disk_is_reported_by_its_group_alone() -> None:
    gone = {"vg": "tank", "name": "old", "devices": ["[unknown](0)"], "health": "partial"}
    assert "lv_unhealthy" not in Seen(**cached(gone)).codes


@pytest.mark.parametrize(
    ("status", "is_known"),
    [("0 100 60 0", True), ("1 100 100 0", False), ("dreaming", False), ("", False)],
)
def test_a_write_cache_that_had_an_error_counts_as_unknown(status: str, is_known: bool) -> None:
    described = layers(
        top={"layout": "writecache", "type": "writecache", "pool": "fast_cvol", "active": True,
             "devices": ["web_wcorig(0)"]},
        web_wcorig={"devices": ["/dev/sda(0)"]},
        fast_cvol={"role": "private,cache,cachevol", "devices": ["/dev/sda(9)"]},
    )  # fmt: skip
    line = f"tank-web: 0 2097152 writecache {status}" if status else ""
    table = "tank-web: 0 2097152 writecache s 253:1 253:2 4096 0"
    seen = Seen(**described, dm={"writecache": line}, tables={"writecache": table})
    assert seen.lv("web").writecache.dirty_known is is_known
    assert ("It is unknown" in restart(seen.host)) is not is_known


def test_a_group_that_does_not_count_what_it_misses_is_counted_by_its_disks() -> None:
    described = cached({"vg": "tank", "name": "old", "devices": ["[unknown](0)"]})
    for pv in described["lvm"]["pvs"]:
        pv["counted"] = ""
    assert "pv_missing" in Seen(**described).codes


# --- Disks ---------------------------------------------------------------------------------------


def test_a_sas_disk_that_counts_its_errors_and_gives_no_verdict_is_reported() -> None:
    assert codes(sas("M", "S", defects=3)) == []
    assert codes({**sas("M", "S", defects=3), "smart_status": {}}) == ["disk_unread"]
    volume = {"smartctl": {"version": [7, 3], "exit_status": 4},
              "device": {"type": "scsi", "protocol": "SCSI"}, "serial_number": "V"}  # fmt: skip
    assert codes(volume) == []


@pytest.mark.parametrize(
    ("value", "passed", "is_failed"),
    [
        (0x00, True, False),
        (0x10, None, False),
        (0x21, None, False),
        (0x30, None, True),
        (0x3F, None, True),
        (0x79, False, True),
        (0xF5, None, False),
    ],
)
def test_a_self_test_that_ended_with_a_fatal_error_has_failed(
    value: int, passed: bool | None, is_failed: bool
) -> None:
    document = log_of(("Extended offline", passed))
    (row,) = document["ata_smart_self_test_log"]["standard"]["table"]
    row["status"]["value"] = value
    assert codes(document) == (["self_test_failed"] if is_failed else [])


@pytest.mark.parametrize(
    "document",
    [
        ata("M", "S", [], smart_status={}, smart_support={"available": True, "enabled": False}),
        nvme("M", "S", smart_status={}, nvme_smart_health_information_log={}),
        ata("M", "S", [], smart_status={"passed": None}),
    ],
)
def test_a_disk_whose_smart_is_off_or_does_not_answer_is_reported(document: dict[str, Any]) -> None:
    assert codes(document) == ["disk_unread"]


@pytest.mark.parametrize(("bit", "words"), [(4, "reliability"), (8, "no more writes"), (128, "")])
def test_an_nvme_disk_that_warns_is_failing_whatever_else_it_says(bit: int, words: str) -> None:
    document = nvme("M", "S", critical_warning=bit, smart_status={"passed": True})
    assert codes(document) == ["disk_failing"]
