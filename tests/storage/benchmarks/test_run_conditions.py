"""What a host said of itself, as conditions."""

from __future__ import annotations

import pytest

from storage.analysis.comparison import Conditions
from storage.benchmarks.run_conditions import reported_conditions

HDD = {"tier": "slow", "model": "ST4000 ", "firmware": "0001", "scheduler": "mq-deadline"}
MITIGATIONS = {"l1tf": "Mitigation: PTE", "mds": "Not affected"}
SAID = {
    "versions": {"lvm2": "2.03.16", "bcache_tools": "1.0.8", "fio": "3.33"},
    "cpu": {"governor": "performance", "mitigations": MITIGATIONS},
    "disks": [
        {"name": "sda", **HDD},
        {"name": "sdb", **HDD},
        {"name": "sdc", "tier": "fast", "model": "SM863", "firmware": "G", "scheduler": "none"},
    ],
    "arrays": [{"name": "md0", "tier": "slow", "level": "raid1", "chunk_size": "65536"}],
}


def test_disks_of_one_model_are_one_condition() -> None:
    known = reported_conditions(SAID)
    assert (known.hdd_model, known.ssd_model) == ("ST4000", "SM863")
    assert known.io_scheduler == "mq-deadline + none"
    assert (known.raid_level, known.stripe_bytes) == ("HDD raid1", 65_536)
    assert (known.lvm2_version, known.cpu_governor) == ("2.03.16", "performance")
    assert known.mitigations == "l1tf"


@pytest.mark.parametrize(
    "lie", [{}, {"disks": 7}, {"disks": [7]}, {"cpu": []}, {"arrays": {"a": 1}}, {"versions": 3}]
)
def test_what_has_no_expected_form_is_unknown(lie: dict[str, object]) -> None:
    assert reported_conditions(lie) == Conditions()
