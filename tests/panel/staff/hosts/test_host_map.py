"""What the map of a host draws, from facts and figures."""

from __future__ import annotations

from typing import Any

import pytest

from panel.charts.heat_bands import UNKNOWN, Heat
from panel.charts.tiles import HEIGHTS_PX, Tile
from panel.staff.hosts.host_map import DiskNow, HostMap, VolumeNow, host_map
from storage.byte_sizes import GIB
from storage.inventory.facts import ArrayMember, BareBacking, HostFacts, LogicalVolume
from storage.inventory.volume_parts import VolumeUser
from tests import make

FAST, SLOW = Heat("1", "0.30 ms"), Heat("4", "40.0 ms")
IDLE = Heat("1", "2 %")
DISKS = tuple(make.disk(name, rotational=name == "sdc") for name in ("sda", "sdb", "sdc"))
DEGRADED = make.array(
    members=(ArrayMember("sda2", "in_sync"), ArrayMember("sdb2", "faulty")), degraded_count=1
)


def guest(name: str = "web12") -> tuple[VolumeUser, ...]:
    return (VolumeUser("qemu", name, "vda", 7),)


def known(name: str, **fields: Any) -> VolumeNow:
    return VolumeNow(
        **{"name": name, "url": f"/{name}/", "customer": "North", "latency": FAST, "busy": IDLE}
        | fields
    )


def drawn(facts: HostFacts, *named: tuple[LogicalVolume, VolumeNow]) -> HostMap:
    return host_map(facts, {lv.uuid: now for lv, now in named}, {"sdc": DiskNow("/sdc/", FAST)})


def tiles(found: HostMap, tier: str) -> dict[str, Tile]:
    (group,) = found.groups
    (of_tier,) = (each for each in group.tiers if each.name == tier)
    return {f"{tile.thing.kind} {tile.thing.name}": tile for tile in of_tier.volumes.tiles}


def area(tile: Tile) -> float:
    return tile.place.width * tile.place.height


def test_volumes_and_caches_lie_in_their_tiers_as_large_as_they_are() -> None:
    cached = make.lv("a", size_bytes=32 * GIB, cache=make.dm_cache("c-aaaaaaaa"), users=guest())
    plain = make.lv("b", size_bytes=8 * GIB)
    facts = make.facts(cached, plain, disks=DISKS, arrays=(make.array(),))
    found = drawn(facts, (cached, known("shop")), (plain, known("mail")))
    slow, fast = tiles(found, "slow"), tiles(found, "fast")
    assert set(slow) == {"volume shop", "volume mail", "free free", "other other"}
    assert set(fast) == {"cache shop", "free free", "other other"}
    assert area(slow["volume shop"]) == pytest.approx(4 * area(slow["volume mail"]))
    assert found.guests is not None
    assert [tile.thing.name for tile in found.guests.tiles] == ["web12"]
    assert found.faults == ()


def test_free_space_is_never_more_than_a_quarter_and_comes_last() -> None:
    pvs = (make.pv(size_bytes=1000 * GIB, free_bytes=992 * GIB),)
    (free,) = (
        tile for name, tile in tiles(drawn(make.facts(make.lv(), pvs=pvs)), "slow").items()
        if name == "free free"
    )  # fmt: skip
    assert area(free) == pytest.approx(2500)
    assert free.thing.facts == ("992 GiB",)
    assert (free.place.x + free.place.width, free.place.y + free.place.height) == pytest.approx(
        (100, 100)
    )


def test_the_colours_are_the_figures_and_what_was_not_measured_is_unknown() -> None:
    slow, unmeasured = make.lv("a"), make.lv("b")
    found = drawn(make.facts(slow, unmeasured), (slow, known("shop", latency=SLOW)))
    there = tiles(found, "slow")
    assert there["volume shop"].thing.look == "tile-volume latency-4 busy-1"
    assert there["volume b"].thing.look == "tile-volume latency-unknown busy-unknown"
    assert "latency: unknown" in there["volume b"].thing.title


