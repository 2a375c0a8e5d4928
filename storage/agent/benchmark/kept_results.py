"""Results of runs, on the host until the panel has them: one folder a run.

`run.json` says how far a run has come. It is there from the beginning, so that a run that was
killed has a result too.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..calls import names
from ..calls.refusals import Refusal
from ..kernel.local_host import LocalHost

FOLDER = "/var/lib/tiercel/benchmarks"
# No VG has such a name. It is held as long as a run, or the removal of what one left, is at work.
LOCK = "@benchmark"
RUN, CONDITIONS, FIO, LEGS = "run.json", "conditions.json", "fio.json", "legs.jsonl"
RUNNING, FINISHED, STOPPED, FAILED = "running", "finished", "stopped", "failed"
KEPT_LIMIT = 16
BYTES_LIMIT = 64 << 20
PIECE_BYTES = 512 << 10
FORMAT = 1
KILLED = "The run ended early, with its operation."

_FILE = re.compile(r"run\.json|conditions\.json|fio\.json|legs\.jsonl|(?:iops|hist)\.\d{1,3}\.log")
_FIO_LOG = re.compile(r"iops_(iops)\.(\d{1,3})\.log|hist_clat_(hist)\.(\d{1,3})\.log")


def file_name(value: Any) -> str:
    """The name of a file of a result."""
    if not isinstance(value, str) or _FILE.fullmatch(value) is None:
        raise ValueError("the name of a file of a result")
    return value


def run_folder(key: str) -> str:
    return f"{FOLDER}/{key}"


def _path(key: str, name: str) -> str:
    return f"{FOLDER}/{key}/{name}"


def run_keys(host: LocalHost) -> list[str]:
    """Of all runs that have a folder."""
    listed = []
    for name in host.list(FOLDER):
        try:
            listed.append(names.volume_key(name))
        except ValueError:
            # Nothing of ours.
            continue
    return listed


def load_run(host: LocalHost, key: str) -> dict[str, Any] | None:
    """What is known of a run; None where there is none, or nothing can be read of it."""
    data = host.read(_path(key, RUN))
    try:
        document = json.loads((data or b"").decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def outcome_of(host: LocalHost, key: str) -> str:
    """FAILED where the disk spoiled what was written."""
    run = load_run(host, key)
    known = (RUNNING, FINISHED, STOPPED, FAILED)
    return run["outcome"] if run is not None and run.get("outcome") in known else FAILED


def ended_runs(host: LocalHost) -> list[dict[str, str]]:
    """Key and outcome of each run that is over."""
    listed = [{"key": key, "outcome": outcome_of(host, key)} for key in run_keys(host)]
    return [each for each in listed if each["outcome"] != RUNNING]


def has_unfinished(host: LocalHost) -> bool:
    return any(outcome_of(host, key) == RUNNING for key in run_keys(host))


def has_ended(host: LocalHost, key: str) -> bool:
    return any(each["key"] == key for each in ended_runs(host))


def save_document(host: LocalHost, key: str, name: str, document: Mapping[str, Any]) -> None:
    """Raises OSError."""
    data = json.dumps(document, separators=(",", ":")).encode() + b"\n"
    host.save(_path(key, name), data, 0o600)


def begin_result(host: LocalHost, key: str, run: Mapping[str, Any]) -> None:
    """A new folder, with what is known now. Raises OSError."""
    host.remove_folder(run_folder(key))
    host.make_folder(run_folder(key), 0o700)
    save_document(host, key, RUN, {**run, "v": FORMAT, "key": key, "outcome": RUNNING})


def append_legs(host: LocalHost, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Raises OSError."""
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    host.append(_path(key, LEGS), lines.encode())


def last_ms(host: LocalHost, key: str) -> int:
    """When the last row was taken, in ms since the measured part began; 0 without any."""
    path = _path(key, LEGS)
    size = host.size_bytes(path) or 0
    tail = host.read_part(path, max(0, size - 4096), 4096)
    for line in reversed(tail.splitlines()):
        try:
            return int(json.loads(line)["ms"])
        except (ValueError, TypeError, LookupError):
            # It was killed in the midst of a line.
            continue
    return 0


