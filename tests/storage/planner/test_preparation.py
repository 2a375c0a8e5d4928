"""The one step that makes an SSD a part of a volume group."""

from __future__ import annotations

import pytest

from storage.planner import Refused
from storage.planner.ssd_wish import Preparation, prepare
from tests import make

WANTED = Preparation("sde", "ssd2", make.VG_UUID, "vg0")


def test_the_agent_gets_the_device_by_name_and_serial_number() -> None:
    (step,) = prepare(make.facts(), WANTED)
    assert (step.verb, step.expect) == ("ssd.prepare", {"vg_uuid": make.VG_UUID})
    assert step.args == {"vg": "vg0", "device": "sde", "serial": "ssd2"}
    assert step.holds_vg


def test_nothing_is_left_once_it_is_there() -> None:
    assert prepare(make.facts(pvs=(make.pv(), make.fast_pv("sde"))), WANTED) == ()


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"consistent": False}, "inconsistent"),
        ({"vgs": ()}, "not_found"),
        ({"vgs": (make.vg(allowed=False),)}, "observe_only"),
        ({"vgs": (make.vg(missing_pv_count=1),)}, "degraded"),
        ({"pvs": (make.pv(duplicate=True),)}, "degraded"),
    ],
)
def test_a_group_that_is_gone_or_not_ours_or_broken_is_left_alone(
    fields: dict[str, object], code: str
) -> None:
    with pytest.raises(Refused) as refused:
        prepare(make.facts(**fields), WANTED)
    assert refused.value.code == code


def test_a_device_with_other_sectors_is_no_part_of_the_group() -> None:
    facts = make.facts(disks=(make.disk("sde", logical_sector_bytes=4096),))
    with pytest.raises(Refused, match="sectors of 4096 bytes, the disks of vg0 have 512"):
        prepare(facts, WANTED)
    assert prepare(make.facts(disks=(make.disk("sde"),)), WANTED)
