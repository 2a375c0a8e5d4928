"""How many volumes a panel may destroy in an hour; root sets the number on the host."""

from __future__ import annotations

from typing import Any

from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..facts.view import Check, View
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from .policy import AGENT, PATH

VERB = "volume.destroy"
HOUR_NS = 3600 * 1_000_000_000


def destroys(view: View, call: VerbCall) -> Check:
    """Fewer than `destroy_per_hour` other volumes were destroyed, or were begun to be, within the
    hour before this one was asked for: so of many at once only so many pass, and what was let
    through stays so however long it takes. A repeated destroy of the same volume counts once."""

    def check() -> None:
        allowed = view.policy.destroy_per_hour
        done = len(_others(view, call))
        if done >= allowed:
            raise Refusal(
                "quota",
                f"{done} volumes were destroyed within the last hour; this host allows {allowed}.",
                f"Wait, or raise destroy_per_hour in {PATH} on the host as root "
                f"(`{AGENT} policy` shows it).",
            )

    return check


def _others(view: View, call: VerbCall) -> set[str]:
    host, own = view.host, call.expect.get("lv_uuid")
    boot = text(host, "/proc/sys/kernel/random/boot_id")
    destroyed = [
        (record["call"]["expect"]["lv_uuid"], _age_ns(host, record, boot))
        for record in (host.op_load(op) for op in host.op_ids())
        if record is not None and record["call"]["verb"] == VERB and _counts(record)
    ]
    asked_ns = max((age for lv_uuid, age in destroyed if lv_uuid == own), default=0)
    return {lv_uuid for lv_uuid, age in destroyed if asked_ns <= age < asked_ns + HOUR_NS} - {own}


def _counts(record: dict[str, Any]) -> bool:
    """It may yet destroy, or a command of it was begun: one that was refused or stopped before
    that destroyed nothing, and let nothing through for later."""
    begun = any(command["started_ns"] is not None for command in record["commands"])
    return begun or (record["state"] == "running" and bool(record["commands"]))


def _age_ns(host: LocalHost, record: dict[str, Any], boot: str) -> int:
    """By the clock that nobody sets; after a restart at least as old as this boot, whatever the
    wall clock says."""
    if record["boot_id"] == boot:
        return int(host.boottime_ns() - record["started_boottime_ns"])
    return int(max(host.boottime_ns(), host.wall_ns() - record["started_ns"]))
