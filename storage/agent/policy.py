"""/etc/tiercel/agent.json: what root on this host lets the panel change.

It starts observe-only: no VG listed, so nothing can be changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Callable

from . import names
from .errors import Refusal
from .host import Host

PATH = "/etc/tiercel/agent.json"
AGENT = "/usr/lib/tiercel/agent.pyz"
HIDE = f"As root on the host run: {AGENT} hide-guests"


@dataclass(frozen=True)
class Policy:
    """Allowed VGs by name; PVs whose tier the operator states (else the kernel's `rotational`,
    and hardware RAID lies); how many volumes may be destroyed in an hour; how many hours a retired
    volume can be restored; by how many percent the p95 latency of the other volumes on a disk may
    rise while Tiercel zeroes or moves there; whether what a volume leaves behind (after a move, or
    in a cache that is removed) is cleared.
    `broken` says why the file could not be used: nothing is allowed."""

    vgs: tuple[str, ...] = ()
    fast_pvs: tuple[str, ...] = ()
    slow_pvs: tuple[str, ...] = ()
    destroy_per_hour: int = 5
    undo_hours: int = 24
    others_rise_percent: int = 20
    clear_freed: bool = True
    broken: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "vgs": list(self.vgs),
            "fast_pvs": list(self.fast_pvs),
            "slow_pvs": list(self.slow_pvs),
            "destroy_per_hour": self.destroy_per_hour,
            "undo_hours": self.undo_hours,
            "others_rise_percent": self.others_rise_percent,
            "clear_freed": self.clear_freed,
        }


def load(host: Host) -> Policy:
    """A missing file is the observe-only policy; a file that cannot be understood allows
    nothing and says so."""
    data = host.read(PATH)
    if data is None:
        return Policy()
    try:
        document = json.loads(data.decode("utf-8"))
        unknown = set(document) - set(Policy().to_json())
        if unknown:
            raise ValueError("unknown key " + ", ".join(sorted(map(str, unknown))))
        return Policy(
            _names(document, "vgs", names.vg_name),
            _names(document, "fast_pvs", names.device),
            _names(document, "slow_pvs", names.device),
            _number(document, "destroy_per_hour", names.integer(0, 1000)),
            _number(document, "undo_hours", names.integer(0, 24 * 365)),
            _number(document, "others_rise_percent", names.integer(1, 1000)),
            _flag(document, "clear_freed"),
        )
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return Policy(broken=str(error))


def _names(document: dict[str, Any], key: str, check: Callable[[Any], str]) -> tuple[str, ...]:
    value = document.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} must be a list of names")
    return tuple(check(item) for item in value)


def _number(document: dict[str, Any], key: str, check: Callable[[Any], int]) -> int:
    value = document.get(key, getattr(Policy(), key))
    try:
        return check(value)
    except ValueError as error:
        raise ValueError(f"{key} must be {error}") from None


def _flag(document: dict[str, Any], key: str) -> bool:
    value = document.get(key, getattr(Policy(), key))
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false")
    return value


def save(host: Host, policy: Policy) -> None:
    host.save(PATH, json.dumps(policy.to_json(), indent=2).encode() + b"\n")


def with_vg(policy: Policy, vg: str) -> Policy:
    return policy if vg in policy.vgs else replace(policy, vgs=(*policy.vgs, vg))


def without_vg(policy: Policy, vg: str) -> Policy:
    return replace(policy, vgs=tuple(name for name in policy.vgs if name != vg))


def check_vg(policy: Policy, vg: str) -> None:
    """Raises Refusal(observe_only | vg_not_allowed)."""
    allow = f"As root on the host run: {AGENT} allow-vg {vg}"
    if policy.broken:
        raise Refusal(
            "observe_only",
            f"{PATH} cannot be used ({policy.broken}), so nothing is allowed.",
            f"Correct the file (`{AGENT} policy` prints what is understood). {allow}",
        )
    if not policy.vgs:
        raise Refusal("observe_only", "This host only lets the panel look.", allow)
    if vg not in policy.vgs:
        raise Refusal("vg_not_allowed", f"This host does not let the panel change VG {vg}.", allow)


def tier(policy: Policy, pv: str, rotational: bool | None) -> str:
    """ "fast" or "slow"; a device of unknown kind counts as slow."""
    if pv in policy.fast_pvs:
        return "fast"
    if pv in policy.slow_pvs:
        return "slow"
    return "fast" if rotational is False else "slow"
