"""Which SSDs of a host could give their space to a volume group."""

from __future__ import annotations

import pytest

from storage.inventory.facts import ArrayMember, Disk
from storage.planner.ssd_wish import Preparation, spares_of
from storage.planner.wish import BadWish
from tests import make


def ssd(name: str, **fields: object) -> Disk:
    return make.disk(name, **{"rotational": False, "serial": f"serial-{name}", **fields})


def test_an_unused_ssd_and_an_unused_array_of_ssds_are_spare() -> None:
    members = (ArrayMember("sdf", "in_sync"), ArrayMember("sdg", "in_sync"))
    pair = make.array(name="md7", uuid="aa:bb", members=members)
    found = make.facts(disks=(ssd("sde"), ssd("sdf"), ssd("sdg")), arrays=(pair,))
    assert [(each.name, each.serial, each.is_redundant) for each in spares_of(found)] == [
        ("sde", "serial-sde", False),
        ("md7", "aa:bb", True),
    ]


@pytest.mark.parametrize(
    "fields", [{"rotational": True}, {"serial": ""}, {"read_only": True}], ids=str
)
def test_what_is_no_ssd_or_has_no_serial_number_or_is_read_only_is_not(
    fields: dict[str, object],
) -> None:
    assert spares_of(make.facts(disks=(ssd("sde", **fields),))) == ()


def test_what_a_group_lies_on_is_not_spare_nor_is_an_array_with_a_slow_disk() -> None:
    members = (ArrayMember("sdf", "in_sync"), ArrayMember("sdh", "in_sync"))
    mixed = make.array(name="md7", members=members)
    found = make.facts(
        disks=(ssd("sde"), ssd("sdf"), make.disk("sdh", rotational=True)),
        arrays=(mixed,),
        pvs=(make.fast_pv("sde1"),),
    )
    assert spares_of(found) == ()


def test_a_preparation_says_in_json_what_it_is() -> None:
    wanted = Preparation("sde", "ssd2", "uuid", "vg0")
    assert Preparation.from_json(wanted.to_json()) == wanted
    for odd in (None, {}, {**wanted.to_json(), "more": ""}, {**wanted.to_json(), "device": 1}):
        with pytest.raises(BadWish):
            Preparation.from_json(odd)
