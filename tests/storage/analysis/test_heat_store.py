"""Records of heat in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from pytest_django import Settings

from storage import row_security
from storage.analysis.curve.heat import NS, HeatRecord
from storage.analysis.heat_store import (
    counted_seconds,
    forget_heat,
    heat_of,
    packed,
    prune_heat,
    record_heat,
    unpacked,
)
from storage.host_data import BadHostData
from storage.models import HeatDay, HeatTrace, Host, Volume
from tests import make
from tests.storage.analysis.curve.traces import heat, zipf_load
from tests.storage.metrics.samples.rounds import placed

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 1, 30, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=30)


@pytest.fixture
def host() -> Host:
    return make.host()


def hours(count: int, until: datetime = NOW) -> list[HeatRecord]:
    """Of so many hours before `until`."""
    begun_ns = int((until - timedelta(hours=count)).timestamp()) * NS
    return list(heat(zipf_load(1.0, 2_000, 4_096), share=1, hours=count, begun_ns=begun_ns))


def sent(lv_uuid: str, records: Sequence[HeatRecord], **fields: Any) -> dict[str, Any]:
    """As an agent's answer."""
    listed = [{"lv_uuid": lv_uuid, **msgspec.to_builtins(each), **fields} for each in records]
    return {"heat": {}, "records": listed, "last": 7, "more": False}


def test_what_is_packed_is_unpacked_as_it_was() -> None:
    records = hours(24)
    assert unpacked(packed(records)) == records


def test_records_are_kept_by_volume_and_day_and_what_is_sent_twice_once(host: Host) -> None:
    volume, lv_uuid = placed(host)
    records = hours(4)
    assert record_heat(host, sent(lv_uuid, records[:3]), NOW).last == 7
    record_heat(host, sent(lv_uuid, records), NOW)
    assert heat_of(volume, LONG_AGO) == records
    # Two began before midnight.
    assert sorted(HeatDay.objects.values_list("day", flat=True)) == [
        (NOW - timedelta(days=1)).date(),
        NOW.date(),
    ]
    assert heat_of(volume, NOW - timedelta(hours=2)) == records[2:]


@pytest.mark.parametrize(
    "odd",
    [
        {"clock": -1},
        {"chunk_bytes": 0},
        {"seconds": "3600"},
        {"reuse": {"reads": {"cold": 1, "buckets": [[5000, 1]]}}},
        {"begun_ns": None},
    ],
)
def test_an_odd_record_costs_itself(host: Host, odd: dict[str, Any]) -> None:
    volume, lv_uuid = placed(host)
    records = hours(2)
    answer = sent(lv_uuid, records)
    answer["records"][0] |= odd
    record_heat(host, answer, NOW)
    assert heat_of(volume, LONG_AGO) == records[1:]


@pytest.mark.parametrize("answer", [{}, {"records": [], "last": -1, "more": False}, None])
def test_an_answer_that_is_none_is_refused(host: Host, answer: object) -> None:
    with pytest.raises(BadHostData):
        record_heat(host, answer, NOW)


@pytest.mark.parametrize("off", [timedelta(days=-4), timedelta(hours=3)])
def test_what_a_wrong_clock_wrote_is_dropped(host: Host, off: timedelta) -> None:
    volume, lv_uuid = placed(host)
    record_heat(host, sent(lv_uuid, hours(1, NOW + off)), NOW)
    assert heat_of(volume, LONG_AGO - timedelta(days=30)) == []


def test_only_volumes_that_are_there_and_may_be_counted_are_kept(host: Host) -> None:
    other = make.host(name="other")
    _, elsewhere = placed(other)
    unwilling, forbidden = placed(host)
    Volume.objects.filter(pk=unwilling.pk).update(counts_heat=False)
    for lv_uuid in (elsewhere, forbidden, make.lvm_uuid()):
        record_heat(host, sent(lv_uuid, hours(1)), NOW)
    assert not HeatDay.objects.exists()


def test_what_is_old_and_what_is_no_more_wished_is_deleted(host: Host, settings: Settings) -> None:
    settings.TIERCEL_HEAT_KEPT_DAYS = 7
    volume, lv_uuid = placed(host)
    record_heat(host, sent(lv_uuid, hours(2)), NOW)
    prune_heat(NOW + timedelta(days=6))
    assert heat_of(volume, LONG_AGO)
    prune_heat(NOW + timedelta(days=9))
    assert heat_of(volume, LONG_AGO) == []
    record_heat(host, sent(lv_uuid, hours(2)), NOW)
    forget_heat(volume)
    assert not HeatDay.objects.exists()


def test_hours_that_were_counted_are_added_up_by_host_and_traces_are_none(host: Host) -> None:
    for share in (64, 64, 4):
        _, lv_uuid = placed(host)
        record_heat(host, sent(lv_uuid, hours(3), share=share), NOW)
    assert counted_seconds(NOW) == {host.name: 6 * 3600}
    assert counted_seconds(NOW + timedelta(days=3)) == {}


def test_traces_are_deleted_with_what_they_counted(host: Host, settings: Settings) -> None:
    settings.TIERCEL_HEAT_KEPT_DAYS = 7
    for ended_at in (NOW, NOW - timedelta(days=8), None):
        volume, _ = placed(host)
        HeatTrace.objects.create(
            volume=volume, host=host, minutes=15, chunk_bytes=65_536, ended_at=ended_at
        )
    prune_heat(NOW)
    assert set(HeatTrace.objects.values_list("ended_at", flat=True)) == {NOW, None}
    forget_heat(volume)
    assert HeatTrace.objects.count() == 1


def test_a_customer_sees_the_heat_of_his_volumes_alone(host: Host) -> None:
    for _ in range(2):
        _, lv_uuid = placed(host)
        record_heat(host, sent(lv_uuid, hours(1, NOW)), NOW)
    person = make.user()
    with row_security.scope(str(person.pk)):
        assert not HeatDay.objects.exists()
    assert HeatDay.objects.count() == 2
