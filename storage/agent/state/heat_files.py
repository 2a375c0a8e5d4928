"""What the panel wants observed, what the service says of itself, and the records that the panel
has not got yet. Each file is written as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..calls import names
from ..calls.refusals import Problem, problem
from ..kernel.local_host import LocalHost
from .policy import AGENT, Policy

FOLDER = "/var/lib/tiercel/heat"
WANTED = f"{FOLDER}/wanted.json"
RECORDS = f"{FOLDER}/records"
STATE = "/run/tiercel/heat.json"
# No VG has such a name. SERVICE is held as long as the service runs, CHANGE while WANTED changes.
SERVICE, CHANGE = "@heat", "@heat-wanted"
CHANGE_SECONDS = 10.0
VOLUMES_LIMIT = 128
KEPT_SECONDS = 48 * 3600
FILES_LIMIT = 256
RECORDS_IN_FILE = 32
READ_BYTES = 1 << 20
SECOND_NS = 1_000_000_000
SILENT_NS = 180 * SECOND_NS
TRACE_MINUTES = 30

RUNNING, IDLE, PAUSED, UNAVAILABLE = "running", "idle", "paused", "unavailable"
OFF, STOPPED = "off", "stopped"


@dataclass(frozen=True)
class WantedTrace:
    """All I/Os of one volume until a time of the wall clock; `chunk_bytes` of its cache."""

    lv_uuid: str
    chunk_bytes: int
    until_ns: int

    def is_due(self, wall_ns: int) -> bool:
        """Not once it is over, nor where the clock was put back meanwhile: it would have no end."""
        return 0 < self.until_ns - wall_ns <= TRACE_MINUTES * 60 * SECOND_NS

    def to_json(self) -> dict[str, Any]:
        return {
            "lv_uuid": self.lv_uuid,
            "chunk_bytes": self.chunk_bytes,
            "until_ns": self.until_ns,
        }


@dataclass(frozen=True)
class WantedHeat:
    """Volumes that are observed: none unless a panel names them."""

    lv_uuids: frozenset[str] = field(default_factory=frozenset)
    trace: WantedTrace | None = None


def load_wanted(host: LocalHost) -> WantedHeat:
    """Nothing where the file is missing or cannot be understood: the panel names them again."""
    data = host.read(WANTED)
    if data is None:
        return WantedHeat()
    try:
        document = json.loads(data.decode("utf-8"))
        uuids = frozenset(names.lvm_uuids(VOLUMES_LIMIT, least=0)(document["lv_uuids"]))
        trace = document["trace"]
        return WantedHeat(uuids, None if trace is None else _trace(trace))
    except (ValueError, TypeError, LookupError, RecursionError):
        return WantedHeat()


def _trace(document: Mapping[str, Any]) -> WantedTrace:
    return WantedTrace(
        names.lvm_uuid(document["lv_uuid"]),
        names.integer(512, 1 << 30, 512)(document["chunk_bytes"]),
        names.integer(0, 1 << 63)(document["until_ns"]),
    )


def save_wanted(host: LocalHost, wanted: WantedHeat) -> None:
    """Raises OSError. The caller holds CHANGE."""
    trace = None if wanted.trace is None else wanted.trace.to_json()
    document = {"lv_uuids": sorted(wanted.lv_uuids), "trace": trace}
    host.save(WANTED, json.dumps(document).encode() + b"\n")


def add_records(host: LocalHost, records: Sequence[Mapping[str, Any]]) -> None:
    """Keep finished records until the panel has them, for 48 hours at most. Raises OSError."""
    if not records:
        return
    number = max([host.wall_ns() // SECOND_NS, *(each + 1 for each in _numbers(host)[-1:])])
    for at in range(0, len(records), RECORDS_IN_FILE):
        document = {"records": records[at : at + RECORDS_IN_FILE]}
        data = json.dumps(document, separators=(",", ":")).encode() + b"\n"
        host.save(f"{RECORDS}/{number}.json", data)
        number += 1
    oldest = host.wall_ns() // SECOND_NS - KEPT_SECONDS
    kept = _numbers(host)
    for n, each in enumerate(kept):
        if each < oldest or n < len(kept) - FILES_LIMIT:
            host.remove(f"{RECORDS}/{each}.json")


def read_records(host: LocalHost, after: int) -> dict[str, Any]:
    """Remove what the panel has, all up to the number `after`, and give the oldest of the rest:
    `last` is the number to acknowledge, `more`: there are others. Raises OSError."""
    records: list[Any] = []
    last, size_bytes, more = after, 0, False
    for number in _numbers(host):
        path = f"{RECORDS}/{number}.json"
        if number <= after:
            host.remove(path)
            continue
        if size_bytes > READ_BYTES:
            more = True
            break
        data = host.read(path) or b""
        size_bytes += len(data)
        last = number
        try:
            records += json.loads(data.decode("utf-8"))["records"]
        except (ValueError, TypeError, LookupError, RecursionError):
            # The disk spoiled it: an hour is missing, and the next ones are not kept from anyone.
            continue
    return {"records": records, "last": last, "more": more}


def forget_heat(host: LocalHost) -> None:
    """Remove every record, and what was wanted. Raises OSError."""
    for number in _numbers(host):
        host.remove(f"{RECORDS}/{number}.json")
    host.remove(WANTED)


def _numbers(host: LocalHost) -> list[int]:
    """Of the files, oldest first: the second in which each was written, or the next free one."""
    stems = (name[: -len(".json")] for name in host.list(RECORDS) if name.endswith(".json"))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def save_state(host: LocalHost, state: str, message: str, figures: Mapping[str, int]) -> None:
    """What the service says of itself. Raises OSError."""
    document = {"state": state, "message": message, "at_ns": host.boottime_ns(), **figures}
    host.save(STATE, json.dumps(document).encode() + b"\n")


def shown(host: LocalHost, policy: Policy) -> dict[str, Any]:
    """What `hello` says of it. A service that is silent is not taken for one that works."""
    document: Any = {}
    try:
        document = json.loads((host.read(STATE) or b"{}").decode("utf-8"))
        age_ns = host.boottime_ns() - int(document["at_ns"])
        state, message = str(document["state"]), names.quoted(document["message"])
        figures = {name: int(document[name]) for name in FIGURES}
    except (ValueError, TypeError, LookupError, RecursionError):
        age_ns, state, message, figures = SILENT_NS, STOPPED, "", dict.fromkeys(FIGURES, 0)
    if not policy.heat:
        return {"state": OFF, "message": f"Root may allow it: {AGENT} allow-heat", **_none()}
    if not 0 <= age_ns < SILENT_NS:
        return {"state": STOPPED, "message": "The unit tiercel-heat does not run.", **_none()}
    return {"state": state, "message": message, **figures}


def observed_now(host: LocalHost, policy: Policy) -> frozenset[str]:
    """Volumes that are named, while root allows it and the service is at work."""
    is_at_work = shown(host, policy)["state"] in (RUNNING, IDLE)
    return load_wanted(host).lv_uuids if is_at_work else frozenset()


FIGURES = ("volumes", "events", "lost", "cpu_ms", "maps")
"""Volumes that are observed; since the service began: I/Os that were seen, those that the ring
buffer lost, and its processor time; volumes of which it is known what is read most."""


def _none() -> dict[str, int]:
    return dict.fromkeys(FIGURES, 0)


def heat_problems(heat: Mapping[str, Any]) -> Iterator[Problem]:
    """Where it stopped because of what it cost. That it is off, or that this kernel cannot, is a
    state and no problem."""
    if heat["state"] == PAUSED:
        yield problem(
            "heat_paused",
            "info",
            f"Heat is not observed for an hour, to spare the host. {heat['message']}",
            f"You need do nothing. If this happens again, as root on the host: {AGENT} deny-heat",
        )
