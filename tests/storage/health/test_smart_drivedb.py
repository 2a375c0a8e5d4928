"""The units that the panel takes from names and models, held against smartmontools' own table: the
real models that its authors tested it with, and the attributes of each."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from storage.agent.kernel import smartctl
from storage.health.smart_endurance import GIB, MIB, counter_of
from storage.health.smart_reading import SmartHealth
from storage.host_data import decoded
from tests.lab.vm import Lab
from tests.smart_disks import ata, attribute
from tests.smart_drivedb import Family, families

DRIVEDB = "/usr/share/smartmontools/drivedb.h"
WRITES = re.compile(r"writ|wts|lba", re.IGNORECASE)
UNITS = {"_32MiB": 32 * MIB, "_MiB": MIB, "_GiB": GIB}


def taken(family: Family, model: str) -> tuple[str, int | None, str] | None:
    """The name of the attribute that is taken for the model, its unit, and how that is known."""
    rows = [
        attribute(number, name, 1000)
        for number, name in family.attributes.items()
        if WRITES.search(name)
    ]
    health = decoded(smartctl.health(ata(model, "S1", rows)), SmartHealth, "smart")
    counter = counter_of(health)
    if counter is None:
        return None
    return counter.source.rpartition(" ")[2], counter.unit_bytes, counter.standing


@pytest.mark.lab
@pytest.mark.xdist_group("lab")
def test_no_unit_contradicts_what_smartmontools_calls_the_attributes_of_its_models(
    lab: Lab,
) -> None:
    text = lab.run(["cat", DRIVEDB]).stdout
    standings: Counter[str] = Counter()
    for family in families(text):
        for model in family.tested:
            found = taken(family, model)
            if found is None:
                continue
            name, unit_bytes, standing = found
            standings[standing] += 1
            named = next((unit for end, unit in UNITS.items() if name.endswith(end)), None)
            assert "NAND" not in name and "Flash" not in name, (model, name)
            if standing == "name":
                assert unit_bytes == named, (model, name)
            elif standing == "model":
                assert named in (None, unit_bytes), (model, name)
            else:
                assert (standing, unit_bytes, named) == ("unknown", None, None), (model, name)
    assert standings.total() >= 300 and standings["name"] >= 100
