"""Rows become chunks and longer buckets; what is read from them is the same at every moment."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from math import ceil, floor, inf
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction

from storage import row_security
from storage.analysis.sample_blocks import blocks
from storage.metrics.rates import CachedBy
from storage.metrics.samples import chunk_store, packer, window
from storage.metrics.samples.aggregate import Aggregate, aggregate
from storage.metrics.samples.chunk_store import VOLUMES, chunk_start, unreadable_chunks
from storage.metrics.samples.packer import oldest_pending, pack_samples
from storage.metrics.samples.sample_round import make_partition
from storage.metrics.samples.window import iops_courses
from storage.metrics.series import series
from storage.models import UNREADABLE_CHUNK, Member, Resolution, Sample, SampleChunk, Volume
from storage.naming import new_key
from tests import make

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
MIDNIGHT = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
START = MIDNIGHT - 3 * DAY
"""The first of the days of these tests, which are all settled."""
NOW = MIDNIGHT + 4 * HOUR


@pytest.fixture(autouse=True)
def partitions() -> None:
    for n in range(-4, 3):
        make_partition((MIDNIGHT + n * DAY).date())


def row(volume: Volume, ts: datetime, random: Random, **fields: Any) -> Sample:
    """An interval of a volume with dm-cache; what is not named is by chance."""
    reads, writes = random.randrange(2000), random.randrange(500)
    values: dict[str, Any] = {
        "dt_ms": 60_000,
        "reads": reads,
        "writes": writes,
        "read_sectors": 8 * reads,
        "write_sectors": 8 * writes,
        "read_ms": random.randrange(5000),
        "write_ms": random.randrange(900),
        "busy_ms": random.randrange(60_000),
        "weighted_ms": random.randrange(90_000),
        "read_hits": reads // 2,
        "read_misses": reads - reads // 2,
        "write_hits": writes,
        "write_misses": 0,
        "promotions": random.randrange(9),
        "demotions": random.randrange(9),
        "slow_read_sectors": 4 * reads,
        "slow_write_sectors": 0,
        "fast_read_sectors": 4 * reads,
        "fast_write_sectors": 8 * writes,
        "latency_counts": [random.randrange(100) for _ in range(14)],
        "technology": int(CachedBy.DM_CACHE),
        "cache_size_bytes": 2**31,
        "used_bytes": random.randrange(2**31),
        "dirty_bytes": random.randrange(2**20),
    }
    return Sample(volume=volume, ts=ts, **{**values, **fields})


UNCACHED: dict[str, Any] = {
    **dict.fromkeys(
        (
            "read_hits",
            "read_misses",
            "write_hits",
            "write_misses",
            "promotions",
            "demotions",
            "slow_read_sectors",
            "slow_write_sectors",
            "fast_read_sectors",
            "fast_write_sectors",
            "cache_size_bytes",
            "used_bytes",
            "dirty_bytes",
        )
    ),
    "technology": int(CachedBy.NONE),
}


def sampled(
    volume: Volume, start: datetime, minutes: int, *, every: int = 1, seed: int = 1
) -> list[Sample]:
    """Rows that end some seconds after each minute; the cache comes after an hour and is away for
    some minutes, of which its counters are not known."""
    random = Random(seed)
    rows = []
    for n in range(0, minutes, every):
        fields: dict[str, Any] = {} if n >= 60 else UNCACHED
        if 100 <= n < 104:
            fields = dict.fromkeys(("read_hits", "read_misses", "write_hits", "write_misses"))
        ts = start + n * MINUTE + timedelta(seconds=17.25)
        rows.append(row(volume, ts, random, **fields))
    Sample.objects.bulk_create(rows)
    return rows


def answers(volume: Volume) -> list[list[Aggregate]]:
    """What readers of all sorts get, from the longest range to the shortest."""
    spans: list[tuple[datetime, datetime, dict[str, Any]]] = [
        (START, MIDNIGHT + DAY, {}),
        (START, MIDNIGHT + DAY, {"step": 86_400}),
        (START, MIDNIGHT + DAY, {"step": 7200, "apart": True}),
        (START + DAY, START + 2 * DAY, {"step": 300}),
        (START + 7 * MINUTE, START + 2 * DAY + 11.5 * MINUTE, {"begun_since": START + 7 * MINUTE}),
        (START + 95 * MINUTE, START + 3 * HOUR, {"step": 60, "apart": True}),
        (START, START + DAY, {"step": 3600, "since": START + 77.3 * MINUTE}),
        (START, START + DAY, {"step": 3600, "since": {volume.pk: START + 5 * HOUR}}),
    ]
    return [aggregate([volume.pk], start, end, **rest) for start, end, rest in spans]


def pack_all() -> None:
    """However long it takes on a busy machine."""
    assert pack_samples(VOLUMES, NOW, seconds=inf).is_done


def same(one: list[list[Aggregate]], other: list[list[Aggregate]]) -> bool:
    """Equal; but of a bucket only the whole seconds are known."""
    return [[exact(each) for each in answer] for answer in one] == [
        [exact(each) for each in answer] for answer in other
    ]


def exact(each: Aggregate) -> tuple[Any, ...]:
    return (
        each.subject_id, each.n, each.counts, each.ms, each.histograms, each.last, each.least,
        each.most, floor(each.began), ceil(each.first_ended), ceil(each.ended),
    )  # fmt: skip


def chunks(resolution: Resolution) -> int:
    return SampleChunk.objects.filter(resolution=resolution).count()


def test_what_is_read_is_the_same_before_and_after_packing() -> None:
    volume = make.volume()
    sampled(volume, START, 2 * 24 * 60)
    before = answers(volume)
    assert before[0][0].counts["reads"] > 0
    pack_all()
    assert not Sample.objects.exists()
    assert [chunks(each) for each in Resolution] == [48, 2, 1, 1]
    assert same(answers(volume), before)


@pytest.mark.parametrize("seed", range(4))
def test_at_every_moment_of_packing_what_is_read_is_the_same(seed: int) -> None:
    """Rows come in any order, hours and days late; what is packed meanwhile is by chance."""
    random = Random(seed)
    volume, other = make.volume(), make.volume()
    rows = sampled(volume, START, 27 * 60, every=random.choice((1, 4)), seed=seed)
    expected = answers(volume)
    Sample.objects.all().delete()
    sampled(other, START + 20 * HOUR, 6 * 60)
    random.shuffle(rows)
    while rows:
        count = random.randrange(1, 1 + max(1, len(rows)))
        come, rows = rows[:count], rows[count:]
        Sample.objects.bulk_create(come)
        again = random.sample(come, min(3, len(come)))
        for _ in range(random.randrange(4)):
            pack_samples(VOLUMES, NOW - random.choice((0, 20, 40)) * HOUR, seconds=0)
        if random.random() < 0.5:
            # Inserted twice: as it is, or when it is packed already.
            Sample.objects.bulk_create(again, ignore_conflicts=True)
    assert same(answers(volume), expected)
    pack_all()
    assert not Sample.objects.exists()
    assert same(answers(volume), expected)


def test_packing_again_changes_nothing() -> None:
    sampled(make.volume(), START, 26 * 60)
    pack_all()
    before = list(SampleChunk.objects.order_by("pk").values_list())
    pack_all()
    assert list(SampleChunk.objects.order_by("pk").values_list()) == before


def test_a_row_that_is_packed_already_changes_nothing() -> None:
    volume = make.volume()
    rows = sampled(volume, START, 26 * 60)
    pack_all()
    before, stored = answers(volume), list(SampleChunk.objects.order_by("pk").values_list())
    Sample.objects.bulk_create([rows[3], rows[800]])
    assert same(answers(volume), before)
    pack_all()
    assert not Sample.objects.exists()
    assert list(SampleChunk.objects.order_by("pk").values_list()) == stored


def test_a_late_row_is_in_all_buckets_of_its_day() -> None:
    volume = make.volume()
    rows = sampled(volume, START, 26 * 60)
    late = rows[100]
    whole = answers(volume)
    Sample.objects.filter(ts=late.ts).delete()
    pack_all()
    assert not same(answers(volume), whole)
    Sample.objects.bulk_create([late])
    assert same(answers(volume), whole)
    pack_all()
    assert same(answers(volume), whole)


def test_a_row_of_a_clock_that_was_a_month_behind_replaces_nothing() -> None:
    volume, other = make.volume(), make.volume()
    rows = sampled(volume, START, 26 * 60)
    pack_all()
    SampleChunk.objects.filter(resolution=Resolution.RAW).delete()
    stored = list(SampleChunk.objects.order_by("pk").values_list())
    wrong = row(other, rows[100].ts, Random(1))
    Sample.objects.bulk_create([rows[100], wrong])
    while not pack_samples(VOLUMES, NOW + 31 * DAY).is_done:
        pass
    assert not Sample.objects.exists()
    ours = SampleChunk.objects.filter(subject_id=volume.pk).order_by("pk")
    assert list(ours.values_list()) == stored
    assert SampleChunk.objects.filter(subject_id=other.pk, resolution=1, rows=1).exists()


def test_a_crash_in_the_middle_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    volume = make.volume()
    sampled(volume, START, 26 * 60)
    before = answers(volume)
    written = []

    def crash(*args: Any) -> list[int]:
        written.append(args)
        if len(written) % 3 == 2:
            raise RuntimeError("the power fails")
        return replaced(*args)

    replaced = packer._replace
    monkeypatch.setattr(packer, "_replace", crash)
    for _ in range(60):
        with pytest.raises(RuntimeError), transaction.atomic():
            pack_samples(VOLUMES, NOW)
        assert Sample.objects.count() == 26 * 60
    assert same(answers(volume), before)
    assert not SampleChunk.objects.exists()


def test_the_last_hours_are_rows_still() -> None:
    volume = make.volume()
    now = MIDNIGHT + 4 * HOUR
    sampled(volume, MIDNIGHT, 240)
    pack_samples(VOLUMES, now)
    assert Sample.objects.count() == 120
    assert chunks(Resolution.RAW) == 2
    assert chunks(Resolution.FIVE_MINUTES) == 1
    assert not chunks(Resolution.HOUR)


def test_a_day_is_rolled_up_when_it_is_over_and_settled() -> None:
    sampled(make.volume(), START, 24 * 60)
    pack_samples(VOLUMES, START + DAY + 2 * HOUR)
    assert not chunks(Resolution.HOUR)
    pack_samples(VOLUMES, START + DAY + 3 * HOUR)
    assert chunks(Resolution.HOUR) == chunks(Resolution.DAY) == 1
    assert not SampleChunk.objects.filter(is_rolled_up=False).exists()


def test_the_newest_hours_are_packed_first_and_a_call_ends_in_time() -> None:
    sampled(make.volume(), START, 5 * 60)
    done = pack_samples(VOLUMES, NOW, seconds=0)
    assert (done.hours, done.is_done) == (1, False)
    chunk = SampleChunk.objects.get(resolution=Resolution.RAW)
    assert chunk.start == START + 4 * HOUR
    assert oldest_pending(VOLUMES, NOW) == START.date()
    pack_all()
    assert oldest_pending(VOLUMES, NOW) is None


def test_of_two_packers_one_gives_way() -> None:
    sampled(make.volume(), START, 10)
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtext('storage.packer'))")
            assert not pack_samples(VOLUMES, NOW).is_done
            assert Sample.objects.count() == 10
            # A server ends a closed connection, and its locks, only a moment after the close.
            cursor.execute("SELECT pg_advisory_unlock(hashtext('storage.packer'))")
    finally:
        other.close()
    pack_all()


def test_chunks_of_another_customer_cannot_be_read() -> None:
    volume, other = make.volume(), make.volume()
    owner = make.user()
    volume.customer = make.customer()
    volume.save()
    Member.objects.create(user=owner, customer=volume.customer)
    for each in (volume, other):
        sampled(each, START, 26 * 60)
    before = answers(volume)
    pack_all()
    both = [volume.pk, other.pk]
    with row_security.scope(str(owner.pk)):
        assert {each.subject_id for each in aggregate(both, START, NOW)} == {volume.pk}
        assert same(answers(volume), before)
        assert set(SampleChunk.objects.values_list("subject_id", flat=True)) == {volume.pk}
    with row_security.scope(row_security.NO_ROWS):
        assert not SampleChunk.objects.exists()


def test_a_panel_with_days_of_rows_keeps_every_figure() -> None:
    """As after an update: the charts of all ranges, windows, blocks and courses."""
    volume, first = make.volume(), MIDNIGHT - 8 * DAY
    for n in range(9):
        make_partition((first + n * DAY).date())
    random = Random(8)
    Sample.objects.bulk_create(
        row(volume, first + n * 10 * MINUTE, random, dt_ms=600_000, **(UNCACHED if n < 99 else {}))
        for n in range(1, 7 * 144)
    )

    def figures() -> list[Any]:
        spans = [
            (first, first + 8 * DAY, 192),
            (first, first + 8 * DAY, 32),
            (first + DAY, first + 2 * DAY, 288),
            (first + 3.5 * HOUR, first + 9.7 * HOUR, 100),
        ]
        charts = [series(volume, *span).to_json() for span in spans]
        windows = [asdict(window(volume, start, end)) for start, end, _points in spans]
        compared = blocks(volume, first + DAY + 7 * MINUTE, first + 3 * DAY, 3600)
        course = iops_courses([volume.pk], first + 3 * DAY, count=36, step=5 * MINUTE)
        return [*charts, *windows, compared, course]

    before = figures()
    assert before[0]["totals"]["hit_rate"] and before[-2]
    while not pack_samples(VOLUMES, NOW, seconds=1).is_done:
        assert figures() == before
    assert not Sample.objects.exists()
    assert figures() == before


def test_what_only_intervals_have_is_not_in_their_buckets() -> None:
    volume, random = make.volume(), Random(3)
    legs = {name: [n] * 14 for n, name in enumerate(("slow_latency_counts", "fast_latency_counts"))}
    Sample.objects.bulk_create(
        row(volume, START + n * MINUTE, random, read_us=70, **legs) for n in range(1, 61)
    )
    pack_all()
    (found,) = aggregate([volume.pk], START, START + HOUR)
    assert (found.counts["read_us"], found.ms["read_us"]) == (0, 0)
    assert (sum(found.histograms["fast_latency_counts"]), found.counts["reads"] > 0) == (0, True)
    (found,) = aggregate([volume.pk], START, START + HOUR, resolution=Resolution.RAW)
    assert found.counts["read_us"] == 60 * 70
    assert found.histograms["fast_latency_counts"] == (60,) * 14


def damage(resolution: Resolution, start: datetime, **changed: Any) -> None:
    """All chunks of a place."""
    found = SampleChunk.objects.filter(
        resolution=resolution, start=start, kind__lt=UNREADABLE_CHUNK
    )
    assert found.update(**(changed or {"data": b"rust"})) > 0


@pytest.mark.parametrize(
    ("changed", "why"), [({"data": b"rust"}, "zlib"), ({"format": 9}, "format 9")]
)
def test_a_chunk_that_cannot_be_read_is_a_gap_and_is_noted_once(
    changed: dict[str, Any],
    why: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunk_store, "NOTED", f"test:{new_key()}")
    volume = make.volume()
    sampled(volume, START, 180)
    pack_all()
    damage(Resolution.RAW, START + HOUR, **changed)
    for _ in range(2):
        found = aggregate([volume.pk], START, START + 3 * HOUR, resolution=Resolution.RAW)
        assert found[0].counts["intervals"] == 120
    said = [each.getMessage() for each in caplog.records if "cannot be read" in each.getMessage()]
    assert len(said) == 1 and f"volume {volume.pk}, as measured" in said[0] and why in said[0]
    noted = [text for name, text in unreadable_chunks().items() if f"volume {volume.pk}," in name]
    assert len(noted) == 1 and why in noted[0]


def test_a_chunk_of_the_release_that_gave_this_codec_number_1_is_read() -> None:
    volume = make.volume()
    sampled(volume, START, 120)
    pack_all()
    damage(Resolution.RAW, START + HOUR, format=1)
    [found] = aggregate([volume.pk], START, START + 2 * HOUR, resolution=Resolution.RAW)
    assert found.counts["intervals"] == 120


def test_a_few_of_very_many_unreadable_chunks_are_noted_and_the_log_gets_one_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_store, "NOTED", f"test:{new_key()}")
    unread = {f"volume {n}": "zlib" for n in range(200)}
    for _ in range(2):
        chunk_store.note_unreadable(unread)
    assert list(unreadable_chunks()) == list(unread)[: chunk_store.NOTED_LIMIT]
    assert len([each for each in caplog.records if "cannot be read" in each.getMessage()]) == 1


def test_a_late_row_of_a_damaged_hour_is_packed_beside_what_is_set_aside() -> None:
    volume, other = make.volume(), make.volume()
    sampled(volume, START, 180)
    pack_all()
    damage(Resolution.RAW, START + HOUR)
    late = [row(volume, START + HOUR + n * MINUTE, Random(n)) for n in (3, 4)]
    Sample.objects.bulk_create([*late, row(other, START, Random(9))])
    pack_all()
    assert not Sample.objects.exists()
    span = (START + HOUR, START + 2 * HOUR)
    [found] = aggregate([volume.pk], *span, resolution=Resolution.RAW)
    assert found.counts["intervals"] == 2
    assert aggregate([other.pk], START - HOUR, START)
    aside = SampleChunk.objects.get(kind__gte=UNREADABLE_CHUNK)
    assert (bytes(aside.data), aside.kind, str(aside)) == (
        b"rust",
        UNREADABLE_CHUNK,
        f"{UNREADABLE_CHUNK} {volume.pk} from {START + HOUR:%Y-%m-%d %H:%M}",
    )
    damage(Resolution.RAW, START + HOUR)
    Sample.objects.bulk_create([row(volume, START + HOUR + 9 * MINUTE, Random(5))])
    pack_all()
    kept = SampleChunk.objects.filter(kind__gte=UNREADABLE_CHUNK).order_by("kind")
    assert [each.kind for each in kept] == [UNREADABLE_CHUNK, 2 * UNREADABLE_CHUNK]


@pytest.mark.parametrize("resolution", [Resolution.FIVE_MINUTES, Resolution.HOUR, Resolution.DAY])
def test_damaged_buckets_stop_neither_the_packer_nor_other_volumes(resolution: Resolution) -> None:
    volumes = [make.volume(), make.volume()]
    for each in volumes:
        sampled(each, START, 26 * 60)
    pack_all()
    first = chunk_start(resolution, START)
    SampleChunk.objects.filter(subject_id=volumes[0].pk, resolution=resolution, start=first).update(
        data=b"rust"
    )
    SampleChunk.objects.filter(resolution=Resolution.FIVE_MINUTES).update(is_rolled_up=False)
    Sample.objects.bulk_create([row(each, START + 30 * HOUR, Random(5)) for each in volumes])
    pack_all()
    assert not Sample.objects.exists()
    assert not SampleChunk.objects.filter(
        is_rolled_up=False, start__lt=START + DAY, kind__lt=UNREADABLE_CHUNK
    ).exists()
    [found] = aggregate([volumes[1].pk], START, START + DAY, step=86_400)
    assert found.counts["intervals"] == 24 * 60
