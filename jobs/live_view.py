"""Live figures of a volume, second by second, while a person looks at them.

Each poll of a viewer renews a lease in Redis. While there is one, a collector reads a stream from
the host's agent on its open connection, and writes the last seconds to Redis; it holds no thread
meanwhile, and the web server none at all. Without a lease, and after `STREAM_SECONDS`, the stream
ends. Nothing is stored: losing Redis only ends the live view.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from contextlib import aclosing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

from jobs import notify_workers
from jobs.collector import position
from jobs.transport import Destination, connection, watch_counters
from jobs.transport.errors import TransportError
from jobs.transport.replies import Reply
from storage.host_data import BadHostData, decoded
from storage.metrics.counters import VolumeCounters, decode_counters, decode_stamp
from storage.metrics.rates import CounterReading, Delta, Sums, delta, figures, gauges
from storage.models import Placement, Volume
from storage.models.host import HostState

log = logging.getLogger(__name__)

LEASE_SECONDS: Final = 8
"""A viewer without a poll for this long has left."""
STREAM_SECONDS: Final = 600
KEPT_SECONDS: Final = 60
OF_A_HOST: Final = 2
"""Streams at a time: each holds one of the few channels to the host."""
OF_A_COLLECTOR: Final = 16


@dataclass(frozen=True, slots=True)
class LiveSecond:
    """What the guest did in about a second up to `at`, in seconds since 1970 by the panel's clock;
    None = unknown."""

    at: float
    read_iops: float | None = None
    write_iops: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    read_ms: float | None = None
    write_ms: float | None = None
    hit_rate: float | None = None
    dirty_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LiveView:
    """`seconds`, oldest first; `trouble` says why there are none."""

    seconds: tuple[LiveSecond, ...] = ()
    trouble: str = ""


def _lease(volume_id: int) -> str:
    return f"live:{volume_id}:lease"


def _stream(volume_id: int) -> str:
    return f"live:{volume_id}:stream"


def _view(volume_id: int) -> str:
    return f"live:{volume_id}:view"


def begin_live_view(volume: Volume) -> bool:
    """Start a live view; False where the volume is not active on a host."""
    placed = _placement(volume.pk)
    if placed is None:
        return False
    cache.set(_lease(volume.pk), True, LEASE_SECONDS)
    cache.delete(_view(volume.pk))
    shard = position(placed.host) % settings.TIERCEL_COLLECT_SHARDS
    notify_workers.send("jobs.tasks.stream_live", volume.pk, queue=f"collect.{shard}")
    return True


def look(volume: Volume) -> LiveView | None:
    """The last seconds, and renew the lease; None where no live view runs, except for the error
    that ended it."""
    try:
        is_wanted = cache.touch(_lease(volume.pk), LEASE_SECONDS)
        kept = cache.get(_view(volume.pk))
        view = LiveView() if kept is None else decoded(kept, LiveView, "live")
        return view if is_wanted or view.trouble else None
    except (RedisError, BadHostData) as error:
        return LiveView(trouble=f"Live figures cannot be read: {type(error).__name__}.")


def _placement(volume_id: int) -> Placement | None:
    return (
        Placement.objects.filter(
            volume_id=volume_id,
            until=None,
            lv_uuid__isnull=False,
            volume__retired_at=None,
            host__state=HostState.ACTIVE,
        )
        .select_related("host")
        .defer("host__facts")
        .first()
    )


_streams: Counter[int] = Counter()
_guard = threading.Lock()


def stream(volume_id: int) -> bool:
    """Begin to read the volume's seconds, and return at once; whether that began. A second message
    for the same volume changes nothing."""
    placed = _placement(volume_id)
    if placed is None or placed.lv_uuid is None or not cache.get(_lease(volume_id)):
        return False
    if not cache.add(_stream(volume_id), True, LEASE_SECONDS):
        return False
    with _guard:
        if _streams[placed.host_id] >= OF_A_HOST or _streams.total() >= OF_A_COLLECTOR:
            _keep(volume_id, LiveView(trouble="Others are watching this host right now."))
            _end(volume_id)
            return False
        _streams[placed.host_id] += 1
    connection.start_on_loop(_read(volume_id, Destination.of(placed.host), placed.lv_uuid))
    return True


async def _read(volume_id: int, destination: Destination, lv_uuid: str) -> None:
    reader = _Reader(volume_id, destination.host_id)
    replies = watch_counters(destination, [lv_uuid], every_seconds=1, count=STREAM_SECONDS)
    try:
        async with aclosing(replies):
            async for reply in replies:
                if not await asyncio.to_thread(reader.take, reply):
                    return
    except TransportError as error:
        await asyncio.to_thread(_keep_trouble, volume_id, str(error))
    except (RedisError, BadHostData) as error:
        log.info("live view of volume %s ends: %s", volume_id, error)
    except Exception:
        # No caller reads the result of this coroutine.
        log.exception("live view of volume %s", volume_id)
    finally:
        with _guard:
            _streams[destination.host_id] -= 1
        await asyncio.to_thread(_end, volume_id)


class _Reader:
    """Turns each reply into figures."""

    def __init__(self, volume_id: int, host_id: int) -> None:
        self._volume_id = volume_id
        self._host_id = host_id
        self._last: CounterReading | None = None
        self._seconds: list[LiveSecond] = []

    def take(self, reply: Reply) -> bool:
        """Whether a viewer is left."""
        if reply.error is not None:
            trouble = reply.error.message
            if reply.error.code == "unknown_verb":
                trouble = "The agent is too old for it. Run a new enrolment command on the host."
            _keep(self._volume_id, LiveView(trouble=trouble))
            return False
        stamp = decode_stamp(reply.stamp)
        for counters in decode_counters(reply.data):
            self._note(CounterReading(self._host_id, stamp.boot_id, stamp.boottime_ns, counters))
        _keep(self._volume_id, LiveView(tuple(self._seconds)))
        cache.touch(_stream(self._volume_id), LEASE_SECONDS)
        return bool(cache.get(_lease(self._volume_id)))

    def _note(self, reading: CounterReading) -> None:
        before, self._last = self._last, reading
        if before is None:
            return
        second = _second(delta(before, reading), reading.counters)
        self._seconds = [*self._seconds, second][-KEPT_SECONDS:]


def _second(change: object, counters: VolumeCounters) -> LiveSecond:
    """A gap is a second of which nothing is known."""
    at = datetime.now(UTC).timestamp()
    dirty_bytes = gauges(counters).dirty_bytes
    if not isinstance(change, Delta):
        return LiveSecond(at, dirty_bytes=dirty_bytes)
    known = figures(Sums.of(change.columns), least=1)
    return LiveSecond(
        at,
        known.read_iops,
        known.write_iops,
        known.read_bytes_per_s,
        known.write_bytes_per_s,
        known.read_ms,
        known.write_ms,
        known.hit_rate,
        dirty_bytes,
    )


def _keep(volume_id: int, view: LiveView) -> None:
    cache.set(_view(volume_id), asdict(view), 2 * LEASE_SECONDS)


def _keep_trouble(volume_id: int, trouble: str) -> None:
    try:
        _keep(volume_id, LiveView(trouble=trouble))
    except RedisError as error:
        log.info("live view of volume %s: %s, and Redis: %s", volume_id, trouble, error)


def _end(volume_id: int) -> None:
    try:
        cache.delete(_stream(volume_id))
        # Remaining viewers see that it has ended.
        cache.delete(_lease(volume_id))
    except RedisError as error:
        log.info("live view of volume %s: %s", volume_id, error)
