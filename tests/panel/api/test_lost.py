"""PUT wish where the SSD of the cache is lost: as the volume's page has it."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Job
from storage.byte_sizes import GIB
from storage.models import Sample
from storage.planner.wish import Wish
from tests import make
from tests.panel.api.asking import Program, problem, staff
from tests.scene import Scene, scene

pytestmark = pytest.mark.django_db

POOL = "c-aaaaaaaaaaaaaaaa"
GONE = "[unknown]"


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def without_ssd(**cache: Any) -> Scene:
    """A volume on SSD whose cache lies on another SSD, which is lost."""
    return scene(
        make.lv(cache=make.dm_cache(POOL, pvs=(GONE,), **cache), pvs=("md1",), health="partial"),
        pvs=(make.pv(), make.fast_pv("md1"), make.fast_pv(GONE, missing=True)),
        vgs=(make.vg(missing_pv_count=1),),
    )


def test_null_gives_up_a_lost_cache_that_was_clean(asking: Program) -> None:
    there = without_ssd()
    assert asking.put_wish(there, None).status_code == 202
    made = Job.objects.get()
    wish = Wish.from_json(made.wish)
    assert (made.kind, wish.cache, wish.tier) == ("drop-cache", None, "ssd")


@pytest.mark.parametrize("cache", [{"mode": "writeback"}, {"dirty_bytes": 65536}, {"failed": True}])
def test_null_gives_up_no_lost_cache_that_may_hold_data(
    asking: Program, cache: dict[str, Any]
) -> None:
    body = problem(asking.put_wish(without_ssd(**cache), None), 422, "unsupported")
    assert "dropped safely" in body["detail"]
    assert "by hand" in body["correction"]
    assert not Job.objects.exists()


def test_null_gives_up_no_lost_cache_that_was_dirty_when_it_last_told(asking: Program) -> None:
    there = without_ssd()
    zero = dict.fromkeys(
        ("reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms"), 0
    )
    Sample.objects.create(
        volume=there.volume, ts=timezone.now(), dt_ms=1, dirty_bytes=65536, **zero
    )
    problem(asking.put_wish(there, None), 422, "unsupported")


def test_a_lost_ssd_still_refuses_any_other_wish(asking: Program) -> None:
    problem(asking.put_wish(without_ssd(), {"size_bytes": GIB}), 422, "degraded")