def tidy_run(host: LocalHost, key: str) -> list[str]:
    """Gives fio's files their names, takes off what fio said before its JSON, and removes logs
    until the rest is small enough: their names. Raises OSError."""
    for name in host.list(run_folder(key)):
        match = _FIO_LOG.fullmatch(name)
        if match is not None:
            kind, number = match.group(1) or match.group(3), match.group(2) or match.group(4)
            host.rename(_path(key, name), _path(key, f"{kind}.{number}.log"))
    report = host.read(_path(key, FIO))
    if report is not None and b"{" in report and not report.startswith(b"{"):
        host.save(_path(key, FIO), report[report.index(b"{") :], 0o600)
    sizes = {each["name"]: each["size"] for each in files_of_run(host, key)}
    left_out = []
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if sum(sizes.values()) <= BYTES_LIMIT:
            break
        host.remove(_path(key, name))
        del sizes[name]
        left_out.append(name)
    return left_out


def finish_result(
    host: LocalHost, key: str, how: str, message: str, correction: str, **more: Any
) -> None:
    """The run is over. What was known before stays. Raises OSError."""
    run = load_run(host, key) or {"v": FORMAT, "key": key}
    left_out = tidy_run(host, key)
    ended_run = {**run, "outcome": how, "message": message, "correction": correction, **more}
    save_document(host, key, RUN, {**ended_run, "ended_ns": host.wall_ns(), "left_out": left_out})


def finish_killed(host: LocalHost) -> list[str]:
    """Gives each run that is not at work any more its outcome; the caller holds LOCK. Keys of those
    that had none. Raises OSError."""
    killed = [key for key in run_keys(host) if outcome_of(host, key) == RUNNING]
    for key in killed:
        seconds = last_ms(host, key) // 1000
        finish_result(host, key, STOPPED, KILLED, "Begin it anew.", reached_seconds=seconds)
    return killed


def files_of_run(host: LocalHost, key: str) -> list[dict[str, Any]]:
    """Name and size of each file of a result."""
    listed = []
    for name in host.list(run_folder(key)):
        size = host.size_bytes(_path(key, name)) if _FILE.fullmatch(name) else None
        if size is not None:
            listed.append({"name": name, "size": size})
    return listed


def listed_results(host: LocalHost) -> dict[str, Any]:
    """What `bench.results` answers."""
    return {
        "results": [{**each, "files": files_of_run(host, each["key"])} for each in ended_runs(host)]
    }


def read_piece(host: LocalHost, key: str, name: str, offset: int) -> dict[str, Any]:
    """What `bench.read` answers: a piece of a file, and where the next one begins. Raises
    Refusal(not_found)."""
    total = host.size_bytes(_path(key, name)) if has_ended(host, key) else None
    if total is None:
        raise Refusal(
            "not_found",
            f"This host has no file {name} of the benchmark run {key}.",
            "bench.results lists what there is.",
        )
    piece = host.read_part(_path(key, name), offset, PIECE_BYTES)
    # Of the same time, so that the same piece is the same text.
    packed = base64.b64encode(gzip.compress(piece, mtime=0)).decode()
    return {"data": packed, "next": min(total, offset + len(piece)), "total": total}


def forget_result(host: LocalHost, key: str) -> dict[str, Any]:
    """What `bench.forget` does. Raises Refusal(busy)."""
    if key in run_keys(host) and outcome_of(host, key) == RUNNING:
        raise Refusal(
            "busy",
            f"The benchmark run {key} is not over.",
            "Wait until it has ended, or stop it (op.abort).",
        )
    try:
        host.remove_folder(run_folder(key))
    except OSError as error:
        raise Refusal(
            "internal",
            f"The result {key} cannot be removed: {error.strerror or error}.",
            f"Look at {run_folder(key)} on the host.",
        ) from None
    return {"key": key}
