"""What root types on the host: allow-vg, deny-vg, policy. The panel cannot: sudo admits the agent
without arguments only."""

from __future__ import annotations

import json

from . import policy
from .errors import Refusal
from .host import Host
from .inventory import storage
from .names import vg_name


def allow_vg(host: Host, name: str) -> str:
    """Let the panel change a VG. Raises Refusal(bad_request | not_found | unsupported)."""
    current = _usable(host)
    facts = storage(host, current)
    present = sorted(vg["name"] for vg in facts["vgs"] if vg["uuid"] not in facts["guests"])
    try:
        known = vg_name(name) in present
    except ValueError:
        known = False
    if not known and any(vg["name"] == name for vg in facts["vgs"]):
        raise Refusal(
            "unsupported",
            f"VG {name} lies on a logical volume or on a bcache device of one: on a guest's disk.",
            "Only a VG on disks, partitions or arrays of the host can be managed.",
        )
    if not known:
        raise Refusal(
            "not_found",
            f"There is no VG {name!r} on this host.",
            f"VGs here: {', '.join(present) or 'none'}.",
        )
    policy.save(host, policy.with_vg(current, name))
    return show(host)


def deny_vg(host: Host, name: str) -> str:
    policy.save(host, policy.without_vg(_usable(host), name))
    return show(host)


def show(host: Host) -> str:
    """The policy as understood, and what it means."""
    current = policy.load(host)
    if current.broken:
        return f"{policy.PATH} cannot be used: {current.broken}. Nothing may be changed."
    meaning = (
        f"The panel may change: {', '.join(current.vgs)}."
        if current.vgs
        else "Observe-only: the panel may change nothing."
    )
    destroying = (
        f"Of these volumes it may destroy {current.destroy_per_hour} in an hour, each at the "
        f"earliest {current.undo_hours} h after it was retired."
    )
    beside = (
        "While it zeroes or moves, the p95 latency of the other volumes on those disks may rise by "
        f"{current.others_rise_percent} %. What a volume leaves behind after a move, or in a cache "
        f"that is removed, is {'' if current.clear_freed else 'not '}cleared."
    )
    return f"{json.dumps(current.to_json())}\n{meaning}\n{destroying}\n{beside}"


def _usable(host: Host) -> policy.Policy:
    current = policy.load(host)
    if current.broken:
        raise Refusal(
            "unsupported",
            f"{policy.PATH} cannot be used: {current.broken}.",
            "Correct or remove the file first.",
        )
    return current
