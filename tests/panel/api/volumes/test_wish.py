"""PUT wish: from what is to what should be, by the rules of the pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Job, State
from panel.api.framework.shape import show
from panel.api.volumes.wish_shapes import WishShape
from storage.byte_sizes import GIB, MIB
from storage.models import Placement
from storage.planner.wish import Bcache, LvmCache, Wish
from tests import make
from tests.panel.api.asking import Program, problem, staff
from tests.scene import Scene, end, job, scene, step

pytestmark = pytest.mark.django_db

POOL = "c-aaaaaaaaaaaaaaaa"
TWO_GIB = {"size_bytes": 2 * GIB, "mode": "writethrough"}
THRESHOLD = {"migration_threshold_sectors": 16384}


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def cached(**fields: Any) -> Scene:
    return scene(make.lv(cache=make.dm_cache(POOL, **fields)))


def test_a_wish_for_a_cache_becomes_a_job_like_that_of_a_page(asking: Program) -> None:
    there = scene()
    response = asking.put_wish(there, TWO_GIB)
    made = Job.objects.get()
    assert response.status_code == 202
    assert response["Location"] == f"/api/v1/jobs/{made.key}" == response.json()["url"]
    assert (made.kind, made.dry_run, made.origin) == ("add-cache", False, "api")
    assert (made.actor, asking.text[4:16]) == (asking.user, made.token)
    assert made.address == "127.0.0.1"
    wish = Wish.from_json(made.wish)
    assert isinstance(wish.cache, LvmCache)
    assert (wish.cache.size_bytes, wish.cache.mode) == (2 * GIB, "writethrough")


def test_the_answer_says_whether_it_is_a_wish_or_a_job(asking: Program) -> None:
    there = cached()
    assert asking.put_wish(there, TWO_GIB).json()["object"] == "wish"
    assert asking.put_wish(there, None).json()["object"] == "job"
    assert asking.get(f"/volumes/{there.volume.key}/wish").json()["object"] == "wish"


def test_any_size_may_be_wished_for(asking: Program) -> None:
    response = asking.put_wish(scene(), {"size_bytes": 777 * MIB + 1})
    assert response.status_code == 202
    assert response.json()["wish"]["cache"] == {
        "size_bytes": 777 * MIB + 1,
        "mode": "writethrough",
        **THRESHOLD,
    }


def test_without_its_cache_a_volume_stays_where_it_lies(asking: Program) -> None:
    there = scene(make.lv(cache=make.dm_cache(POOL), pvs=("md0",)))
    assert asking.put_wish(there, None).status_code == 202
    wish = Wish.from_json(Job.objects.get().wish)
    assert (wish.cache, wish.tier) == (None, "ssd")


@pytest.mark.parametrize("size_bytes", [2 * GIB, 2 * GIB - 1])
def test_what_is_so_already_is_no_job(asking: Program, size_bytes: int) -> None:
    response = asking.put_wish(cached(), {"size_bytes": size_bytes, "mode": "writethrough"})
    assert response.status_code == 200
    now = response.json()
    assert (now["cache"], now["is_met"], now["job"]) == (TWO_GIB | THRESHOLD, True, None)
    assert not Job.objects.exists()


def test_no_cache_on_a_bare_volume_is_so_already(asking: Program) -> None:
    response = asking.put_wish(scene(), None)
    assert (response.status_code, response.json()["cache"]) == (200, None)


def test_null_removes_the_cache(asking: Program) -> None:
    assert asking.put_wish(cached(), None).status_code == 202
    made = Job.objects.get()
    assert (made.kind, Wish.from_json(made.wish).cache) == ("remove-cache", None)


def test_another_mode_changes_the_cache_that_is_there(asking: Program) -> None:
    wanted = {"size_bytes": 2 * GIB, "mode": "writeback"}
    assert asking.put_wish(cached(), wanted).status_code == 202
    made = Job.objects.get()
    wish = Wish.from_json(made.wish)
    assert isinstance(wish.cache, LvmCache)
    assert (made.kind, wish.cache.name, wish.cache.mode) == ("set-cache", POOL, "writeback")


def test_another_size_puts_a_new_cache_in_the_place_of_the_old_one(asking: Program) -> None:
    there = cached(migration_threshold_sectors=4096)
    assert asking.put_wish(there, {"size_bytes": GIB, "mode": "writeback"}).status_code == 202
    made = Job.objects.get()
    cache = Wish.from_json(made.wish).cache
    assert isinstance(cache, LvmCache)
    assert (made.kind, cache.size_bytes, cache.mode) == ("replace-cache", GIB, "writeback")
    assert cache.name != POOL
    assert cache.migration_threshold_sectors == 4096


def with_cache(technology: str, mode: str) -> Scene:
    if technology == "lvmcache":
        return cached(mode=mode)
    device = make.lv("s-aaaaaaaaaaaaaaaa", size_bytes=2 * GIB, pvs=("md0",))
    backing = make.bcache(cset_uuid=make.CSET_UUID, cache_mode=mode, state="clean")
    return scene(
        make.lv(bcache=backing),
        layout="bcache",
        more_lvs=(device,),
        csets=(make.cset(device.uuid),),
    )


@pytest.mark.parametrize("technology", ["lvmcache", "bcache"])
@pytest.mark.parametrize("mode", ["writethrough", "writeback"])
def test_a_mode_that_is_left_out_stays(asking: Program, technology: str, mode: str) -> None:
    there = with_cache(technology, mode)
    answer = asking.put_wish(there, {"size_bytes": 2 * GIB})
    assert (answer.status_code, answer.json()["is_met"]) == (200, True)
    assert asking.put_wish(there, {"size_bytes": 4 * GIB}).status_code == 202
    made = Job.objects.get()
    said = show(WishShape, Wish.from_json(made.wish), staff=True)["cache"]
    assert (made.kind, said["mode"]) == ("replace-cache", mode)
    # The job that is under way has the mode, too.
    assert asking.put_wish(there, {"size_bytes": 4 * GIB}).json()["key"] == made.key


@pytest.mark.parametrize("technology", ["lvmcache", "bcache"])
def test_a_mode_stays_where_only_a_setting_is_wished_for(asking: Program, technology: str) -> None:
    setting = {
        "lvmcache": {"migration_threshold_sectors": 0},
        "bcache": {"sequential_cutoff_bytes": 1024},
    }[technology]
    asking.put_wish(with_cache(technology, "writeback"), {"size_bytes": 2 * GIB, **setting})
    made = Job.objects.get()
    said = show(WishShape, Wish.from_json(made.wish), staff=True)["cache"]
    assert (made.kind, said["mode"]) == ("set-cache", "writeback")


def test_a_setting_alone_changes_the_cache_that_is_there(asking: Program) -> None:
    there = cached()
    assert asking.put_wish(there, {**TWO_GIB, **THRESHOLD}).status_code == 200
    assert asking.put_wish(there, {**TWO_GIB, "migration_threshold_sectors": 0}).status_code == 202
    made = Job.objects.get()
    cache = Wish.from_json(made.wish).cache
    assert isinstance(cache, LvmCache)
    assert (made.kind, cache.name, cache.migration_threshold_sectors) == ("set-cache", POOL, 0)


def test_a_setting_of_the_other_technology_is_an_error(asking: Program) -> None:
    response = asking.put_wish(cached(), {**TWO_GIB, "writeback_percent": 10})
    [error] = problem(response, 422, "invalid")["errors"]
    assert (error["pointer"], error["code"]) == ("/cache/writeback_percent", "unsupported")


def test_settings_of_bcache_are_wished_for_with_the_cache(asking: Program) -> None:
    there = scene(make.lv(bcache=make.bcache()), layout="bcache")
    wanted = {**TWO_GIB, "writeback_percent": 20, "sequential_cutoff_bytes": 4 * MIB}
    assert asking.put_wish(there, wanted).json()["wish"]["cache"] == wanted
    odd = {**TWO_GIB, "sequential_cutoff_bytes": 1025}
    other = scene(make.lv(bcache=make.bcache()), layout="bcache")
    [error] = problem(asking.put_wish(other, odd), 422, "invalid")["errors"]
    assert error["pointer"] == "/cache/sequential_cutoff_bytes"


def test_a_flush_is_wished_for_beside_the_cache(asking: Program) -> None:
    there = cached(mode="writeback")
    wanted = {"cache": {**TWO_GIB, "mode": "writeback"}, "flushed": True}
    path = f"/volumes/{there.volume.key}/wish"
    response = asking.send("put", path, wanted, **{"Idempotency-Key": "flush"})
    assert response.status_code == 202
    made = Job.objects.get()
    wish = Wish.from_json(made.wish)
    assert (made.kind, wish.flushed, wish.cache is not None) == ("flush-cache", True, True)
    bare = f"/volumes/{scene().volume.key}/wish"
    body = {"cache": None, "flushed": True}
    problem(asking.send("put", bare, body, **{"Idempotency-Key": "no"}), 422, "absent")


def test_a_flush_of_bcache_on_a_degraded_mirror_is_wished_for_in_writethrough(
    asking: Program,
) -> None:
    device = make.lv("s-aaaaaaaaaaaaaaaa", size_bytes=2 * GIB, pvs=("md0",))
    dirty = {"state": "dirty", "cache_mode": "writeback", "dirty_bytes": GIB}
    there = scene(
        make.lv(bcache=make.bcache(cset_uuid=make.CSET_UUID, **dirty)),
        layout="bcache",
        more_lvs=(device,),
        csets=(make.cset(device.uuid, backing_count=1),),
        pvs=(make.pv(), make.fast_pv(healthy=False)),
    )
    wanted = {"cache": {**TWO_GIB, "mode": "writeback"}, "flushed": True}
    path = f"/volumes/{there.volume.key}/wish"
    assert asking.send("put", path, wanted, **{"Idempotency-Key": "flush"}).status_code == 202
    wish = Wish.from_json(Job.objects.get().wish)
    assert isinstance(wish.cache, Bcache)
    assert (wish.flushed, wish.cache.cache_mode) == (True, "writethrough")


def test_a_cache_larger_than_the_ssd_is_refused_with_what_to_do(asking: Program) -> None:
    body = problem(asking.put_wish(scene(), {"size_bytes": 90 * GIB}), 422, "no_space")
    assert body["correction"]
    assert not Job.objects.exists()


def test_writeback_on_a_single_ssd_is_refused_as_on_the_page(asking: Program) -> None:
    there = scene(pvs=(make.pv(), make.fast_pv(redundant=False)))
    response = asking.put_wish(there, {"size_bytes": GIB, "mode": "writeback"})
    [error] = problem(response, 422, "invalid")["errors"]
    assert error["pointer"] == "/cache/mode"


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "/cache", "required"),
        ({"cache": None, "speed": "fast"}, "/speed", "unknown_field"),
        ({"cache": {"size_bytes": GIB, "name": "x"}}, "/cache/name", "unknown_field"),
        ({"cache": {"size_bytes": -1}}, "/cache/size_bytes", "min_value"),
        ({"cache": {"size_bytes": "much"}}, "/cache/size_bytes", "not_an_integer"),
        ({"cache": {"size_bytes": 10**18}}, "/cache", "invalid"),
        ({"cache": {"size_bytes": GIB, "mode": "fast"}}, "/cache/mode", "invalid_choice"),
        ({"cache": {"size_bytes": GIB, "mode": "writearound"}}, "/cache/mode", "invalid_choice"),
        ({"cache": "big"}, "/cache", "invalid"),
        ([], "", "invalid"),
    ],
)
def test_each_error_points_at_its_field(
    asking: Program, body: Any, pointer: str, code: str
) -> None:
    path = f"/volumes/{scene().volume.key}/wish"
    response = asking.send("put", path, body, **{"Idempotency-Key": "k"})
    [error] = problem(response, 422, "invalid")["errors"]
    assert (error["pointer"], error["code"]) == (pointer, code)


def test_another_wish_meets_the_job_that_holds_the_volume(asking: Program) -> None:
    there = scene()
    first = asking.put_wish(there, TWO_GIB).json()
    body = problem(asking.put_wish(there, {"size_bytes": 4 * GIB}), 409, "busy")
    assert body["conflicting_jobs"] == [
        {
            **{"key": first["key"], "url": first["url"], "name": "Add cache"},
            **{"kind": "add-cache", "state": "queued"},
        }
    ]


def test_what_is_there_is_not_so_already_while_a_job_changes_it(asking: Program) -> None:
    there = scene()
    asking.put_wish(there, TWO_GIB)
    problem(asking.put_wish(there, None), 409, "busy")


def test_the_same_wish_again_is_answered_with_the_job_that_fulfils_it(asking: Program) -> None:
    there = scene()
    first, again = asking.put_wish(there, TWO_GIB), asking.put_wish(there, TWO_GIB)
    assert (again.status_code, again.json()["key"]) == (202, first.json()["key"])
    assert Job.objects.count() == 1


@pytest.mark.parametrize("field", ["is_rolling_back", "cancel_requested"])
def test_a_job_that_goes_back_fulfils_no_wish(asking: Program, field: str) -> None:
    there = scene()
    asking.put_wish(there, TWO_GIB)
    Job.objects.update(**{field: True})
    problem(asking.put_wish(there, TWO_GIB), 409, "busy")


def test_a_dry_run_needs_no_key_and_holds_nothing(asking: Program) -> None:
    there = scene()
    path = f"/volumes/{there.volume.key}/wish?dry_run=true"
    for _ in range(2):
        assert asking.send("put", path, {"cache": TWO_GIB}).status_code == 202
    assert set(Job.objects.values_list("dry_run", flat=True)) == {True}
    assert asking.put_wish(there, TWO_GIB).status_code == 202


def test_the_wish_reads_as_what_is_or_what_a_job_makes_of_it(asking: Program) -> None:
    there = cached()
    path = f"/volumes/{there.volume.key}/wish"
    now = asking.get(path).json()
    assert (now["cache"], now["is_met"], now["job"]) == (TWO_GIB | THRESHOLD, True, None)
    made = asking.put_wish(there, None).json()
    then = asking.get(path).json()
    assert (then["cache"], then["is_met"], then["job"]["url"]) == (None, False, made["url"])


@pytest.mark.parametrize("state", ["failed", "needs_attention"])
def test_a_wish_that_a_job_did_not_reach_is_not_met(asking: Program, state: str) -> None:
    there = cached()
    asking.put_wish(there, None)
    made = Job.objects.get(dry_run=False)
    ended_at = timezone.now() if state == "failed" else None
    Job.objects.filter(pk=made.pk).update(
        state=state, error={"code": "no_space"}, ended_at=ended_at
    )
    now = asking.get(f"/volumes/{there.volume.key}/wish").json()
    if state == "failed":
        assert (now["cache"], now["job"]) == (TWO_GIB | THRESHOLD, None)
    assert now["is_met"] is False
    assert now["last_job"] == {
        "key": made.key,
        "url": f"/api/v1/jobs/{made.key}",
        "name": made.get_kind_display(),
        "state": state,
        "error_code": "no_space",
    }


def test_the_wish_of_a_missing_volume_is_not_met(asking: Program) -> None:
    there = cached()
    Placement.objects.filter(volume=there.volume).update(missing_since=timezone.now())
    now = asking.get(f"/volumes/{there.volume.key}/wish").json()
    assert (now["is_met"], now["last_job"]) == (False, None)


def test_waiting_answers_with_the_end_of_the_job(
    asking: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = scene()

    def work(_: float) -> None:
        made = Job.objects.get()
        step(made)
        end(made, State.FAILED, error={"code": "x", "message": "m", "correction": "c"})

    monkeypatch.setattr("panel.api.jobs.wait_for_job.time.sleep", work)
    response = asking.put_wish(there, TWO_GIB, query="?wait=5")
    body = response.json()
    assert (response.status_code, body["state"], body["error"]["code"]) == (200, "failed", "x")
    assert body["steps"][0]["commands"][0]["shell"].startswith("lvconvert")


def test_waiting_in_vain_answers_with_the_job_as_it_is(
    asking: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(1000))
    monkeypatch.setattr("panel.api.jobs.wait_for_job.time.monotonic", lambda: next(now))
    monkeypatch.setattr("panel.api.jobs.wait_for_job.time.sleep", lambda _: None)
    response = asking.put_wish(scene(), TWO_GIB, query="?wait=3")
    assert (response.status_code, response.json()["state"]) == (202, "queued")


def test_a_job_that_needs_a_person_is_not_waited_for(
    asking: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = job(scene(), state="needs_attention")
    monkeypatch.setattr("panel.api.jobs.wait_for_job.time.sleep", lambda _: pytest.fail("waited"))
    assert asking.get(f"/jobs/{made.key}", wait=30).json()["state"] == "needs_attention"


@pytest.mark.parametrize(
    "query", ["?wait=31", "?wait=-1", "?wait=", "?wait=x", "?dry_run=1", "?w=1"]
)
def test_a_parameter_that_cannot_be_is_an_error(asking: Program, query: str) -> None:
    problem(asking.put_wish(scene(), TWO_GIB, query=query), 400, "invalid_parameter")
    assert not Job.objects.exists()


def test_an_observe_only_host_refuses_with_the_command_that_allows_it(asking: Program) -> None:
    there = scene(vgs=(make.vg(allowed=False),))
    body = problem(asking.put_wish(there, TWO_GIB), 422, "observe_only")
    assert "allow-vg" in body["correction"]


def test_a_cancelled_job_is_over_and_frees_the_volume(asking: Program) -> None:
    there = scene()
    url = asking.put_wish(there, TWO_GIB).json()["url"].removeprefix("/api/v1")
    problem(asking.send("post", f"{url}/cancel"), 400, "idempotency_key_required")
    response = asking.send("post", f"{url}/cancel", **{"Idempotency-Key": "stop"})
    assert (response.status_code, response.json()["state"]) == (200, "cancelled")
    assert asking.put_wish(there, {"size_bytes": 4 * GIB}).status_code == 202


def test_a_job_that_runs_is_cancelled_before_its_next_step(asking: Program) -> None:
    made = job(scene(), state="waiting")
    step(made, state="running", op_id="00000000-0000-0000-0000-000000000001")
    response = asking.send("post", f"/jobs/{made.key}/cancel", **{"Idempotency-Key": "stop"})
    assert (response.status_code, response.json()["cancel_requested"]) == (202, True)


def test_a_wish_for_another_version_than_the_one_that_is_now_changes_nothing(
    asking: Program,
) -> None:
    there = scene()
    path = f"/volumes/{there.volume.key}/wish"
    read = asking.get(path)["ETag"]
    assert asking.get(path)["ETag"] == read
    job(there)
    now = problem(asking.put_wish(there, TWO_GIB, **{"If-Match": read}), 412, "changed")
    assert "Read it again" in now["correction"]
    assert Job.objects.count() == 1


@pytest.mark.parametrize("given", ["{}", "*", '"other", {}', '"other",{}'])
def test_a_wish_for_the_version_that_is_now_is_accepted(asking: Program, given: str) -> None:
    there = scene()
    read = asking.get(f"/volumes/{there.volume.key}/wish")["ETag"]
    answer = asking.put_wish(there, TWO_GIB, **{"If-Match": given.format(read)})
    assert answer.status_code == 202


@pytest.mark.parametrize("given", ['"other"', "W/{}", ""])
def test_a_weak_or_foreign_version_is_another_one(asking: Program, given: str) -> None:
    there = scene()
    read = asking.get(f"/volumes/{there.volume.key}/wish")["ETag"]
    refused = asking.put_wish(there, TWO_GIB, **{"If-Match": given.format(read)})
    problem(refused, 412, "changed")
    assert refused["ETag"] == read
    assert not Job.objects.exists()
