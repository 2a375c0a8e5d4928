"""What an inventory shows to be wrong, and since when."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from storage.byte_sizes import GIB
from storage.discovery.host_summary import cache_names, space_of
from storage.discovery.ingest import apply_facts, apply_hello, dated_problems
from storage.health.inventory_findings import findings_of
from storage.inventory.facts import ArrayMember, HostFacts, KernelIdentity
from storage.inventory.volume_parts import DataStanding, VolumeUser
from storage.models import HostOutline, Volume
from storage.planner.wish import Wish
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.scene import scene

pytestmark = pytest.mark.django_db


def found(facts: HostFacts, **scene_fields: Any) -> dict[str, str]:
    """Severity by code after a host with one volume sent these facts."""
    there = scene(facts.lvs[0], **scene_fields)
    sent = dataclasses.replace(facts, lvs=(there.lv, *facts.lvs[1:]))
    apply_facts(there.host, make.inventory(sent), timezone.now())
    findings = HostOutline.objects.get(host=there.host).findings
    return {each["code"]: each["severity"] for each in findings}


def test_a_healthy_host_has_no_finding() -> None:
    assert found(make.facts(make.lv(), arrays=(make.array(),))) == {}


def test_a_degraded_array_is_an_error_and_only_a_warning_while_it_is_rebuilt() -> None:
    lost = make.array(degraded_count=1)
    assert found(make.facts(make.lv(), arrays=(lost,))) == {"array_degraded": "error"}
    rebuilt = make.array(degraded_count=1, sync_action="recover")
    assert found(make.facts(make.lv(), arrays=(rebuilt,))) == {"array_recovering": "warning"}


@pytest.mark.parametrize(
    ("level", "disk_count", "degraded_count", "code"),
    [
        ("raid6", 6, 1, "array_weakened"),
        ("raid6", 6, 2, "array_degraded"),
        ("raid1", 3, 1, "array_weakened"),
        ("raid1", 3, 2, "array_degraded"),
        ("raid1", None, 1, "array_degraded"),
        ("raid5", 4, 1, "array_degraded"),
        ("raid10", 8, 1, "array_degraded"),
    ],
)
def test_data_is_at_risk_only_where_no_further_disk_can_fail(
    level: str, disk_count: int | None, degraded_count: int, code: str
) -> None:
    lost = make.array(level=level, disk_count=disk_count, degraded_count=degraded_count)
    assert found(make.facts(make.lv(), arrays=(lost,))) == {code: "error"}


def test_a_failed_disk_is_named_and_not_called_missing() -> None:
    faulty = make.array(
        degraded_count=1,
        disk_count=2,
        members=(ArrayMember("sda", "in_sync", "0"), ArrayMember("sdb1", "faulty", "none")),
    )
    disks = (make.disk("sda"), make.disk("sdb", model="TIERCEL LAB-SSD", serial="ssd1"))
    (finding,) = findings_of(make.facts(arrays=(faulty,), disks=disks), ())
    assert finding.message == (
        "sdb1 (TIERCEL LAB-SSD, ssd1) has failed in md0 (raid1): 1 of 2 disks left."
    )
    assert "--remove /dev/sdb1; " in finding.correction


def test_a_failed_disk_that_was_pulled_is_removed_by_the_word_of_mdadm() -> None:
    faulty = make.array(
        degraded_count=1,
        disk_count=2,
        members=(ArrayMember("sda", "in_sync", "0"), ArrayMember("sdb", "faulty", "none")),
    )
    (finding,) = findings_of(make.facts(arrays=(faulty,), disks=(make.disk("sda"),)), ())
    assert finding.message == (
        "sdb (no longer connected) has failed in md0 (raid1): 1 of 2 disks left."
    )
    assert "--remove detached; " in finding.correction


def test_a_rebuild_says_how_far_it_is_and_when_it_ends() -> None:
    rebuilt = make.array(
        degraded_count=1, sync_action="recover",
        sync_done_sectors=2_000_000, sync_total_sectors=8_000_000, sync_speed_kib=1000,
    )  # fmt: skip
    (finding,) = findings_of(make.facts(arrays=(rebuilt,)), ())
    assert finding.message == (
        "1 disk is missing from md0 (raid1); md0 is being rebuilt (25 % done, about 50 min left)."
    )


@pytest.mark.parametrize(
    ("free", "severity"),
    [(301, None), (300, None), (299, "warning"), (50, "warning"), (49, "error")],
)
def test_metadata_of_a_group_counts_from_above_70_percent(free: int, severity: str | None) -> None:
    facts = make.facts(make.lv(), vgs=(make.vg(metadata_bytes=1000, metadata_free_bytes=free),))
    assert found(facts) == ({"vg_metadata_full": severity} if severity else {})


def test_metadata_of_which_an_older_agent_says_nothing_is_no_finding() -> None:
    facts = make.facts(make.lv(), vgs=(make.vg(metadata_bytes=None, metadata_free_bytes=None),))
    assert found(facts) == {}


def test_copies_that_differ_are_a_warning_once_the_array_is_idle() -> None:
    differing = make.array(mismatch_sectors=128)
    (finding,) = findings_of(make.facts(arrays=(differing,)), ())
    assert (finding.code, finding.severity) == ("array_mismatch", "warning")
    assert "128 sectors" in finding.message and "echo repair" in finding.correction
    checked = make.array(mismatch_sectors=128, sync_action="check")
    assert findings_of(make.facts(arrays=(checked,)), ()) == ()


@pytest.mark.parametrize(
    ("health", "code", "command"),
    [
        ("partial", "lv_raid_degraded", "lvconvert --repair vg0/web12"),
        ("refresh needed", "lv_raid_refresh", "lvchange --refresh vg0/web12"),
        ("mismatches exist", "lv_raid_mismatch", "lvchange --syncaction repair vg0/web12"),
    ],
)
def test_a_volume_that_lvm_mirrors_says_what_is_wrong_and_what_to_type(
    health: str, code: str, command: str
) -> None:
    lv = make.lv("web12", layout=("raid", "raid1"), health=health)
    (finding,) = findings_of(make.facts(lv), ())
    assert (finding.code, finding.subject) == (code, "vg0/web12")
    assert command in finding.correction
    plain = make.lv("web12", health=health)
    assert findings_of(make.facts(plain), ()) == ()


def test_writeback_on_a_degraded_mirror_is_an_error() -> None:
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool", mode="writeback"))
    sick = make.facts(lv, pvs=(make.pv(), make.fast_pv(healthy=False)))
    assert found(sick) == {"writeback_degraded_clean": "warning"}


@pytest.mark.parametrize(
    ("dirty_bytes", "said"),
    [
        (0, ("writeback_degraded_clean", "warning", "its next writes will be on one SSD only.")),
        (
            2**30,
            ("writeback_degraded", "error", "1 GiB was on one SSD only at the last inventory."),
        ),
    ],
)
def test_what_a_second_failure_would_lose_is_kept_apart_from_what_it_could(
    dirty_bytes: int, said: tuple[str, str, str]
) -> None:
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool", mode="writeback", dirty_bytes=dirty_bytes)
    there = scene(make.lv(cache=cache), pvs=(make.pv(), make.fast_pv(healthy=False)))
    (finding,) = findings_of(there.facts, snapshots_of([there.volume]))
    code, severity, held = said
    assert (finding.code, finding.severity) == (code, severity)
    label = there.volume.label
    assert finding.message == f"{label} uses writeback on a degraded SSD mirror: {held}"


@pytest.mark.parametrize("allowed", [True, False])
def test_the_way_out_of_writeback_never_flushes_under_the_lock_of_the_group(allowed: bool) -> None:
    """A volume that is not managed has the button too, where the host allows its group."""
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool", mode="writeback"))
    pvs = (make.pv(), make.fast_pv(healthy=False))
    there = scene(lv, managed=False, pvs=pvs, vgs=(make.vg(allowed=allowed),))
    findings = findings_of(there.facts, snapshots_of([there.volume]))
    (finding,) = [each for each in findings if each.code.startswith("writeback_degraded")]
    at_once, _, later = finding.correction.partition("Once 0 B are dirty")
    assert "--cachemode" not in at_once
    if allowed:
        assert (
            "switch to writethrough in the panel: dirty data is flushed first" in at_once
            and not later
        )
    else:
        assert "lvchange --cachepolicy cleaner vg0/web12" in at_once
        assert "lvchange --cachemode writethrough vg0/web12" in later


def test_where_lvm_refuses_another_mode_none_is_suggested() -> None:
    """LVM mirrors the pool itself, and changes nothing of a group that lacks a disk."""
    broken = DataStanding(lost=False, degraded=True, redundant=True)
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool", mode="writeback", standing=broken)
    there = scene(make.lv(cache=cache), managed=True, vgs=(make.vg(missing_pv_count=1),))
    findings = findings_of(there.facts, snapshots_of([there.volume]))
    (finding,) = [each for each in findings if each.code.startswith("writeback_degraded")]
    assert "Neither you nor Tiercel can set another mode now." in finding.message
    assert "LVM changes nothing of the group until it is back" in finding.correction
    assert "writethrough" not in finding.correction


def test_writeback_of_a_bcache_on_a_degraded_mirror_is_one_too() -> None:
    device = make.lv("s-aaaaaaaaaaaaaaaa", pvs=("md0",))
    csets = (make.cset(device.uuid),)
    sick = (make.pv(), make.fast_pv(healthy=False))
    for mode, expected in (
        ("writeback", {"writeback_degraded_clean": "warning"}),
        ("writethrough", {}),
    ):
        backing = make.bcache(cset_uuid=make.CSET_UUID, state="clean", cache_mode=mode)
        lv = make.lv(bcache=backing)
        facts = make.facts(lv, device, csets=csets, pvs=sick)
        assert found(facts, layout="bcache") == expected


def test_a_group_without_its_ssd_and_the_cache_on_it_are_errors() -> None:
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool", pvs=("[unknown]",)))
    away = make.facts(
        lv, pvs=(make.pv(), make.fast_pv(missing=True)), vgs=(make.vg(missing_pv_count=1),)
    )
    assert found(away) == {"pv_missing": "error", "ssd_lost": "error"}


def test_a_cache_that_failed_or_needs_a_check_is_an_error() -> None:
    for fields, expected in (
        ({"failed": True}, {"cache_failed": "error"}),
        ({"needs_check": True}, {"cache_needs_check": "error"}),
    ):
        lv = make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool", **fields))
        assert found(make.facts(lv)) == expected


def test_a_volume_of_ours_that_is_off_is_an_error_and_a_foreign_one_is_none() -> None:
    off = make.lv(active=False)
    assert found(make.facts(off)) == {"volume_inactive": "error"}
    assert found(make.facts(make.lv(active=False)), managed=False) == {}


def test_a_volume_that_proxmox_switched_off_with_its_guest_is_no_trouble() -> None:
    resting = make.lv(active=False, users=(VolumeUser("proxmox", "web12", "scsi0", None),))
    assert found(make.facts(resting)) == {}
    other = make.lv(active=False, users=(VolumeUser("libvirt", "web12", "vda", None),))
    assert found(make.facts(other)) == {"volume_inactive": "error"}


def test_a_volume_that_is_not_as_recorded_is_a_warning() -> None:
    there = scene(make.lv(size_bytes=16 * GIB))
    Volume.objects.filter(pk=there.volume.pk).update(wish=Wish(8 * GIB).to_json())
    apply_facts(there.host, make.inventory(there.facts), timezone.now())
    (finding,) = HostOutline.objects.get(host=there.host).findings
    assert (finding["code"], finding["volume"]) == ("drift", there.volume.key)
    assert "recorded 8 GiB, found 16 GiB" in finding["message"]


def test_a_volume_whose_creation_ended_half_way_is_a_warning_of_its_own() -> None:
    there = scene()
    half_made = dataclasses.replace(
        there.lv, tags=make.tags(there.volume.key, zeroing=True, unformatted=True)
    )
    apply_facts(there.host, make.inventory(make.facts(half_made)), timezone.now())
    (finding,) = HostOutline.objects.get(host=there.host).findings
    assert (finding["code"], finding["volume"]) == ("unfinished", there.volume.key)
    assert "not fully zeroed" in finding["message"] and "not formatted" in finding["message"]


@pytest.mark.parametrize(
    ("fields", "tags", "is_reported"),
    [
        ({"bcache": None}, {}, True),
        ({"bcache": make.bcache()}, {}, False),
        ({"bcache": None}, {"unformatted": True}, False),
        ({"bcache": None, "active": False}, {}, False),
    ],
)
def test_a_bcache_volume_that_did_not_start_is_reported_with_a_correction(
    fields: dict[str, Any], tags: dict[str, Any], is_reported: bool
) -> None:
    there = scene(layout="bcache")
    seen = dataclasses.replace(there.lv, **fields, tags=make.tags(there.volume.key, **tags))
    facts = make.facts(seen)
    rows = snapshots_of([there.volume], {there.host.pk: facts})
    away = [each for each in findings_of(facts, rows) if each.code == "bcache_away"]
    assert bool(away) is is_reported
    assert all(f"keep-bcache {seen.vg_name}/{seen.name}" in each.correction for each in away)


def test_a_finding_keeps_the_moment_it_was_first_seen_and_goes_when_it_is_mended() -> None:
    there, now = scene(), timezone.now()
    sick = dataclasses.replace(there.facts, arrays=(make.array(degraded_count=1),))
    apply_facts(there.host, make.inventory(sick), now)
    apply_facts(there.host, make.inventory(sick), now + timedelta(minutes=5))
    (finding,) = HostOutline.objects.get(host=there.host).findings
    assert finding["since"] == now.isoformat()
    apply_facts(there.host, make.inventory(there.facts), now + timedelta(minutes=10))
    assert HostOutline.objects.get(host=there.host).findings == []


def test_an_inventory_without_news_writes_nothing() -> None:
    there, now = scene(), timezone.now()
    inventory = make.inventory(there.facts)
    written = '"storage_hostoutline"'
    for minutes, is_news in ((0, True), (5, False)):
        with CaptureQueriesContext(connection) as queries:
            apply_facts(there.host, inventory, now + timedelta(minutes=minutes))
        statements = [query["sql"] for query in queries]
        writes = [sql for sql in statements if written in sql and not sql.startswith("SELECT")]
        assert bool(writes) == is_news


def test_space_is_that_of_disks_in_a_group_which_are_there() -> None:
    pvs = (
        make.pv(size_bytes=100 * GIB, free_bytes=40 * GIB),
        make.fast_pv(size_bytes=50 * GIB, free_bytes=10 * GIB),
        make.fast_pv("md1", size_bytes=50 * GIB, free_bytes=50 * GIB, missing=True),
        make.fast_pv("md2", size_bytes=50 * GIB, free_bytes=50 * GIB, vg_uuid=""),
    )
    assert space_of(make.facts(pvs=pvs)) == {
        "fast_total_bytes": 50 * GIB,
        "fast_free_bytes": 10 * GIB,
        "slow_total_bytes": 100 * GIB,
        "slow_free_bytes": 40 * GIB,
    }


def test_caches_are_known_by_the_names_of_their_wishes_attached_or_not() -> None:
    attached = make.lv("c-aaaaaaaaaaaaaaaa_cpool", role=("private",), pvs=("md0",))
    alone, slow = make.pool("c-bbbbbbbbbbbbbbbb"), make.lv("web12")
    names = cache_names(make.facts(attached, alone, slow))
    assert names == ["c-aaaaaaaaaaaaaaaa", "c-bbbbbbbbbbbbbbbb"]


def problem(code: str, message: str) -> dict[str, str]:
    return {"code": code, "severity": "warning", "message": message, "correction": ""}


def test_a_problem_keeps_its_age_also_when_its_words_change() -> None:
    there, now = scene().host, timezone.now()
    apply_hello(there, {}, [problem("clock_off", "7 s ahead")], now)
    apply_hello(there, {}, [problem("clock_off", "9 s ahead")], now + timedelta(minutes=5))
    assert [each["since"] for each in there.problems] == [now.isoformat()]


def test_of_several_problems_of_one_kind_only_the_same_words_are_the_same() -> None:
    now = timezone.now()
    before = dated_problems([problem("writeback", "vg0/a"), problem("writeback", "vg0/b")], [], now)
    later = now + timedelta(hours=1)
    after = dated_problems(
        [problem("writeback", "vg0/b"), problem("writeback", "c")], before, later
    )
    assert [each["since"] for each in after] == [now.isoformat(), later.isoformat()]


def test_a_problem_of_one_subject_is_the_same_in_other_words() -> None:
    now = timezone.now()
    both = [{**problem("w", "9 s ahead"), "subject": name} for name in ("vg0/a", "vg0/b")]
    later = dated_problems(
        [{**each, "message": "10 s ahead"} for each in both],
        dated_problems(both, [], now),
        now + timedelta(hours=1),
    )
    assert [each["since"] for each in later] == [now.isoformat()] * 2


# --- The kernel ----------------------------------------------------------------------------------


def with_bcache(kernel: KernelIdentity) -> HostFacts:
    backing = make.bcache(cset_uuid=make.CSET_UUID, state="clean")
    cached = make.lv(name="web12", bcache=backing)
    device = make.lv(name="b-cache")
    return make.facts(cached, device, csets=(make.cset(device.uuid),), kernel=kernel)


def of_kernel(kernel: KernelIdentity) -> dict[str, str]:
    findings = findings_of(with_bcache(kernel), ())
    return {each.code: each.severity for each in findings if "kernel" in each.code}


def test_caches_on_a_kernel_that_loses_them_are_data_at_risk() -> None:
    assert of_kernel(KernelIdentity("5.15.2")) == {"kernel_data_loss": "error"}
    (finding,) = findings_of(with_bcache(KernelIdentity("5.15.2")), ())
    assert finding.message.startswith("1 cache may lose data. Kernel 5.15.2: ")
    assert "issues/146384" in finding.message and "5.15.3" in finding.correction
    assert finding.subject == "bcache_bvec_5_15"


def test_a_kernel_that_does_not_say_enough_is_a_warning_and_a_slow_one_is_none() -> None:
    assert of_kernel(KernelIdentity("5.15.0-91-generic")) == {"kernel_unsure": "warning"}
    assert of_kernel(KernelIdentity()) == {"kernel_unsure": "warning"}
    (one,) = findings_of(with_bcache(KernelIdentity()), ())
    assert "bcache_gcc9, bcache_io_errors" in one.message and "Upgrade the agent" in one.correction
    assert of_kernel(KernelIdentity("5.15.3")) == {}
    assert of_kernel(KernelIdentity("6.2.16-20-pve")) == {}


def test_a_host_without_such_a_cache_has_no_finding_of_its_kernel() -> None:
    facts = make.facts(
        make.lv(), make.lv(name="db", cache=make.dm_cache("pool")), kernel=KernelIdentity("5.15.2")
    )
    assert findings_of(facts, ()) == ()
