"""bcache devices that root made by hand, and cache sets that are not whole."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reported.host import Seen

SET = "0f1e2d3c-0000-4000-8000-00000000beef"


def host(backing: dict[str, Any], *sets: dict[str, Any]) -> Seen:
    """A bcache on sdb1, and a group `tank` on another disk."""
    usual = {"on": "sdb1", "cache_mode": "writethrough [writeback] writearound none",
             "dirty_data": "0.0k", "writeback_percent": "10"}  # fmt: skip
    return Seen(
        disks=[{"name": "sda"}, {"name": "sdb", "dev": "8:16", "partitions": ["sdb1"]},
               {"name": "sdc", "dev": "8:32", "partitions": ["sdc1"]}],
        lvm={
            "vgs": [{"name": "tank"}],
            "pvs": [{"name": "/dev/sda", "vg": "tank"}],
            "lvs": [{"vg": "tank", "name": "web", "devices": ["/dev/sda(0)"]}],
        },
        bcache={"backings": [{**usual, **backing}], "sets": sets},
    )  # fmt: skip


WHOLE = {"uuid": SET, "on": "sdc1", "bucket_size": "512.0k", "backings": ["sdb1"]}
HALF = {"uuid": SET, "bucket_size": "512.0k", "backings": ["sdb1"]}


@pytest.mark.parametrize(
    ("backing", "words"),
    [
        ({"state": "dirty"}, "what was written last is on the missing SSD alone"),
        ({"state": "inconsistent"}, "what was written last is on the missing SSD alone"),
        ({"state": "clean"}, "It was clean when it was last used"),
        ({"state": "dirty", "device": "bcache0"}, "runs without its cache set"),
        ({"state": "inconsistent", "device": "bcache0"}, "runs without its cache set"),
    ],
)
def test_a_bcache_that_lacks_its_ssd_is_an_error(backing: dict[str, Any], words: str) -> None:
    seen = host(backing)
    assert seen.codes == ["bcache_waiting"]
    assert seen.text.startswith("error") and words in seen.text and "sdb1" in seen.text


@pytest.mark.parametrize("state", ["dirty", "inconsistent"])
def test_it_is_started_without_its_ssd_only_where_it_was_clean(state: str) -> None:
    assert "echo 1 >" not in host({"state": state}).text
    assert "echo 1 >" in host({"state": "clean"}).text


@pytest.mark.parametrize("state", ["clean", "dirty"])
def test_one_with_its_ssd_is_well(state: str) -> None:
    seen = host({"state": state, "device": "bcache0", "set": SET}, WHOLE)
    assert "bcache_waiting" not in seen.codes and "cset_without_device" not in seen.codes


def test_one_that_never_had_an_ssd_is_well() -> None:
    assert host({"state": "no cache", "device": "bcache0"}).codes == []


def test_a_cache_set_without_its_device_blinds_nothing_and_is_reported() -> None:
    seen = host({"state": "dirty", "device": "bcache0", "set": SET}, HALF)
    assert seen.lv("web").name == "web"
    (cset,) = seen.host.csets
    assert (cset.uuid, cset.device) == (SET, None)
    assert "cset_without_device" in seen.codes
