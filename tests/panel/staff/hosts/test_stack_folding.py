"""Which volumes of a full host are drawn, and what is said of the others."""

from __future__ import annotations

from panel.staff.hosts.storage_stack import Folded, Rest, fold, stack_of
from storage.byte_sizes import GIB
from storage.inventory.facts import LogicalVolume, VolumeUser
from tests import make

GUEST = (VolumeUser("qemu", "web12", "vda", 7),)


def folded(
    *lvs: LogicalVolume, waits: dict[str, float] | None = None, limit: int | None = 2
) -> Folded:
    (group,) = stack_of(make.facts(*lvs)).groups
    return fold(group.pillars, waits or {}, limit)


def drawn(found: Folded) -> list[str]:
    return [pillar.volume.name for pillar in found.drawn]


def test_a_small_host_is_drawn_whole() -> None:
    found = folded(make.lv("a"), make.lv("b"))
    assert drawn(found) == ["a", "b"]
    assert found.rest is None


def test_trouble_comes_first_then_whose_io_waits_then_what_is_used_then_the_largest() -> None:
    waiting = make.lv("waiting")
    found = folded(
        make.lv("large", size_bytes=99 * GIB),
        make.lv("used", users=GUEST),
        waiting,
        make.lv("broken", health="partial"),
        waits={waiting.uuid: 0.5},
        limit=None,
    )
    assert drawn(found) == ["broken", "waiting", "used", "large"]


def test_the_rest_is_counted() -> None:
    found = folded(
        make.lv("broken", health="partial"),
        make.lv("bad", health="partial"),
        make.lv("cached", cache=make.dm_cache("c-aaaaaaaa"), size_bytes=3 * GIB),
        make.lv("used", users=GUEST, size_bytes=2 * GIB),
        make.lv("ready", bcache=make.bcache(), size_bytes=GIB),
    )
    assert drawn(found) == ["bad", "broken"]
    assert found.rest == Rest(count=3, size_bytes=6 * GIB, cached_count=1, used_count=1)


def test_bars_are_measured_by_the_largest_volume_drawn_or_not() -> None:
    found = folded(make.lv("a", health="partial"), make.lv("b", size_bytes=77 * GIB), limit=1)
    assert drawn(found) == ["a"]
    assert found.largest_bytes == 77 * GIB
