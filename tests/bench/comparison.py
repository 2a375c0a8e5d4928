"""The halves of `make bench-samples`: figures stored and read here and in the other systems, and
hosts asked for theirs."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import psycopg

from storage.metrics.series import step_seconds
from storage.models import Host
from tests import fleet
from tests.bench import collection
from tests.bench.http_timing import say, timed
from tests.bench.packages import NotHere
from tests.bench.peers import Peer, Prometheus, VictoriaMetrics, VolumeFigures
from tests.bench.stored import DAY, LENGTHS, MINUTE, Ours, Piece, Web, bare_web, past, points
from tests.fake.crowd_process import crowd_of, enrol
from tests.fleet.workload import counters

FEW: Final = 100
DRAWN: Final = (
    "reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms", "read_hits",
)  # fmt: skip
GAUGE_DRAWN: Final = "dirty_bytes"


@dataclass(frozen=True, slots=True)
class Size:
    """`peers`: so many of the volumes are in the other systems too; `past`: so many have a year.
    `crowd`: hosts of the collector's part, every `interval` seconds for `seconds`."""

    hosts: int
    volumes: int
    peers: int
    past: int
    asked: int
    crowd: int
    interval: int
    seconds: float


def stored(size: Size, panel: Any, folder: Path) -> dict[str, Any]:
    began = time.monotonic()
    made = fleet.build(size.hosts, size.volumes, hours=0.1)
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute("ANALYZE")
    # The invented fleet has some minutes of its own, up to now.
    end = int(time.time()) // MINUTE * MINUTE - 10 * MINUTE
    ids = [volume.pk for volume in made.volumes]
    say(f"{size.volumes} volumes on {size.hosts} hosts made", began)
    ours = Ours(ids, end)
    ours.fill_past(size.past)
    web = Web(panel, made.admin)
    keys = [volume.key for volume in made.volumes]
    few = min(FEW, size.volumes // 2)
    # As all are later: the last hours are rows.
    ours.ingest(ours.fill_day(0, few, is_measured=True))
    with web:
        alone = timed(size.asked, lambda n: web.chart(keys[n % few], end, DAY))
    rest = ours.fill_day(few, size.volumes, is_measured=False)
    result: dict[str, Any] = {"ingest": ours.ingest(rest)}
    result["storage"] = ours.sizes(size.past)
    peers = _peers(size, ids, end, folder, ours)
    with web:
        charts = {
            name: timed(
                size.asked,
                lambda n, length=length: web.chart(
                    keys[n % (size.past if length > DAY else len(keys))], end, length
                ),
            )
            for name, length in LENGTHS.items()
        }
        result["ours"] = {
            "charts": charts,
            "24h_of_few": {"volumes": few, **alone},
            "decoded": ours.decoded(made.volumes[: size.past], size.asked),
            "top_20": timed(size.asked, lambda n: web.ask("/volumes/?sort=-iops")),
            "overview": timed(size.asked, lambda n: web.ask("/overview")),
        }
    with bare_web(panel, made.admin) as bare:
        result["bare_view"] = timed(
            size.asked, lambda n: bare.ask(f"/charts/{keys[n % len(keys)]}")
        )
    return result | {"peers": peers}


def _peers(size: Size, ids: Sequence[int], end: int, folder: Path, ours: Ours) -> dict[str, Any]:
    day = [
        _exposed(ours.piece(number, end - DAY, DAY // MINUTE, MINUTE), ours.names, MINUTE)
        for number in range(size.peers)
    ]
    older = [
        [
            _exposed(ours.piece(number, start, (stop - start) // seconds, seconds), ours.names,
                     seconds, only=(*DRAWN, GAUGE_DRAWN))
            for number in range(size.past)
        ]
        for start, stop, seconds in past(end)
    ]  # fmt: skip
    results: dict[str, Any] = {}
    for kind in (Prometheus, VictoriaMetrics):
        try:
            peer: Peer = kind(folder / kind.name.lower())
        except NotHere as error:
            print(f"{kind.name} is left out: {error}", flush=True)
            results[kind.name] = {"left_out": str(error)}
            continue
        with peer:
            began = time.monotonic()
            results[kind.name] = _one_peer(peer, day, older, end, size)
            say(f"{kind.name} filled and asked", began)
    return results


def _exposed(
    piece: Piece, names: Mapping[str, object], seconds: int, only: Sequence[str] = ()
) -> Any:
    figures = counters(piece.columns, names)
    if only:
        figures = {name: figures[name] for name in only if name in figures}
    at = (np.rint(piece.ends_ms / 1000 / seconds) * seconds).astype(np.int64)
    return VolumeFigures(f"v{piece.number:05d}", f"h{piece.number % 100:03d}", at, figures)


def _one_peer(
    peer: Any, day: Sequence[Any], older: Sequence[Any], end: int, size: Size
) -> dict[str, Any]:
    figures = sum(each.count for each in day)
    result: dict[str, Any] = {"volumes": len(day), "figures": figures}
    if isinstance(peer, Prometheus):
        took = peer.fill(day)
        result["bytes"] = peer.size()
        for some in older:
            peer.fill_past(some)
        peer.start()
    else:
        peer.start()
        took = peer.fill(day)
        peer.merge()
        result["bytes"] = peer.size()
        for some in older:
            peer.fill(some)
    result["figures_s"] = round(figures / took)
    result["bytes_a_figure"] = round(result["bytes"] / figures, 3)
    volumes = itertools.cycle(each.volume for each in day)
    old = itertools.cycle(each.volume for each in older[0])
    result["charts"] = {
        name: timed(
            size.asked,
            lambda n, length=length: draw(
                peer, next(old if length > DAY else volumes), end, length
            ),
        )
        for name, length in LENGTHS.items()
    }
    result["one_request"] = timed(size.asked, lambda n: draw_at_once(peer, next(volumes), end, DAY))
    top = "topk(20, rate(tiercel_reads[5m]) + rate(tiercel_writes[5m]))"
    result["top_20"] = timed(size.asked, lambda n: peer.now(top, end))
    result["overview"] = timed(
        size.asked,
        lambda n: [
            peer.now(f"sum({each})", end)
            for each in (*(f"rate(tiercel_{name}[5m])" for name in DRAWN), "tiercel_dirty_bytes")
        ],
    )
    return result


def draw(peer: Any, volume: str, end: int, length: int) -> None:
    """Eight figures, one request each."""
    step = _step(length)
    drawn = {}
    for name in DRAWN:
        expression = f'rate(tiercel_{name}{{volume="{volume}"}}[{max(step, 2 * MINUTE)}s])'
        drawn[name] = peer.points(expression, end - length, end, step)
    if len(drawn["writes"][0]["values"]) < 0.9 * length / step:
        raise AssertionError(f"{peer.name} does not have all of {length} s of {volume}")
    peer.points(f'tiercel_{GAUGE_DRAWN}{{volume="{volume}"}}', end - length, end, step)


def draw_at_once(peer: Any, volume: str, end: int, length: int) -> None:
    """The counters of the same eight as they are, by one request: who draws them subtracts."""
    names = "|".join(f"tiercel_{name}" for name in (*DRAWN, GAUGE_DRAWN))
    expression = f'{{__name__=~"{names}",volume="{volume}"}}'
    peer.points(expression, end - length, end, _step(length))


def _step(length: int) -> int:
    end = datetime.now(UTC)
    return step_seconds(end - timedelta(seconds=length), end, points(length))


def collected(size: Size, panel: Any, server: int, folder: Path) -> dict[str, Any]:
    began = time.monotonic()
    # The invented fleet's hosts are at no address.
    Host.objects.update(state="quarantined")
    with crowd_of(10) as there:
        hosts = enrol(there, size.crowd, 10)
        polled = collection.polls(there, hosts[0], folder)
        scaled = collection.collector(panel, server, there, size.crowd, size.interval, size.seconds)
    say(f"{size.crowd} hosts collected", began)
    return {"polls": polled, "collector": scaled}
