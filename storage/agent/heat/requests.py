"""What a panel may ask of heat: what is observed, a trace of one volume, and what was counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..calls.refusals import Refusal
from ..kernel.local_host import LocalHost, LockBusy
from ..state import heat_files, hot_map_files
from ..state.heat_files import CHANGE, CHANGE_SECONDS, SECOND_NS, WantedHeat, WantedTrace
from ..state.policy import AGENT, load_policy

# Every chunk of dm-cache is a multiple of it.
CHUNK_KIB = 32


def observe(host: LocalHost, lv_uuids: Collection[str]) -> dict[str, Any]:
    """These volumes, in place of those of before; the trace of another one ends. Raises
    Refusal(vg_not_allowed | busy) or OSError."""
    with _changing(host) as wanted:
        trace = wanted.trace
        if trace is not None and trace.lv_uuid not in lv_uuids:
            trace = None
        heat_files.save_wanted(host, WantedHeat(frozenset(lv_uuids), trace))
    return {"lv_uuids": sorted(lv_uuids)}


def forget_reads(host: LocalHost, lv_uuids: Collection[str]) -> dict[str, Any]:
    """What was counted of them is another customer's. Raises Refusal(busy) or OSError."""
    try:
        hot_map_files.forget_maps(host, lv_uuids)
    except LockBusy:
        raise Refusal(
            "busy", "The most-read parts are being written down.", "Ask again in a minute."
        ) from None
    return {"lv_uuids": sorted(lv_uuids)}


def trace(host: LocalHost, args: Mapping[str, Any]) -> dict[str, Any]:
    """All I/Os of a volume that is observed; for no minutes: its trace ends. Raises
    Refusal(vg_not_allowed | not_found | busy) or OSError."""
    with _changing(host) as wanted:
        now_ns = host.wall_ns()
        if not args["minutes"]:
            if wanted.trace is not None and wanted.trace.lv_uuid == args["lv_uuid"]:
                heat_files.save_wanted(host, replace(wanted, trace=None))
            return {"until_ns": now_ns}
        if args["lv_uuid"] not in wanted.lv_uuids:
            raise Refusal(
                "not_found",
                "This volume is not observed.",
                "Name it in heat.observe first, unless its customer does not wish that.",
            )
        if wanted.trace is not None and wanted.trace.is_due(now_ns):
            left_minutes = (wanted.trace.until_ns - now_ns) // (60 * SECOND_NS) + 1
            raise Refusal(
                "busy",
                "Another volume, or this one, is being traced.",
                f"Ask again in {left_minutes} minutes.",
            )
        until_ns = now_ns + args["minutes"] * 60 * SECOND_NS
        asked = WantedTrace(args["lv_uuid"], args["chunk_kib"] * 1024, until_ns)
        heat_files.save_wanted(host, replace(wanted, trace=asked))
    return {"until_ns": until_ns}


def records(host: LocalHost, after: int) -> dict[str, Any]:
    """What has been counted and not acknowledged. Raises OSError."""
    state = heat_files.shown(host, load_policy(host))
    return {"heat": state, **heat_files.read_records(host, after)}


@contextmanager
def _changing(host: LocalHost) -> Iterator[WantedHeat]:
    if not load_policy(host).heat:
        raise Refusal(
            "vg_not_allowed",
            "Root on this host does not let the heat of volumes be observed.",
            f"As root on the host run: {AGENT} allow-heat",
        )
    try:
        with host.lock(CHANGE, CHANGE_SECONDS):
            yield heat_files.load_wanted(host)
    except LockBusy:
        raise Refusal(
            "busy", "Another request changes what is observed.", "Ask again in a minute."
        ) from None
