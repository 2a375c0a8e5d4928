"""One job of fio's JSON.

The units changed with the versions: `clat` is microseconds, `clat_ns` nanoseconds; `io_bytes` was
KiB before fio 2.21, which also began to write `io_kbytes`. The unit of the amount is tested against
the bandwidth rather than believed. A key that fio does not have gives no unit.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from storage.fio.latency_bins import BinsError, LatencyBins, index_of
from storage.fio.results import (
    DIRECTIONS,
    DirectionResult,
    FioRefusal,
    IoLatency,
    JobResult,
    Remark,
)
from storage.fio.values import LARGEST, clean, number, options_of, version_of, whole

NANOSECONDS_SINCE: Final = (2, 99)
BYTES_SINCE: Final = (2, 21)
BINS: Final = {1000: 1216, 1: 1856}
"""By the nanoseconds of a unit."""
PERCENTILES: Final = 200
IOPS_TOLERANCE: Final = 0.001
BANDWIDTH_TOLERANCE: Final = 0.01

_LATENCY_KEY = re.compile(r"(slat|clat|lat)(_[a-z]+)?")
Version = tuple[int, int] | None


def job_result(
    file: str, document: dict[str, Any], entry: dict[str, Any], *, is_client: bool
) -> tuple[JobResult, list[Remark]]:
    """A job and what has to be known of it."""
    written = document.get("fio version")
    version = version_of(written) if isinstance(written, str) else None
    remarks: list[Remark] = []
    directions = {
        name: result
        for name in DIRECTIONS
        if isinstance(entry.get(name), dict)
        and (result := _direction(file, entry[name], version, remarks)) is not None
    }
    if "mixed" in directions and len(directions) > 1:
        directions["mixed"] = _with_reason(
            directions["mixed"], "sum-of-others", "It is the sum of the other directions.", file
        )
    options = options_of(document.get("global options"), entry.get("job options"))
    error = whole(entry, "error")
    is_sum = is_client and entry.get("jobname") == "All clients"
    sync = entry.get("sync")
    host = entry.get("hostname")
    job = JobResult(
        file=file,
        source="json",
        jobname=clean(entry.get("jobname", "")),
        directions=directions,
        host=clean(host) if host else None,
        group=whole(entry, "groupid"),
        fio_version=clean(written) if isinstance(written, str) else None,
        error=error,
        grouped="group_reporting" in options and options["group_reporting"] != "0",
        is_sum_of_others=is_sum,
        sync=_latency(file, sync, "lat", version, remarks) if isinstance(sync, dict) else None,
        options=options,
        start_unix_ms=whole(entry, "job_start"),
        reasons=tuple(_reasons(file, entry, error, is_sum)),
    )
    return job, remarks


def _reasons(file: str, entry: dict[str, Any], error: int | None, is_sum: bool) -> list[Remark]:
    reasons = []
    if error:
        sentence = f"The run failed with error {error}: its figures are shown, never compared."
        reasons.append(Remark("job-error", sentence, file))
    elif failed := whole(entry, "total_err"):
        sentence = f"{failed} I/Os failed: the figures are shown, never compared."
        reasons.append(Remark("io-errors", sentence, file))
    if is_sum:
        reasons.append(Remark("sum-of-others", "It is the sum of the other entries.", file))
    return reasons


def _direction(
    file: str, row: dict[str, Any], version: Version, remarks: list[Remark]
) -> DirectionResult | None:
    total, runtime = whole(row, "total_ios"), whole(row, "runtime")
    printed = number(row, "iops")
    io_bytes = _io_bytes(row, runtime, version)
    if not (total or io_bytes or printed or runtime):
        return None
    _note_unknown_latencies(file, row, version, remarks)
    iops = total * 1000 / runtime if total is not None and runtime else None
    reasons: list[Remark] = []
    if iops is not None and printed is not None:
        share = abs(printed - iops) / max(iops, 1e-9)
        if share > IOPS_TOLERANCE and abs(printed - iops) > 1:
            sentence = (
                f"The IOPS differ from the count divided by the run time by {share:.1%}: "
                "the file was changed."
            )
            reasons.append(Remark("iops-differ-from-count", sentence, file))
    bytes_per_s = io_bytes * 1000 / runtime if io_bytes is not None and runtime else None
    stated = number(row, "bw_bytes")
    if bytes_per_s and stated is not None:
        share = abs(stated - bytes_per_s) / bytes_per_s
        if share > BANDWIDTH_TOLERANCE and abs(stated - bytes_per_s) > 1024:
            sentence = (
                f"The bandwidth differs from the bytes divided by the run time by {share:.1%}: "
                "the file was changed."
            )
            reasons.append(Remark("bandwidth-differs-from-bytes", sentence, file))
    return DirectionResult(
        total_ios=total,
        io_bytes=io_bytes,
        runtime_ms=runtime,
        iops=iops,
        iops_from="count" if iops is not None else None,
        iops_printed=printed,
        bytes_per_s=bytes_per_s,
        slat=_latency(file, row, "slat", version, remarks),
        clat=_latency(file, row, "clat", version, remarks),
        lat=_latency(file, row, "lat", version, remarks),
        reasons=tuple(reasons),
    )


def _with_reason(result: DirectionResult, code: str, sentence: str, file: str) -> DirectionResult:
    return replace(result, reasons=(*result.reasons, Remark(code, sentence, file)))


def _io_bytes(row: dict[str, Any], runtime: int | None, version: Version) -> int | None:
    """The amount in bytes, None where its unit cannot be known."""
    amount, kib = whole(row, "io_bytes"), whole(row, "io_kbytes")
    if amount is None:
        return None if kib is None else kib * 1024
    if kib is not None:
        return amount
    kib_per_s = number(row, "bw")
    if runtime and kib_per_s:
        rate = amount * 1000 / runtime
        for factor in (1024, 1):
            if abs(rate * factor / 1024 - kib_per_s) <= max(1.0, 0.05 * kib_per_s):
                return amount * factor
        return None
    if amount == 0:
        return 0
    if version is None:
        return None
    return amount if version >= BYTES_SINCE else amount * 1024


def _unit_ns(row: dict[str, Any], name: str, version: Version) -> tuple[str, int] | None:
    """The key of a latency and the nanoseconds of its unit."""
    if f"{name}_ns" in row:
        return f"{name}_ns", 1
    if name in row and (version is None or version < NANOSECONDS_SINCE):
        return name, 1000
    return None


def _note_unknown_latencies(
    file: str, row: dict[str, Any], version: Version, remarks: list[Remark]
) -> None:
    known = {key[0] for name in ("slat", "clat", "lat") if (key := _unit_ns(row, name, version))}
    unknown = sorted(
        key
        for key, value in row.items()
        if isinstance(value, dict) and _LATENCY_KEY.fullmatch(key) and key not in known
    )
    if unknown:
        sentence = f"The unknown keys {clean(', '.join(unknown), 100)} are left out."
        remark = Remark("unknown-latency-key", sentence, file)
        if remark not in remarks:
            remarks.append(remark)


def _latency(
    file: str, row: dict[str, Any], name: str, version: Version, remarks: list[Remark]
) -> IoLatency | None:
    """A latency, None where nothing was measured (`gtod_reduce` writes zeros)."""
    key, unit = _unit_ns(row, name, version) or ("", 0)
    table = row.get(key)
    if not isinstance(table, dict):
        return None
    count = whole(table, "N")
    if count == 0:
        return None
    low = {**table, "min": None} if _is_unset(table.get("min")) else table
    mean, least, most = (number(low, key) for key in ("mean", "min", "max"))
    if not mean and not most:
        return None
    bins = _bins(file, table.get("bins"), unit, count, remarks)
    return IoLatency(
        mean_ns=None if mean is None else mean * unit,
        min_ns=None if least is None else least * unit,
        max_ns=None if most is None else most * unit,
        count=count,
        printed_percentiles_ns=_percentiles(table.get("percentile"), unit),
        bins=bins,
    )


def _is_unset(value: object) -> bool:
    """Whether fio left its largest number where no minimum was ever noted."""
    return isinstance(value, int) and value >= LARGEST


def _percentiles(table: object, unit: int) -> dict[float, float]:
    if not isinstance(table, dict):
        return {}
    percentiles = {}
    for key in list(table)[:PERCENTILES]:
        try:
            percent = float(key)
        except ValueError:
            continue
        value = number(table, key)
        if 0 < percent <= 100 and value is not None:
            percentiles[percent] = value * unit
    return dict(sorted(percentiles.items())) if any(percentiles.values()) else {}


def _bins(
    file: str, table: object, unit: int, count: int | None, remarks: list[Remark]
) -> LatencyBins | None:
    """The bins of JSON+. Before fio 2.2 their keys were numbers of bins, since then middles."""
    if not isinstance(table, dict) or not table:
        return None
    numbered = "FIO_IO_U_PLAT_NR" in table
    bins = (whole(table, "FIO_IO_U_PLAT_NR") or 0) if numbered else BINS[unit]
    if bins not in BINS.values():
        raise FioRefusal("impossible-bins", "The bins are none that fio has.")
    pairs = []
    for key in table:
        if not key.isdecimal() or not key.isascii() or len(key) > 20:
            if not key.startswith("FIO_IO_U_PLAT"):
                raise FioRefusal("impossible-bins", "A bin has no number.")
            continue
        value = whole(table, key) or 0
        pairs.append((int(key) if numbered else index_of(int(key), bins), value))
    try:
        found_bins = LatencyBins.at(pairs, bins)
    except BinsError as error:
        raise FioRefusal("impossible-bins", f"{str(error).capitalize()}.") from error
    if count is not None and found_bins.count != count:
        sentence = "The bins do not add up to the number of I/Os and are left out."
        remarks.append(Remark("bins-differ-from-count", sentence, file))
        return None
    return found_bins if found_bins.count else None
