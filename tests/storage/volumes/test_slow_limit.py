"""From which read time on a volume is slow: the nearest limit holds, in Python and in SQL."""

from __future__ import annotations

import random

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from storage.models import CachePlan, TagLimit, Volume
from storage.models.host import SLOW_READ_MS
from storage.volumes.slow_limit import (
    LimitOf,
    SlowLimit,
    SlowLimits,
    slow_limit,
    slow_limit_ms,
)
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.panel.portal.shop import plan

TAGS = ("nvme", "rack-7", "old")


@pytest.mark.parametrize(
    ("of_plan", "host_ms", "tags", "expected"),
    [
        (("Gold", 9), 7, {"nvme": 5}, SlowLimit(9, LimitOf.PLAN, "Gold")),
        (None, 7, {"nvme": 5}, SlowLimit(7, LimitOf.HOST)),
        (None, None, {"old": 8, "nvme": 5, "rack-7": 5}, SlowLimit(5, LimitOf.TAG, "nvme")),
        (None, None, {}, SlowLimit(SLOW_READ_MS, LimitOf.DEFAULT)),
    ],
)
def test_the_nearest_limit_holds_and_of_tags_the_strictest(
    of_plan: tuple[str, int] | None, host_ms: int | None, tags: dict[str, int], expected: SlowLimit
) -> None:
    assert slow_limit(of_plan, host_ms, tags) == expected


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (SlowLimit(9, LimitOf.PLAN, "Gold"), "plan Gold"),
        (SlowLimit(7, LimitOf.HOST), "host"),
        (SlowLimit(5, LimitOf.TAG, "nvme"), "tag nvme"),
        (SlowLimit(20, LimitOf.DEFAULT), "default"),
    ],
)
def test_a_limit_says_where_it_comes_from(limit: SlowLimit, words: str) -> None:
    assert limit.source == words


@pytest.mark.django_db
def test_sql_and_python_find_the_same_limit_for_any_plan_host_and_tags() -> None:
    chance = random.Random(34)
    plans = [plan(name=f"plan {ms}", slow_read_ms=ms) for ms in (None, 3, 11, 40)]
    for tag, ms in zip(TAGS, (6, 6, 30), strict=True):
        TagLimit.objects.create(tag=tag, slow_read_ms=ms)
    for number in range(60):
        tags = chance.sample((*TAGS, "plain"), chance.randint(0, 4))
        host = make.host(slow_read_ms=chance.choice((None, None, 8, 25)), tags=tags)
        bought: CachePlan | None = chance.choice((None, *plans))
        volume = make.volume(label=f"v{number}", cache_plan=bought)
        make.placement(volume, host)
    limit_ms = slow_limit_ms(plan="cache_plan", host="placement__host")
    in_sql = dict(Volume.objects.annotate(limit_ms=limit_ms).values_list("label", "limit_ms"))
    rows = snapshots_of(Volume.objects.all())
    in_python = {row.volume.label: row.slow_limit.ms for row in rows}
    assert in_sql == in_python
    assert {row.slow_limit.of for row in rows} == set(LimitOf)


@pytest.mark.django_db
def test_a_volume_on_no_host_has_the_limit_of_its_plan_or_the_default() -> None:
    volume = make.volume()
    assert SlowLimits().of_volume(volume, None).ms == SLOW_READ_MS
    volume.cache_plan = plan(slow_read_ms=5)
    assert SlowLimits().of_volume(volume, None) == SlowLimit(5, LimitOf.PLAN, "Fast")


@pytest.mark.django_db
def test_limits_of_many_volumes_are_two_queries() -> None:
    TagLimit.objects.create(tag="nvme", slow_read_ms=5)
    bought = plan(slow_read_ms=None)
    for _ in range(5):
        make.placement(make.volume(cache_plan=bought), make.host(tags=["nvme"]))
    rows = snapshots_of(Volume.objects.all())
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert {row.slow_limit.ms for row in rows} == {5}
    assert len(queries) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("tag", ["", "two words", "a,b"])
def test_the_limit_of_a_tag_is_of_one_word(tag: str) -> None:
    with pytest.raises(ValidationError):
        TagLimit(tag=tag, slow_read_ms=5).full_clean()


@pytest.mark.django_db
def test_a_tag_has_one_limit_however_it_is_written() -> None:
    TagLimit.objects.create(tag="nvme", slow_read_ms=5)
    with pytest.raises(ValidationError, match="has a limit already"):
        TagLimit(tag="NVMe", slow_read_ms=6).full_clean()