def test_a_cache_strip_has_fill_dirt_and_hit_rate_and_the_sample_is_newer_than_the_inventory() -> (
    None
):
    cache = make.dm_cache("c-aaaaaaaa", size_bytes=100, used_bytes=40, dirty_bytes=7)
    lv = make.lv(cache=cache)
    facts = make.facts(lv)
    sampled = known("shop", filled=0.9, dirty=0.0, hit_rate=0.97)
    for now, words in (
        (sampled, "90 % full, hit rate 97 %"),
        (known("shop"), "40 % full, 7 % dirty, hit rate unknown"),
    ):
        strip = tiles(drawn(facts, (lv, now)), "slow")["volume shop"].thing.strip
        assert strip is not None
        assert strip.words == f"cache 100 B, lvmcache, writethrough on md0: {words}"


def test_what_bcache_made_by_hand_has_not_written_back_is_said() -> None:
    backing = BareBacking("sdb", "bcache0", None, "writeback", "dirty", 3 << 20, ())
    (frame,) = drawn(make.facts(backings=(backing,), pvs=())).loose
    assert frame.tile.thing.name == "bcache0"
    assert frame.tile.thing.detail == "bcache, no cache, 3 MiB dirty"


def test_a_volume_that_waits_for_its_first_cache_says_so() -> None:
    lv = make.lv(bcache=make.bcache())
    thing = tiles(drawn(make.facts(lv), (lv, known("shop"))), "slow")["volume shop"].thing
    assert thing.strip is None
    assert thing.detail.endswith("bcache, no cache yet")


def test_a_failed_leg_reddens_its_array_caches_volumes_and_guests_and_names_the_customers() -> None:
    hit = make.lv("a", cache=make.dm_cache("c-aaaaaaaa", mode="writeback"), users=guest("one"))
    spared = make.lv("b", users=guest("two"))
    facts = make.facts(hit, spared, disks=DISKS, arrays=(DEGRADED,))
    found = drawn(facts, (hit, known("shop")), (spared, known("mail")))
    fast = tiles(found, "fast")
    assert fast["cache shop"].thing.look.endswith("tile-at-risk")
    assert tiles(found, "slow")["volume shop"].thing.look.endswith("tile-at-risk")
    assert tiles(found, "slow")["volume mail"].thing.fault is None
    assert found.guests is not None
    assert {tile.thing.name: tile.thing.trouble for tile in found.guests.tiles} == {
        "one": "md0: degraded: 1 of 2 disks",
        "two": "",
    }
    (frame,) = found.groups[0].tiers[0].devices
    assert [part.thing.trouble for part in frame.parts] == ["", "failed in md0"]
    assert [(line.level, str(line.fault), line.words) for line in found.faults] == [
        ("failed", "sdb2: failed in md0", ""),
        ("at risk", "md0: degraded: 1 of 2 disks", "1 volume of North."),
    ]


def test_a_failed_leg_below_a_writethrough_cache_puts_the_cache_at_risk_and_no_data() -> None:
    lv = make.lv("a", cache=make.dm_cache("c-aaaaaaaa"), users=guest())
    found = drawn(make.facts(lv, disks=DISKS, arrays=(DEGRADED,)), (lv, known("shop")))
    assert tiles(found, "fast")["cache shop"].thing.look.endswith("tile-cache-at-risk")
    assert tiles(found, "slow")["volume shop"].thing.fault is None
    assert [(line.level, line.words) for line in found.faults] == [
        ("failed", ""),
        ("at risk", ""),
        ("cache at risk", "1 volume of North."),
    ]


