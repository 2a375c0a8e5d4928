"""LVM below caches: its own RAID, hidden layers, and what it says beside its report."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.facts.view import View
from storage.agent.verbs.checks import redundant
from storage.byte_sizes import GIB, KIB, SECTOR_BYTES
from storage.health.lost_cache import lvmcache_runbook
from storage.health.restart_checks import before_restart
from storage.planner.technologies.degraded_mirror import is_on_degraded
from storage.planner.technologies.lookup import TECHNOLOGIES
from storage.planner.technologies.lvmcache_loss import loss_of
from tests.reported.host import ReportedHost, Seen, uuid_of

GONE = "[unknown]"
CHUNK = 64 * KIB


def raid(name: str, legs: list[str], *, kind: str = "raid1", **fields: Any) -> list[dict[str, Any]]:
    """A hidden RAID volume of LVM with one image and one piece of metadata on each of `legs`."""
    parts: list[dict[str, Any]] = [
        {"vg": "tank", "name": f"{name}_{part}_{n}", "role": "private,raid,image",
         "devices": [f"{leg}({n + 1})"], "health": "partial" if leg == GONE else ""}
        for n, leg in enumerate(legs) for part in ("rimage", "rmeta")
    ]  # fmt: skip
    numbers = range(len(legs))
    whole = {
        "vg": "tank", "name": name, "layout": f"raid,{kind}", "type": kind,
        "devices": [f"{name}_rimage_{n}(0)" for n in numbers],
        "metadata": [f"{name}_rmeta_{n}(0)" for n in numbers],
        "health": "partial" if GONE in legs else "",
    }  # fmt: skip
    return [whole | fields, *parts]


def cached(
    *parts: dict[str, Any], mode: str = "writeback", dirty: int = 0, status: str = "", **disks: Any
) -> dict[str, Any]:
    """A group `tank` with the volume `web` behind a cache pool `fast`, whose hidden volumes are
    `parts`; those that are not given lie on one disk each."""
    given = {part["name"] for part in parts}
    plain: list[dict[str, Any]] = [
        {"vg": "tank", "name": "web_corig", "role": "private,cache,origin,cacheorigin",
         "devices": ["/dev/sda(0)"]},
        {"vg": "tank", "name": "fast_cpool_cdata", "role": "private,cache,pool,data",
         "devices": ["/dev/sdc(0)"]},
        {"vg": "tank", "name": "fast_cpool_cmeta", "role": "private,cache,pool,metadata",
         "devices": ["/dev/sdc(99)"]},
    ]  # fmt: skip
    top: list[dict[str, Any]] = [
        {"vg": "tank", "name": "web", "layout": "cache", "type": "cache", "pool": "fast_cpool",
         "origin": "web_corig", "devices": ["web_corig(0)"], "mode": mode, "policy": "smq",
         "chunk": CHUNK, "size": 8 * GIB},
        {"vg": "tank", "name": "fast_cpool", "layout": "cache,pool", "role": "private",
         "type": "cache-pool", "device": False, "devices": ["fast_cpool_cdata(0)"],
         "metadata": ["fast_cpool_cmeta(0)"], "size": GIB},
    ]  # fmt: skip
    lvs = [*top, *(each for each in plain if each["name"] not in given), *parts]
    is_gone = any(GONE in str(each.get("devices")) for each in lvs)
    pvs = [{"name": f"/dev/{name}", "vg": "tank"} for name in ("sda", "sdb", "sdc", "sdd", "sde")]
    missing = [{"name": GONE, "vg": "tank", "missing": True, "uuid": uuid_of("lost")}]
    words = f"4 1/64 128 9/16384 1 1 1 1 0 9 {dirty} 1 {mode} 2 migration_threshold 2048 smq 0 rw -"
    return {
        "policy": {"vgs": ["tank"]},
        "disks": [{"name": name, "dev": f"8:{at * 16}", "rota": at < 2}
                  for at, name in enumerate(("sda", "sdb", "sdc", "sdd", "sde"))],
        "lvm": {"vgs": [{"name": "tank"}], "pvs": pvs + missing * is_gone, "lvs": lvs},
        "dm": {"cache": status or f"tank-web: 0 {8 * GIB // SECTOR_BYTES} cache 8 {words[2:]}"},
        **disks,
    }  # fmt: skip


def runbook(seen: Seen, name: str) -> str:
    loss = loss_of(seen.host, seen.lv(name))
    steps = () if loss is None else lvmcache_runbook(seen.lv(name), loss)
    return "\n".join(f"{step.text} {step.command}" for step in steps)


def mirrored_pool(*legs: str, kind: str = "raid1") -> list[dict[str, Any]]:
    return [
        *raid("fast_cpool_cdata", [*legs], kind=kind, role="private,cache,pool,data"),
        *raid("fast_cpool_cmeta", [*legs], kind=kind, role="private,cache,pool,metadata"),
    ]


def test_a_pool_that_lvm_mirrors_outlives_one_of_its_disks() -> None:
    seen = Seen(**cached(*mirrored_pool("/dev/sdc", GONE), dirty=4096))
    volume = seen.lv("web")
    assert loss_of(seen.host, volume) is None and runbook(seen, "web") == ""
    assert volume.cache.dirty_bytes == 4096 * CHUNK
    assert is_on_degraded(seen.host, volume)
    assert "lvconvert --repair tank/fast_cpool_cdata" in seen.text
    assert "lvconvert --repair tank/fast_cpool_cmeta" in seen.text
    assert "--uncache" not in seen.text and "--force tank" not in seen.text
    assert "writeback_single_ssd" not in seen.codes


def test_nothing_that_lvm_refuses_while_a_disk_is_missing_is_advised() -> None:
    seen = Seen(**cached(*mirrored_pool("/dev/sdc", GONE)))
    (lvmcache, _) = TECHNOLOGIES
    (risk,) = lvmcache.risks(seen.host, seen.lv("web"))
    assert "degraded" in risk.text
    assert "lvchange" not in risk.correction and "panel" not in risk.correction


@pytest.mark.parametrize(
    ("kind", "legs", "is_lost"),
    [
        ("raid1", ["/dev/sdc", "/dev/sdd"], False),
        ("raid1", [GONE, GONE], True),
        ("raid1", ["/dev/sdc", GONE, GONE], False),
        ("raid5_ls", ["/dev/sdc", "/dev/sdd", GONE], False),
        ("raid5_ls", ["/dev/sdc", GONE, GONE], True),
        ("raid6_zr", ["/dev/sda", "/dev/sdb", "/dev/sdc", GONE, GONE], False),
        ("raid6_zr", ["/dev/sda", "/dev/sdb", GONE, GONE, GONE], True),
        ("raid10", ["/dev/sdb", GONE, "/dev/sdc", GONE], False),
        ("raid10", ["/dev/sdb", "/dev/sdc", GONE, GONE], True),
        ("raid0", ["/dev/sdc", GONE], True),
        ("striped", ["/dev/sdc", GONE], True),
    ],
)
def test_a_level_tells_how_many_disks_a_pool_may_lose(
    kind: str, legs: list[str], is_lost: bool
) -> None:
    seen = Seen(**cached(*mirrored_pool(*legs, kind=kind), dirty=1))
    assert (loss_of(seen.host, seen.lv("web")) is not None) is is_lost
    assert ("lv_raid_failed" in seen.codes) is is_lost


@pytest.mark.parametrize(
    ("legs", "kind", "is_single"),
    [
        (["/dev/sdc", "/dev/sdd"], "raid1", False),
        (["/dev/sdc", "/dev/sdc"], "raid1", True),
        (["/dev/sdc", "/dev/sdd"], "raid0", True),
        (["/dev/sdc", "/dev/sdd", "/dev/sde"], "raid5_ls", False),
        (["/dev/sdc", "/dev/sdd", "/dev/sdd"], "raid5_ls", True),
        (["/dev/sdb", "/dev/sdc", "/dev/sdd", "/dev/sde"], "raid10", False),
        (["/dev/sdb", "/dev/sdc", "/dev/sdc", "/dev/sde"], "raid10", True),
        (["/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd", "/dev/sde"], "raid6_zr", False),
        (["/dev/sdb", "/dev/sdc", "/dev/sdd"], "raid4", False),
        (["/dev/sdc", "/dev/sdd"], "mirror", False),
        (["/dev/sdc", "/dev/sdd", "/dev/sdd"], "raid1", False),
        (["/dev/sdc", "/dev/sdd"], "striped", True),
        (["/dev/sdc"], "raid1", True),
    ],
)
def test_writeback_is_warned_of_unless_any_one_disk_may_die(
    legs: list[str], kind: str, is_single: bool
) -> None:
    seen = Seen(**cached(*mirrored_pool(*legs, kind=kind)))
    assert ("writeback_single_ssd" in seen.codes) is is_single


@pytest.mark.parametrize(
    ("status", "is_refused"),
    [
        ("Aa 61440/2097152 recover", True),
        ("aa 2097151/2097152 resync", True),
        ("AA 2097152/2097152 idle", False),
    ],
)
def test_the_agent_lets_nothing_be_written_back_to_a_mirror_that_is_not_copied_yet(
    status: str, is_refused: bool
) -> None:
    described = cached(*mirrored_pool("/dev/sdc", "/dev/sdd"))
    line = f"tank-fast_cpool_cdata: 0 2097152 raid raid1 2 {status} 0 0 -"
    host: Any = ReportedHost(**{**described, "dm": {**described["dm"], "raid": line}})
    view = View(host)
    pool = view.lv("tank", "fast_cpool")
    refused: AbstractContextManager[object] = nullcontext()
    if is_refused:
        refused = pytest.raises(Refusal, match="still copying")
    with refused:
        redundant(view, "lv:tank/fast", pool, "the cache fast")


@pytest.mark.parametrize(
    ("legs", "is_single"), [(["sdc1", "sdc2"], True), (["sdc1", "sdd1"], False)]
)
def test_two_partitions_of_one_disk_are_one_disk(legs: list[str], is_single: bool) -> None:
    described = cached(*mirrored_pool(*(f"/dev/{leg}" for leg in legs)))
    for disk in described["disks"]:
        disk["partitions"] = [leg for leg in legs if leg.startswith(disk["name"])]
    described["lvm"]["pvs"] += [{"name": f"/dev/{leg}", "vg": "tank"} for leg in legs]
    assert ("writeback_single_ssd" in Seen(**described).codes) is is_single


@pytest.mark.parametrize(("second", "is_single"), [(["sdd", "sdc"], True), (["sdd"], False)])
def test_two_arrays_that_share_a_disk_are_one(second: list[str], is_single: bool) -> None:
    described = cached(*mirrored_pool("/dev/md0", "/dev/md1"))
    described["arrays"] = [
        {"name": name, "dev": f"9:{at}", "level": "raid0", "degraded": None,
         "members": {disk: ["in_sync", str(slot)] for slot, disk in enumerate(disks)}}
        for at, (name, disks) in enumerate((("md0", ["sdc"]), ("md1", second)))
    ]  # fmt: skip
    described["lvm"]["pvs"] += [{"name": f"/dev/md{n}", "vg": "tank"} for n in (0, 1)]
    assert ("writeback_single_ssd" in Seen(**described).codes) is is_single


def test_a_pool_of_which_only_the_data_is_mirrored_is_not() -> None:
    parts = raid("fast_cpool_cdata", ["/dev/sdc", "/dev/sdd"], role="private,cache,pool,data")
    assert "writeback_single_ssd" in Seen(**cached(*parts)).codes


def test_a_cache_whose_volume_lost_its_disk_too_is_never_given_up() -> None:
    gone = {"vg": "tank", "devices": [f"{GONE}(0)"], "health": "partial"}
    seen = Seen(
        **cached(
            {**gone, "name": "web_corig", "role": "private,cache,origin,cacheorigin"},
            {**gone, "name": "fast_cpool_cdata", "role": "private,cache,pool,data"},
            dirty=7,
        )
    )
    assert "Give up nothing of its cache" in runbook(seen, "web")
    assert "--uncache" not in runbook(seen, "web")


def test_a_lost_cache_that_held_copies_only_is_dropped_without_force() -> None:
    gone = {"vg": "tank", "devices": [f"{GONE}(0)"], "health": "partial"}
    seen = Seen(
        **cached(
            {**gone, "name": "fast_cpool_cdata", "role": "private,cache,pool,data"},
            mode="writethrough",
        )
    )
    assert "lvconvert --uncache tank/web" in runbook(seen, "web")
    assert "--uncache --force" not in runbook(seen, "web")


def test_a_cached_volume_whose_mirror_is_in_sync_has_no_finding() -> None:
    origin = raid("web_corig", ["/dev/sda", "/dev/sdb"], role="private,cache,origin,cacheorigin")
    status = f"tank-web_corig: 0 {8 * GIB // SECTOR_BYTES} raid raid1 2 AA 9/9 idle 0 0 -"
    described = cached(*origin, mode="writethrough")
    seen = Seen(**described | {"dm": {**described["dm"], "raid": status}})
    assert seen.lv("web").work is None
    assert seen.codes == []


@pytest.mark.parametrize(
    ("health", "code", "command"),
    [
        ("refresh needed", "lv_raid_refresh", "lvchange --refresh tank/web"),
        ("repair needed", "lv_raid_degraded", "lvconvert --repair tank/web_corig"),
        ("refresh or repair needed", "lv_raid_degraded", "lvconvert --repair tank/web_corig"),
        ("mismatches exist", "lv_raid_mismatch", "lvchange --syncaction repair tank/web_corig"),
        ("rebuild stalled", "lv_raid_unknown", "lvs -a"),
    ],
)
def test_a_mirror_below_a_cache_says_what_is_wrong_though_the_volume_does_not(
    health: str, code: str, command: str
) -> None:
    origin = raid("web_corig", ["/dev/sda", "/dev/sdb"], role="private,cache,origin", health=health)
    seen = Seen(**cached(*origin, mode="writethrough"))
    assert seen.codes == [code]
    assert "tank/web," in seen.text and command in seen.text
    assert health in seen.text or code != "lv_raid_unknown"


def test_a_leg_for_writes_only_is_a_choice_and_no_trouble() -> None:
    origin = raid(
        "web_corig", ["/dev/sda", "/dev/sdb"], role="private,cache,origin", health="writemostly"
    )
    assert Seen(**cached(*origin, mode="writethrough")).codes == []


def thin_pool(*, dirty: int, is_described: bool = True) -> dict[str, Any]:
    hidden = [
        {"vg": "tank", "name": "web", "layout": "thin,pool", "type": "thin-pool", "layer": "tpool",
         "devices": ["web_tdata(0)"], "metadata": ["web_tmeta(0)"], "size": 8 * GIB},
        {"vg": "tank", "name": "vm-7", "layout": "thin,sparse", "type": "thin", "pool": "web"},
        {"vg": "tank", "name": "web_tdata", "layout": "cache", "role": "private,thin,pool,data",
         "type": "cache", "pool": "fast_cpool", "devices": ["web_tdata_corig(0)"],
         "mode": "writeback", "policy": "smq", "chunk": CHUNK, "size": 8 * GIB},
        {"vg": "tank", "name": "web_tdata_corig", "role": "private,cache,origin",
         "devices": ["/dev/sda(0)"]},
        {"vg": "tank", "name": "web_tmeta", "role": "private,thin,pool,metadata",
         "devices": ["/dev/sdc(200)"]},
    ]  # fmt: skip
    described = cached(dirty=dirty)
    kept = [each for each in described["lvm"]["lvs"] if not each["name"].startswith("web")]
    described["lvm"]["lvs"] = [*kept, *hidden]
    described["dm"]["cache"] = (
        described["dm"]["cache"].replace("tank-web", "tank-web_tdata") if is_described else ""
    )
    return described


def lost_part(described: dict[str, Any], name: str) -> Seen:
    """The hidden volume `name` lay on a disk that is gone."""
    part = next(each for each in described["lvm"]["lvs"] if each["name"] == name)
    part |= {"devices": [f"{GONE}(0)"], "health": "partial"}
    missing = {"name": GONE, "vg": "tank", "missing": True, "uuid": uuid_of("lost")}
    described["lvm"]["pvs"] = [*described["lvm"]["pvs"], missing]
    return Seen(**described)


@pytest.mark.parametrize("part", ["web_tmeta", "web_tdata_corig", "fast_cpool_cdata"])
def test_a_thin_volume_is_lost_with_each_layer_below_its_pool(part: str) -> None:
    described = thin_pool(dirty=0)
    volume = next(each for each in described["lvm"]["lvs"] if each["name"] == "vm-7")
    volume |= {"active": False, "tags": "tiercel,tiercel.volume=abcdefgh"}
    seen = lost_part(described, part)
    assert seen.lv("vm-7").lacks_a_part
    assert "volume_inactive" in seen.codes and "lvchange -ay" not in seen.text
    loss = loss_of(seen.host, seen.lv("web_tdata"))
    assert (loss is not None) is (part == "fast_cpool_cdata")
    assert loss is None or loss.others == ()


def layers(**kinds: Any) -> dict[str, Any]:
    """A volume `web` that is off, on what each test says."""
    top = {"vg": "tank", "name": "web", "active": False, "tags": "tiercel,tiercel.volume=abcdefgh"}
    return {
        "policy": {"vgs": ["tank"]},
        "disks": [{"name": "sda"}],
        "lvm": {
            "vgs": [{"name": "tank"}],
            "pvs": [{"name": "/dev/sda", "vg": "tank"}],
            "lvs": [top | kinds.pop("top"), *({"vg": "tank", "name": name, "role": "private"} | kind
                                            for name, kind in kinds.items())],
        },
    }  # fmt: skip


LAYERS: dict[str, tuple[dict[str, Any], str]] = {
    "vdo": (
        layers(
            top={"layout": "vdo", "type": "vdo", "pool": "vpool", "devices": ["vpool(0)"]},
            vpool={"layout": "vdo,pool", "type": "vdo-pool", "devices": ["vpool_vdata(0)"]},
            vpool_vdata={"devices": ["/dev/sda(0)"]},
        ),
        "vpool_vdata",
    ),
    "writecache": (
        layers(
            top={"type": "writecache", "pool": "fast_cvol", "devices": ["web_wcorig(0)"]},
            web_wcorig={"devices": ["/dev/sda(0)"]},
            fast_cvol={"role": "private,cache,cachevol", "devices": ["/dev/sda(9)"]},
        ),
        "fast_cvol",
    ),
    "cachevol": (
        layers(
            top={"layout": "cache", "type": "cache", "pool": "fast_cvol", "mode": "writeback",
                 "devices": ["web_corig(0)"]},
            web_corig={"devices": ["/dev/sda(0)"]},
            fast_cvol={"layout": "cache,cachevol", "devices": ["/dev/sda(9)"]},
        ),
        "fast_cvol",
    ),
    "snapshot": (
        layers(top={"role": "public,snapshot", "type": "snapshot", "devices": ["/dev/sda(0)"]}),
        "web",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", LAYERS)
def test_no_volume_is_to_be_activated_of_which_a_hidden_layer_is_lost(kind: str) -> None:
    described, part = LAYERS[kind]
    assert "lvchange -ay" in Seen(**copy.deepcopy(described)).text
    seen = lost_part(copy.deepcopy(described), part)
    assert seen.lv("web").lacks_a_part
    assert "lvchange -ay" not in seen.text


def test_a_leg_with_checksums_is_looked_through() -> None:
    def legs(second: str) -> Seen:
        parts = raid("web_corig", ["/dev/sda", "/dev/sdb"], role="private,cache,origin")
        for number, disk in enumerate(("/dev/sda", second)):
            image = next(p for p in parts if p["name"] == f"web_corig_rimage_{number}")
            image |= {"type": "integrity", "devices": [f"web_corig_rimage_{number}_iorig(0)"]}
            parts.append({"vg": "tank", "name": f"web_corig_rimage_{number}_iorig",
                          "role": "private", "devices": [f"{disk}(1)"]})  # fmt: skip
        return Seen(**cached(*parts, mode="writethrough"))

    assert legs("/dev/sdb").lv("web").standing.redundant and legs("/dev/sdb").codes == []
    lost = legs(GONE).lv("web").standing
    assert lost.degraded and not lost.lost


def restart(seen: Seen) -> str:
    points = before_restart({"boot": {"unit": True}}, seen.host, (), 0)
    return "\n".join(point.text for point in points if not point.is_well)


def test_dirty_data_in_the_cache_of_a_thin_pool_counts_before_a_restart() -> None:
    seen = Seen(**thin_pool(dirty=2048))
    assert seen.lv("web_tdata").cache.dirty_bytes == 2048 * CHUNK
    assert "128 MiB only in 1 cache, not on the HDDs: tank/web_tdata" in restart(seen)
    assert "HDDs" not in restart(Seen(**thin_pool(dirty=0)))


def test_a_cache_of_which_the_kernel_says_nothing_is_not_clean() -> None:
    assert "It is unknown what 1 cache may hold" in restart(
        Seen(**thin_pool(dirty=0, is_described=False))
    )


DUPLICATES = {
    "2.03": "  WARNING: Not using device /dev/sdb for PV {uuid}.\n"
    "  WARNING: PV {uuid} prefers device /dev/sda because device was seen first.",
    "2.02": "  WARNING: PV {uuid} on /dev/sdb was already found on /dev/sda.",
    "old": "  Found duplicate PV {uuid}: using /dev/sda not /dev/sdb",
    "both": "  WARNING: duplicate PV {uuid} is being used from both devices /dev/sda and /dev/sdb",
}


@pytest.mark.parametrize("release", DUPLICATES)
@pytest.mark.parametrize("dashes", [True, False])
def test_a_physical_volume_on_two_devices_is_reported_though_lvm_ends_well(
    release: str, dashes: bool
) -> None:
    uuid = uuid_of("/dev/sda")
    described = {
        "policy": {"vgs": ["tank"]},
        "disks": [{"name": "sda", "dev": "8:0"}, {"name": "sdb", "dev": "8:16"}],
        "lvm": {
            "vgs": [{"name": "tank"}],
            "pvs": [{"name": "/dev/sda", "vg": "tank"}],
            "lvs": [{"vg": "tank", "name": "web", "active": False, "devices": ["/dev/sda(0)"],
                     "tags": "tiercel,tiercel.volume=abcdefgh"}],
        },
        "fullreport": {
            "stderr": DUPLICATES[release].format(uuid=uuid if dashes else uuid.replace("-", ""))
        },
    }  # fmt: skip
    seen = Seen(**described)
    assert seen.pv("sda").duplicate and seen.pv("sda").seen_on == ("/dev/sda", "/dev/sdb")
    assert "pv_duplicate" in seen.codes and "/dev/sdb" in seen.text
    assert "lvchange -ay" not in seen.text


def test_what_lvm_says_of_other_things_makes_no_duplicate() -> None:
    seen = Seen(**cached(fullreport={"stderr": "  WARNING: Device /dev/sda is fine; rm /dev/x"}))
    assert not any(pv.duplicate for pv in seen.host.pvs)
