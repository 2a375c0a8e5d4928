"""Records of heat in the database: those of a volume and a day in one row, packed."""

from __future__ import annotations

import logging
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Final

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Sum

from storage.agent.heat.observation import FINE_SHARE
from storage.agent.heat.trace_filter import SHARE
from storage.analysis.curve.heat import NS, HeatRecord, heat_record
from storage.host_data import BadHostData, decoded
from storage.models import HeatDay, HeatTrace, Host, Placement, SizeForecast, Volume
from storage.row_locks import hold_one

log = logging.getLogger(__name__)

MOST_RECORDS: Final = 10_000
"""In one answer of a host; its own limit is 1 MiB."""
EARLIEST: Final = timedelta(days=3)
"""A host keeps records for two days. What began earlier, or is yet to come, has a wrong clock."""
LATEST: Final = timedelta(minutes=10)
MOST_OF_A_DAY: Final = 1_000
"""Hours, and traces of three records each."""


class SentRecord(msgspec.Struct, frozen=True):
    """A record before its figures are looked at: whose it is."""

    lv_uuid: str


class SentRecords(msgspec.Struct, frozen=True):
    """An answer to `heat.records`. `last` is the number to acknowledge, `more`: others follow."""

    records: Annotated[list[object], msgspec.Meta(max_length=MOST_RECORDS)]
    last: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    more: bool


def record_heat(host: Host, data: object, now: datetime) -> SentRecords:
    """Store an agent's answer; raises `BadHostData`. What is sent twice is kept once. One odd
    record costs itself, and records of a volume that is no longer here, or whose customer does not
    wish it, are dropped."""
    sent = decoded(data, SentRecords, "heat")
    kept: dict[tuple[str, date], list[HeatRecord]] = defaultdict(list)
    for each in sent.records:
        try:
            lv_uuid, record = decoded(each, SentRecord, "record").lv_uuid, heat_record(each)
        except BadHostData as error:
            log.warning("heat of host %s: %s", host.name, error)
            continue
        begun_at = datetime.fromtimestamp(record.begun_ns / NS, UTC)
        if now - EARLIEST < begun_at < now + LATEST:
            kept[lv_uuid, begun_at.date()].append(record)
    there = Placement.objects.filter(
        host=host, until=None, lv_uuid__in={uuid for uuid, _ in kept}, volume__counts_heat=True
    )
    volume_ids = dict(there.values_list("lv_uuid", "volume_id"))
    with transaction.atomic():
        for (lv_uuid, day), records in sorted(kept.items()):
            if lv_uuid in volume_ids:
                _add(volume_ids[lv_uuid], day, records)
    return sent


def _add(volume_id: int, day: date, records: Iterable[HeatRecord]) -> None:
    HeatDay.objects.get_or_create(volume_id=volume_id, day=day, defaults={"records": packed([])})
    row = HeatDay.objects.select_for_update().get(volume_id=volume_id, day=day)
    known = {_identity(each): each for each in unpacked(row.records)}
    known |= {_identity(each): each for each in records}
    newest = sorted(known.values(), key=_identity)[-MOST_OF_A_DAY:]
    seconds = sum(record.seconds for record in newest if record.share == SHARE)
    HeatDay.objects.filter(volume_id=volume_id, day=day).update(
        records=packed(newest), counted_seconds=seconds
    )


def _identity(record: HeatRecord) -> tuple[int, int, int]:
    return record.begun_ns, record.chunk_bytes, record.share


_RECORDS: Final = msgspec.msgpack.Decoder(list[HeatRecord])


def packed(records: Iterable[object]) -> bytes:
    """MessagePack, deflated."""
    return zlib.compress(msgspec.msgpack.encode(list(records)), 9)


def unpacked(data: bytes | memoryview) -> list[HeatRecord]:
    """What `packed` made of these."""
    return _RECORDS.decode(zlib.decompress(data))


def heat_of(volume: Volume, since: datetime) -> list[HeatRecord]:
    """All records of the volume that began at `since` or later, the oldest first. One query."""
    rows = HeatDay.objects.filter(volume=volume, day__gte=since.astimezone(UTC).date())
    begun_ns = int(since.timestamp()) * NS
    return [
        record
        for row in rows.order_by("day")
        for record in unpacked(row.records)
        if record.begun_ns >= begun_ns
    ]


def trace_records(trace: HeatTrace) -> list[HeatRecord]:
    """What a trace counted, a record for each size of chunks, the smallest first; none before it
    ends, or where it counted nothing. Its times are those of the host's clock."""
    if trace.until_ns is None:
        return []
    begun_ns = trace.until_ns - trace.minutes * 60 * NS
    begun = datetime.fromtimestamp(begun_ns / NS, UTC)
    records = (
        record
        for record in heat_of(trace.volume, begun)
        if record.share == FINE_SHARE and begun_ns <= record.begun_ns <= trace.until_ns
    )
    return sorted(records, key=lambda record: (record.chunk_bytes, record.begun_ns))


def by_kind(records: Iterable[HeatRecord]) -> Mapping[tuple[int, int], list[HeatRecord]]:
    """By the size of the chunks and the share of them that was observed: only such are added up."""
    kinds: dict[tuple[int, int], list[HeatRecord]] = defaultdict(list)
    for record in records:
        kinds[record.chunk_bytes, record.share].append(record)
    return kinds


@transaction.atomic
def set_counting(unlocked: Volume, *, allowed: bool) -> bool:
    """Whether the heat of the volume may be counted from now on; where not, what was counted is
    deleted. Returns whether anything was."""
    volume = hold_one(unlocked)
    volume.counts_heat = allowed
    volume.save(update_fields=["counts_heat"])
    had_heat = has_heat(volume)
    if not allowed:
        forget_heat(volume)
    return had_heat and not allowed


def counted_seconds(now: datetime) -> dict[str, int]:
    """How long heat was counted of volumes, yesterday and today (UTC): the volumes' times added up
    by the name of their host."""
    yesterday = now.astimezone(UTC).date() - timedelta(days=1)
    rows = Placement.objects.filter(until=None, volume__heat_days__day__gte=yesterday)
    sums = (
        rows.order_by()
        .values("host__name")
        .annotate(seconds=Sum("volume__heat_days__counted_seconds"))
    )
    return {row["host__name"]: row["seconds"] for row in sums}


def has_heat(volume: Volume) -> bool:
    """Whether anything is stored that was counted of the volume."""
    kept: tuple[type[HeatDay | HeatTrace], ...] = (HeatDay, HeatTrace)
    return any(model.objects.filter(volume=volume).exists() for model in kept)


def forget_heat(volume: Volume) -> None:
    """Delete all that was counted of the volume, and what was made of it."""
    HeatDay.objects.filter(volume=volume).delete()
    HeatTrace.objects.filter(volume=volume).delete()
    SizeForecast.objects.filter(volume=volume).delete()


def prune_heat(now: datetime) -> None:
    """Delete what is older than the settings keep."""
    kept = timedelta(days=settings.TIERCEL_HEAT_KEPT_DAYS)
    HeatDay.objects.filter(day__lt=(now - kept).date()).delete()
    HeatTrace.objects.filter(ended_at__lt=now - kept).delete()
