"""PUT wish where the SSD of the cache is lost: as the volume's page has it."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from jobs.models import BulkChange, Job, Kind, State
from jobs.queue.submit import right_to
from storage.access import Right
from storage.byte_sizes import GIB
from storage.models import Sample, Volume
from storage.planner.wish import Wish
from tests import make
from tests.panel.api.asking import Program, problem, program, staff
from tests.scene import Scene, end, job, scene

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


def test_null_gives_up_no_lost_cache_that_was_dirty_when_last_read(asking: Program) -> None:
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


def with_only(*scopes: str) -> Program:
    return program(make.staff_user(staff_role="operator"), *scopes)


def test_to_give_up_a_lost_cache_by_a_wish_a_token_needs_the_scope_of_destroying() -> None:
    there = without_ssd()
    problem(with_only("volumes:write").put_wish(there, None), 403, "insufficient_scope")
    assert not Job.objects.exists()
    previewed = with_only("volumes:preview").put_wish(there, None, query="?dry_run=true")
    assert previewed.status_code == 202
    made = with_only("volumes:destroy").put_wish(there, None)
    assert (made.status_code, made.json()["kind"]) == (202, "drop-cache")


def test_the_scope_of_destroying_alone_removes_no_cache_that_is_whole() -> None:
    there = scene(make.lv(cache=make.dm_cache(POOL)))
    problem(with_only("volumes:destroy").put_wish(there, None), 403, "insufficient_scope")
    assert with_only("volumes:write").put_wish(there, None).status_code == 202


def test_no_repair_gives_up_a_lost_cache(asking: Program) -> None:
    """The record has no cache, and the cache that is there was lost."""
    there = without_ssd()
    wish = Wish(there.volume.size_bytes, "ssd").to_json()
    Volume.objects.filter(pk=there.volume.pk).update(wish=wish)
    path, key = f"/volumes/{there.volume.key}/drift/repair", {"Idempotency-Key": "k"}
    problem(asking.send("post", path, **key), 422, "degraded")
    assert not Job.objects.exists()


@pytest.mark.parametrize("kind", [Kind.DROP_CACHE, Kind.DESTROY_VOLUME])
def test_a_job_that_destroys_is_not_let_go_on_without_it(kind: Kind) -> None:
    stuck = job(scene(), kind=kind, state=State.NEEDS_ATTENTION)
    path, key = f"/jobs/{stuck.key}/resume", {"Idempotency-Key": "k"}
    problem(with_only("volumes:write").send("post", path, **key), 403, "insufficient_scope")
    needs_admin = right_to(stuck) == Right.ADMINISTER
    asking = program(make.staff_user(staff_role="admin"), "volumes:destroy")
    refused = with_only("volumes:destroy").send("post", path, **key)
    assert refused.status_code == (403 if needs_admin else 202)
    assert not needs_admin or asking.send("post", path, **key).status_code == 202


@pytest.mark.parametrize("kind", [Kind.DROP_CACHE, Kind.DESTROY_VOLUME])
def test_its_preview_is_not_applied_without_it(kind: Kind) -> None:
    preview = job(scene(), kind=kind, dry_run=True)
    end(preview)
    path, key = f"/jobs/{preview.key}/apply", {"Idempotency-Key": "k"}
    asking = program(make.staff_user(staff_role="admin"), "volumes:write", "hosts:write")
    problem(asking.send("post", path, **key), 403, "insufficient_scope")


def test_a_change_of_many_volumes_gives_up_no_lost_cache(asking: Program) -> None:
    body = {"action": "remove-cache", "volumes": [without_ssd().volume.key]}
    assert asking.send("post", "/bulk-changes/?dry_run=true", body).json()["good_count"] == 0
    asking.send("post", "/bulk-changes/", body)
    assert not Job.objects.exists()
    assert [change.items for change in BulkChange.objects.all()] in ([], [[]])
