"""Lists are narrowed to what a program asks for, series come in buckets that stay, and long answers
are packed."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from panel.api.volumes.series_endpoint import aligned
from storage.models import Volume
from tests import make
from tests.panel.api.asking import V1, Program, member, own, problem, staff
from tests.scene import job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def keys(answer: object) -> list[str]:
    return [each["key"] for each in answer.json()["items"]]  # type: ignore[attr-defined]


def test_volumes_are_found_by_keys_words_and_technology(asking: Program) -> None:
    first, second = scene(make.lv("a"), label="Web one"), scene(make.lv("b"), label="Mail")
    Volume.objects.filter(pk=second.volume.pk).update(external_id="vps-77")
    both = f"{second.volume.key},{first.volume.key},nothing"
    assert set(keys(asking.get("/volumes/", ids=both))) == {first.volume.key, second.volume.key}
    assert keys(asking.get("/volumes/", search="WEB")) == [first.volume.key]
    assert keys(asking.get("/volumes/", search="ps-7")) == [second.volume.key]
    assert len(keys(asking.get("/volumes/", technology="lvmcache"))) == 2
    assert keys(asking.get("/volumes/", technology="bcache")) == []
    for query in ({"ids": ","}, {"technology": "zfs"}, {"updated_since": "yesterday"}):
        problem(asking.get("/volumes/", **query), 400, "invalid_parameter")


def test_what_changed_since_a_time_is_found(asking: Program) -> None:
    first, second = scene(make.lv("a")), scene(make.lv("b"))
    before = timezone.now() + timedelta(seconds=1)
    Volume.objects.update(label="x")
    assert len(keys(asking.get("/volumes/", updated_since="2026-01-01T00:00:00Z"))) == 2
    later = before.isoformat()
    assert keys(asking.get("/volumes/", updated_since=later)) == []
    made, other = job(first), job(second)
    found = asking.get("/jobs/", updated_since="2026-01-01T00:00:00Z", kind="add-cache")
    assert set(keys(found)) == {made.key, other.key}
    assert keys(asking.get("/jobs/", kind="remove-cache")) == []
    assert keys(asking.get("/jobs/", ids=made.key)) == [made.key]


def test_the_same_bucket_has_the_same_place_in_every_answer(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}/series"
    one, two = (asking.get(path, points=60).json() for _ in range(2))
    for shown in (one, two):
        at = datetime.fromisoformat(shown["t0"])
        assert at.timestamp() % shown["step_seconds"] == 0
        assert shown["t0"].endswith("Z")


def test_a_range_is_moved_to_whole_buckets_and_never_has_more_than_were_asked_for() -> None:
    start = datetime.fromisoformat("2026-11-20T10:00:07Z")
    first, last, count = aligned(start, start + timedelta(hours=1), 60)
    assert (last - first).total_seconds() / count in (60, 120)
    assert abs(first - start) <= timedelta(seconds=120)
    assert last >= start + timedelta(hours=1)
    assert count <= 60
    assert aligned(start, start + timedelta(seconds=2000 * 60), 2000)[2] <= 2000


def test_columns_are_chosen_by_name_and_read_as_csv(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}/series"
    shown = asking.get(path, names="read_iops,hit_rate", points=10).json()
    assert list(shown["series"]) == ["read_iops", "hit_rate"]
    problem(asking.get(path, names="read_iops,secret"), 400, "invalid_parameter")
    headers = asking.headers(Accept="text/csv")
    answer = Client().get(f"{V1}{path}?names=read_iops&points=10", headers=headers)
    lines = answer.content.decode().splitlines()
    assert lines[0] == "at,read_iops"
    assert len(lines) == shown["points"] + 1
    wrong = Client().get(f"{V1}{path}?names=x", headers=headers)
    assert wrong["Content-Type"] == "application/problem+json"
    assert json.loads(wrong.content)["code"] == "invalid_parameter"


def test_a_customer_chooses_among_the_columns_of_their_charts() -> None:
    customer = make.customer()
    there = scene()
    own(there, customer)
    path = f"/volumes/{there.volume.key}/series"
    asking = member(customer)
    assert list(asking.get(path, names="hit_rate").json()["series"]) == ["hit_rate"]
    problem(asking.get(path, names="ssd_write_bytes_per_s"), 400, "invalid_parameter")


def test_a_long_answer_is_packed_where_that_is_understood(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}/series"
    plain = asking.send("get", path)
    assert "Content-Encoding" not in plain
    packed = asking.send("get", path, **{"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert set(json.loads(gzip.decompress(packed.content))) == set(plain.json())
    assert len(packed.content) < len(plain.content) / 5
    short = asking.send("get", "/jobs/", **{"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in short
