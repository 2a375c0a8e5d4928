"""One volume that this LVM does not understand is one volume."""

from __future__ import annotations

import pytest

from tests.reported.host import Seen


def host(kind: str, layout: str = "unknown") -> Seen:
    return Seen(
        policy={"vgs": ["tank"]},
        disks=[{"name": "nvme0n1", "dev": "259:0"}],
        lvm={
            "vgs": [{"name": "tank"}],
            "pvs": [{"name": "/dev/nvme0n1", "vg": "tank"}],
            "lvs": [
                {"vg": "tank", "name": "root", "devices": ["/dev/nvme0n1(0)"]},
                {"vg": "tank", "name": "odd", "layout": layout, "type": kind, "active": False,
                 "devices": [], "tags": "tiercel,tiercel.volume=abcdefgh"},
            ],
        },
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["thin-pool+CROP_METADATA", "raid1+INTEGRITY", "hologram"])
def test_a_type_of_a_later_lvm_concerns_its_volume_alone(kind: str) -> None:
    seen = host(kind)
    assert [lv.name for lv in seen.host.lvs] == ["odd", "root"]
    assert "vg_unsound" not in seen.codes and "lv_unknown_type" in seen.codes
    assert kind in seen.text and "Upgrade LVM" in seen.text
    assert "lvchange -ay" not in seen.text


def test_a_type_that_no_lvm_writes_still_leaves_the_group_out() -> None:
    seen = host("linear;rm -rf")
    assert seen.host.lvs == () and "vg_unsound" in seen.codes
