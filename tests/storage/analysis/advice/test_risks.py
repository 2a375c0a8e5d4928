"""Risks that an inventory shows, beside those that the agent reported."""

from __future__ import annotations

from typing import Any

import pytest

from storage.analysis.advice.outlook import risks_of
from storage.health.host_problems import HealthFinding
from storage.inventory.facts import LogicalVolume
from storage.models import Host
from storage.naming import ZEROED_TAG
from tests import make

REPORTED = {"code": "kernel_old", "severity": "error", "message": "Kernel 4.4 is old"}


def risks(*lvs: LogicalVolume, problems: Any = (), **facts: Any) -> tuple[HealthFinding, ...]:
    host = Host(name="node1", problems=list(problems))
    return risks_of(host, make.facts(*lvs, **facts))


def test_what_the_agent_reported_is_a_risk() -> None:
    (risk,) = risks(problems=[{**REPORTED, "correction": "Upgrade it"}])
    assert (risk.severity, risk.correction) == ("error", "Upgrade it")


def test_a_plain_host_has_no_risk() -> None:
    assert risks(make.lv()) == ()


def test_writeback_on_a_degraded_mirror_comes_first() -> None:
    cache = make.dm_cache("theirs", mode="writeback", dirty_bytes=2**20)
    lv = make.lv(cache=cache, tags=("tiercel",))
    worst, _reported = risks(
        lv,
        problems=[{**REPORTED, "severity": "warning"}],
        pvs=(make.pv(), make.fast_pv(healthy=False)),
    )
    assert worst.severity == "error"
    assert "1 MiB of data is on one SSD only" in worst.message
    assert "switch to writethrough in the panel" in worst.correction
    assert "--cachemode" not in worst.correction


@pytest.mark.parametrize(
    ("fields", "words", "correction"),
    [
        ({"policy": "cleaner"}, "caches nothing new", "lvchange --cachepolicy smq vg0/web12"),
        (
            {"migration_threshold_sectors": 8192},
            "lost at the next reboot",
            "lvchange --cachesettings migration_threshold=8192 vg0/web12",
        ),
    ],
)
def test_settings_of_a_foreign_lvm_cache_are_looked_at(
    fields: dict[str, Any], words: str, correction: str
) -> None:
    cache = make.dm_cache("theirs", **{"migration_threshold_sectors": 2048, **fields})
    (risk,) = risks(make.lv(cache=cache))
    assert words in risk.message
    assert risk.correction.endswith(correction)


@pytest.mark.parametrize(
    ("tags", "how"),
    [
        (("tiercel",), "its page has Remove the cache"),
        ((), "on the host: lvconvert --splitcache vg0/web12"),
    ],
)
def test_a_removal_that_was_interrupted_is_to_be_finished(tags: tuple[str, ...], how: str) -> None:
    fields = {"policy": "cleaner", "lvm_policy": "smq", "migration_threshold_sectors": 2048}
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaa", **fields), tags=tags)
    (risk,) = risks(lv)
    assert "was interrupted" in risk.message
    assert risk.correction == f"Remove the cache ({how}), then add a cache again."
    assert risks(lv, stale=True) == (), "LVM is at work, and may well end it"


def test_how_much_a_failed_cache_has_not_written_back_is_unknown() -> None:
    cache = make.dm_cache("c-aaaaaaaa", mode="writeback", failed=True)
    lv = make.lv(cache=cache, tags=("tiercel",))
    (risk,) = risks(lv, pvs=(make.pv(), make.fast_pv(healthy=False)))
    assert "an unknown amount of data is on one SSD only" in risk.message


def test_a_cache_that_was_never_zeroed_is_to_be_replaced() -> None:
    ours = make.tags("aaaaaaaabbbbbbbb")
    for zeroed, count in ((False, 1), (True, 0)):
        made = make.tags("aaaaaaaabbbbbbbb", made="pool")
        tags = tuple(tag for tag in made if zeroed or tag != ZEROED_TAG)
        pool = make.pool("c-aaaaaaaabbbbbbbb_cpool", tags=tags)
        cache = make.dm_cache("c-aaaaaaaabbbbbbbb", pool_uuid=pool.uuid)
        found = risks(make.lv(cache=cache, tags=ours), pool)
        assert [risk.severity for risk in found] == ["warning"] * count
        assert all("add it again" in risk.correction for risk in found)


def test_lvm_keeps_the_settings_of_a_cache_that_tiercel_made() -> None:
    assert risks(make.lv(cache=make.dm_cache("c-aaaaaaaa"), tags=("tiercel",))) == ()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sequential_cutoff_bytes": 0}, "sequential_cutoff 0 B, which bcache resets"),
        ({"writeback_percent": 40}, "writeback_percent 40, which bcache resets"),
    ],
)
def test_bcache_forgets_its_settings_at_a_reboot(fields: dict[str, int], words: str) -> None:
    kernel = {"sequential_cutoff_bytes": 4 * 2**20, "writeback_percent": 10}
    backing = make.bcache(cset_uuid=make.CSET_UUID, **{**kernel, **fields})
    (risk,) = risks(make.lv(bcache=backing))
    assert words in risk.message
    assert risks(make.lv(bcache=backing, tags=("tiercel",))) == (), "the agent restores them"


def test_bcache_as_the_kernel_sets_it_is_no_risk() -> None:
    kernel = {"sequential_cutoff_bytes": 4 * 2**20, "writeback_percent": 10}
    assert risks(make.lv(bcache=make.bcache(cset_uuid=make.CSET_UUID, **kernel))) == ()
    assert risks(make.lv(bcache=make.bcache(sequential_cutoff_bytes=0))) == ()
