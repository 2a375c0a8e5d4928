"""A volume is read back as it was made, with what is under way, in one request."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Job, State
from panel.staff.change_log import edits
from storage.byte_sizes import GIB
from storage.models import Placement, Volume
from tests import make
from tests.panel.api.asking import Program, member, own, problem, staff
from tests.scene import end, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def test_tier_and_layout_are_those_it_was_made_with(asking: Program) -> None:
    there = scene()
    shown = asking.get(f"/volumes/{there.volume.key}").json()
    assert (shown["tier"], shown["layout"]) == ("hdd", "plain")


def test_a_cache_says_its_settings_to_staff(asking: Program) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    cache = asking.get(f"/volumes/{there.volume.key}").json()["cache"]
    wish = asking.get(f"/volumes/{there.volume.key}/wish").json()["cache"]
    assert cache == wish
    assert "migration_threshold_sectors" in cache


def test_a_customer_sees_no_settings_tier_or_layout() -> None:
    customer = make.customer()
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    own(there, customer)
    shown = member(customer).get(f"/volumes/{there.volume.key}").json()
    assert set(shown["cache"]) == {"size_bytes", "mode"}
    assert not {"tier", "layout", "job", "retired_at", "undo_until"} & set(shown)


def test_staff_write_a_note_of_several_lines(asking: Program) -> None:
    there = scene()
    path = f"/volumes/{there.volume.key}"
    assert asking.send("patch", path, {"note": "Ask Ann.\nThen call."}).status_code == 200
    assert asking.get(path).json()["note"] == "Ask Ann.\nThen call."
    (edit, *_) = edits(Volume.objects.get())
    assert [each.field for each in edit.changes] == ["note"]
    for note in ("a" * 2001, "a\rb", "\x1b[31mred", None, 7):
        problem(asking.send("patch", path, {"note": note}), 422, "invalid")
    assert asking.send("patch", path, {"note": ""}).json()["note"] == ""


def test_a_customer_neither_sees_nor_finds_nor_writes_a_note(asking: Program) -> None:
    customer, there = make.customer(), scene()
    own(there, customer)
    Volume.objects.update(note="late payer")
    theirs, path = member(customer), f"/volumes/{there.volume.key}"
    assert "note" not in theirs.get(path).json()
    assert theirs.get("/volumes/", search="payer").json()["items"] == []
    assert theirs.send("patch", path, {"note": "paid"}).status_code == 403
    assert len(asking.get("/volumes/", search="payer").json()["items"]) == 1


def test_the_job_that_changes_it_is_named(asking: Program) -> None:
    there = scene()
    assert asking.get(f"/volumes/{there.volume.key}").json()["job"] is None
    made = job(there)
    assert asking.get(f"/volumes/{there.volume.key}").json()["job"] == {
        "key": made.key,
        "url": f"/api/v1/jobs/{made.key}",
        "name": made.get_kind_display(),
    }


def test_a_volume_comes_with_its_wish_where_that_is_asked_for(asking: Program) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    end(job(there), State.FAILED, error={"code": "no_space", "message": "m", "correction": "c"})
    wish = asking.get(f"/volumes/{there.volume.key}/wish").json()
    assert wish["last_job"]["error_code"] == "no_space"
    assert asking.get(f"/volumes/{there.volume.key}", include="wish").json()["wish"] == wish
    [listed] = asking.get("/volumes/", include="wish").json()["items"]
    assert listed["wish"] == wish
    assert "wish" not in asking.get(f"/volumes/{there.volume.key}").json()
    problem(asking.get("/volumes/", include="jobs"), 400, "invalid_parameter")


def test_many_volumes_with_wishes_cost_no_query_more_than_few(asking: Program) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert asking.get("/volumes/", include="wish").status_code == 200
        return len(asked)

    job(scene(make.lv("a")))
    few = queries()
    there = scene(make.lv("b"))
    end(job(there))
    job(scene(make.lv("c")))
    # Of each host one more inventory, and no other query for each volume.
    assert queries() <= few


def test_whatever_changes_it_sets_its_time(asking: Program) -> None:
    there = scene()
    path = f"/volumes/{there.volume.key}"
    before = asking.get(path).json()["updated_at"]
    Volume.objects.filter(pk=there.volume.pk).update(label="other")
    renamed = asking.get(path).json()["updated_at"]
    assert renamed > before
    Placement.objects.filter(volume=there.volume).update(cache_bytes=GIB)
    assert asking.get(path).json()["updated_at"] > renamed


def test_a_job_that_gets_on_sets_its_time_and_a_lease_does_not() -> None:
    made = job(scene())
    first = Job.objects.get().updated_at
    Job.objects.filter(pk=made.pk).update(attempts=3)
    assert Job.objects.get().updated_at == first
    Job.objects.filter(pk=made.pk).update(explanation="reading")
    assert Job.objects.get().updated_at > first