def test_a_disk_that_an_array_has_lost_is_drawn_as_missing() -> None:
    array = make.array(members=(ArrayMember("sda2", "in_sync"),), degraded_count=1)
    found = drawn(make.facts(disks=DISKS, arrays=(array,)))
    (frame,) = found.groups[0].tiers[0].devices
    assert [part.thing.kind for part in frame.parts] == ["disk", "missing"]
    assert [str(line.fault) for line in found.faults] == ["md0: degraded: 1 of 2 disks"]


def test_a_missing_ssd_is_drawn_and_reddens_the_caches_on_it() -> None:
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaa", pvs=("[unknown]",)), users=guest())
    pvs = (make.pv(), make.fast_pv("[unknown]", missing=True, redundant=False))
    found = drawn(make.facts(lv, pvs=pvs, vgs=(make.vg(missing_pv_count=1),)), (lv, known("shop")))
    (group,) = found.groups
    assert group.trouble == "1 device missing"
    (frame,) = group.tiers[0].devices
    assert (frame.tile.thing.kind, frame.tile.thing.name) == ("missing", "missing device")
    assert tiles(found, "fast")["cache shop"].thing.look.endswith("tile-failed")
    assert {line.level for line in found.faults} == {"failed"}


def test_only_guests_are_drawn_as_guests() -> None:
    fio, swap = VolumeUser("process", "fio", "", 9), VolumeUser("swap", "swap", "", None)
    one, two = make.lv("a", users=(*guest(), fio)), make.lv("b", users=(fio, swap))
    found = drawn(make.facts(one, two), (one, known("a")), (two, known("b")))
    assert found.guests is not None
    assert [tile.thing.name for tile in found.guests.tiles] == ["web12"]
    assert found.others == ("fio (2 volumes)", "swap (1 volume)")


def test_a_guest_looks_as_the_worst_of_its_volumes() -> None:
    one, two = make.lv("a", users=guest()), make.lv("b", users=guest())
    found = drawn(make.facts(one, two), (one, known("a")), (two, known("b", latency=SLOW)))
    assert found.guests is not None
    (tile,) = found.guests.tiles
    assert dict(tile.thing.heats) == {"latency": SLOW, "busy": IDLE}
    assert tile.thing.url == "", "it has two volumes"
    unmeasured = drawn(make.facts(one, two), (one, known("a"))).guests
    assert unmeasured is not None
    assert dict(unmeasured.tiles[0].thing.heats)["latency"] == UNKNOWN


def test_the_list_begins_with_what_is_worst() -> None:
    lvs = [make.lv(name) for name in ("fine", "slow", "broken")]
    lvs[2] = make.lv("broken", health="partial")
    fine, slow, broken = lvs
    found = drawn(
        make.facts(*lvs), (fine, known("fine")), (slow, known("slow", latency=SLOW)),
        (broken, known("broken")),
    )  # fmt: skip
    assert [each.thing.name for each in found.groups[0].volumes] == ["broken", "slow", "fine"]


def test_keys_are_unique_in_a_map() -> None:
    lvs = [
        make.lv(f"v{n}", cache=make.dm_cache(f"c-aaaaaaa{n}"), users=guest(f"g {n}"),
                segments=(make.segment("sdc"), make.segment("md0")), size_bytes=16 * GIB)
        for n in range(3)
    ]  # fmt: skip
    disks = (*DISKS, make.disk("sdd"), make.disk("sde"))
    found = drawn(make.facts(*lvs, disks=disks, arrays=(make.array(),)))
    keys = [tile.thing.key for tile in found.guests.tiles] if found.guests else []
    for tier in found.groups[0].tiers:
        keys += [tile.thing.key for tile in tier.volumes.tiles]
        frames = tier.devices
        keys += [tile.thing.key for frame in frames for tile in (frame.tile, *frame.parts)]
    keys += [frame.tile.thing.key for frame in found.loose]
    assert len(found.loose) == 2
    assert len(keys) == len(set(keys))


def test_pictures_are_higher_on_a_small_screen() -> None:
    assert all(narrow >= wide for wide, narrow in HEIGHTS_PX.values())
