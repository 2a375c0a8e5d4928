"""The host's own root, /boot, /usr, /var and swap are left alone by every plan."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from storage.byte_sizes import GIB
from storage.inventory.volume_parts import VolumeUser
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner.case import KEY, PLAIN, lvmcache, ours, refused, verbs

WISHES = (lvmcache(), Wish(9 * GIB), Wish(8 * GIB, "ssd"))


@pytest.mark.parametrize("wish", WISHES, ids=str)
@pytest.mark.parametrize(
    "fields",
    [
        {"host_use": "mounted at /"},
        {"host_use": "swap"},
        {"users": (VolumeUser("mount", "/var/lib", "", None),)},
        {"users": (VolumeUser("swap", "/dev/vg0/swap", "", None),)},
    ],
    ids=str,
)
def test_what_the_host_lives_on_is_neither_cached_nor_grown_nor_moved(
    fields: dict[str, Any], wish: Wish
) -> None:
    lv = ours(**fields)
    assert refused(make.facts(lv), lv, wish) == "in_use"
    assert verbs(make.facts(lv), lv, PLAIN) == []


def test_it_is_not_put_under_management_either() -> None:
    lv = make.lv("root", host_use="mounted at /")
    assert refused(make.facts(lv), lv, PLAIN) == "in_use"


def test_a_cache_that_it_has_is_taken_off() -> None:
    cache = make.dm_cache(f"c-{KEY}_cpool")
    lv = ours(cache=cache, layout=("cache",), host_use="mounted at /")
    assert verbs(make.facts(lv), lv, PLAIN) == ["cache.detach", "volume.clear"]


def test_what_the_host_only_stores_on_is_a_volume_like_any() -> None:
    lv = ours(users=(VolumeUser("mount", "/srv", "", None),))
    assert verbs(make.facts(lv), lv, Wish(9 * GIB)) == ["volume.extend", "guest.resize"]
    free = dataclasses.replace(lv, host_use="")
    assert verbs(make.facts(free), free, Wish(9 * GIB)) == ["volume.extend", "guest.resize"]
