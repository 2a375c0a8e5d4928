"""/etc/tiercel/agent.json: what root on this host allows the panel to change.

It starts observe-only: no VG listed, so nothing can be changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Callable

from ..calls import names
from ..calls.refusals import Problem, Refusal, problem
from ..kernel.local_host import LocalHost

PATH = "/etc/tiercel/agent.json"
AGENT = "/usr/lib/tiercel/agent.pyz"
HIDE = f"As root on the host run: {AGENT} hide-guests"
# Lists of PVs, each with the command that fills it.
TIERS = {"fast_pvs": "fast-pv", "slow_pvs": "slow-pv"}
PV_LISTS = {**TIERS, "redundant_pvs": "redundant-pv"}


@dataclass(frozen=True)
class Policy:
    """Allowed VGs by name, and those of them that root says no other machine uses; the uuid that
    each VG had when root allowed it, also of those that are denied by now: a name alone admits no
    other group, and guests' disks stay hidden in what was once allowed, whatever its name; PVs by
    uuid whose tier the operator states (else the kernel's `rotational`, and hardware RAID lies),
    and that survive the loss of a disk though no md array shows it; how many volumes may be
    destroyed in an hour; how many hours a retired volume can be restored; by how many percent the
    p95 latency of the other volumes on a disk may rise while Tiercel zeroes or moves there; whether
    it may put an unused disk in the place of a member of an md array below such a VG; whether it
    may have the heat of volumes there observed, and how many percent of a core that may cost;
    how many bytes benchmarks may take for a while (0: none may run). `broken` says why the file
    could not be used: nothing is allowed."""

    vgs: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    fast_pvs: tuple[str, ...] = ()
    slow_pvs: tuple[str, ...] = ()
    redundant_pvs: tuple[str, ...] = ()
    destroy_per_hour: int = 5
    undo_hours: int = 24
    others_rise_percent: int = 20
    clear_freed: bool = True
    replace_members: bool = False
    heat: bool = True
    heat_cpu_percent: int = 2
    benchmark_bytes: int = 0
    vg_uuids: Mapping[str, str] = field(default_factory=dict)
    broken: str = ""

    def allows(self, name: str, uuid: str) -> bool:
        """Whether root lets the panel change this VG. Older files have no uuids."""
        return name in self.vgs and self.vg_uuids.get(name, uuid) == uuid

    def is_alone(self, name: str, uuid: str) -> bool:
        """Whether root says that no other machine uses this VG."""
        return name in self.alone and self.vg_uuids.get(name, uuid) == uuid

    def protects(self, name: str, uuid: str) -> bool:
        """Whether guests' disks in this VG are hidden from the host, and what was made there comes
        back after a restart: root allows it, or did once."""
        return self.allows(name, uuid) or uuid in self.vg_uuids.values()

    @property
    def knows_groups(self) -> bool:
        """Whether the file could be used, at least for what was once allowed."""
        return not self.broken or bool(self.vg_uuids)

    def to_json(self) -> dict[str, Any]:
        return {
            "vgs": list(self.vgs),
            "alone": list(self.alone),
            "fast_pvs": list(self.fast_pvs),
            "slow_pvs": list(self.slow_pvs),
            "redundant_pvs": list(self.redundant_pvs),
            "destroy_per_hour": self.destroy_per_hour,
            "undo_hours": self.undo_hours,
            "others_rise_percent": self.others_rise_percent,
            "clear_freed": self.clear_freed,
            "replace_members": self.replace_members,
            "heat": self.heat,
            "heat_cpu_percent": self.heat_cpu_percent,
            "benchmark_bytes": self.benchmark_bytes,
            "vg_uuids": dict(self.vg_uuids),
        }


def load_policy(host: LocalHost) -> Policy:
    """A missing file is the observe-only policy; a file that cannot be understood allows
    nothing and says so."""
    data = host.read(PATH)
    if data is None:
        return Policy()
    document: Any = None
    try:
        document = json.loads(data.decode("utf-8"))
        unknown = set(document) - set(Policy().to_json())
        if unknown:
            raise ValueError("unknown key " + ", ".join(sorted(map(str, unknown))))
        return Policy(
            _names(document, "vgs", names.vg_name),
            _names(document, "alone", names.vg_name),
            _names(document, "fast_pvs", names.device),
            _names(document, "slow_pvs", names.device),
            _names(document, "redundant_pvs", names.device),
            _number(document, "destroy_per_hour", names.integer(0, 1000)),
            _number(document, "undo_hours", names.integer(0, 24 * 365)),
            _number(document, "others_rise_percent", names.integer(1, 1000)),
            _flag(document, "clear_freed"),
            _flag(document, "replace_members"),
            _flag(document, "heat"),
            _number(document, "heat_cpu_percent", names.integer(1, 100)),
            _number(document, "benchmark_bytes", names.integer(0, names.MAX_BYTES)),
            _uuids(document),
        )
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return Policy(broken=str(error), vg_uuids=_salvaged(document))


def _names(document: dict[str, Any], key: str, check: Callable[[Any], str]) -> tuple[str, ...]:
    value = document.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} must be a list of names")
    return tuple(check(item) for item in value)


def _uuids(document: dict[str, Any]) -> dict[str, str]:
    value = document.get("vg_uuids", {})
    if not isinstance(value, dict):
        raise ValueError("vg_uuids must be uuids by name")
    return {names.vg_name(name): names.lvm_uuid(uuid) for name, uuid in value.items()}


def _salvaged(document: Any) -> dict[str, str]:
    """The uuids of a file that is broken elsewhere: what was allowed stays protected."""
    try:
        return _uuids(document)
    except (ValueError, TypeError, AttributeError):
        return {}


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


def save(host: LocalHost, policy: Policy) -> None:
    host.save(PATH, json.dumps(policy.to_json(), indent=2).encode() + b"\n")


def with_vg(policy: Policy, vg: str, uuid: str, *, alone: bool) -> Policy:
    """Also under a name that it got since it was allowed before."""
    own = {vg, *(name for name, known in policy.vg_uuids.items() if known == uuid)}
    is_alone = alone or any(policy.is_alone(name, uuid) for name in own)
    others = tuple(each for each in policy.alone if each not in own)
    vgs = tuple(each for each in policy.vgs if each == vg or each not in own)
    kept = {name: known for name, known in policy.vg_uuids.items() if name not in own}
    return replace(
        policy,
        vgs=_with(vgs, vg),
        alone=(*others, vg) if is_alone else others,
        vg_uuids={**kept, vg: uuid},
    )


def with_uuids(policy: Policy, uuids: Mapping[str, str]) -> Policy:
    """With the uuids of allowed VGs that an older agent did not note."""
    missing = {name: uuids[name] for name in policy.vgs if name in uuids}
    return replace(policy, vg_uuids={**missing, **policy.vg_uuids})


def without_vg(policy: Policy, vg: str) -> Policy:
    return replace(policy, vgs=_without(policy.vgs, vg), alone=_without(policy.alone, vg))


def with_pv(policy: Policy, list_name: str, uuid: str, name: str) -> Policy:
    """`list_name` of `PV_LISTS` names the PV, by its uuid alone; it is either fast or slow."""
    lists = {each: _without(entries, name) for each, entries in _lists(policy).items()}
    if list_name in TIERS:
        lists |= {each: _without(lists[each], uuid) for each in TIERS}
    lists[list_name] = _with(lists[list_name], uuid)
    return _with_lists(policy, lists)


def without_pv(policy: Policy, *words: str) -> Policy:
    """No list names the PV any more, neither by its uuid nor by its name."""
    lists = _lists(policy)
    for word in words:
        lists = {each: _without(entries, word) for each, entries in lists.items()}
    return _with_lists(policy, lists)


def _lists(policy: Policy) -> dict[str, tuple[str, ...]]:
    return {
        "fast_pvs": policy.fast_pvs,
        "slow_pvs": policy.slow_pvs,
        "redundant_pvs": policy.redundant_pvs,
    }


def _with_lists(policy: Policy, lists: Mapping[str, tuple[str, ...]]) -> Policy:
    return replace(
        policy,
        fast_pvs=lists["fast_pvs"],
        slow_pvs=lists["slow_pvs"],
        redundant_pvs=lists["redundant_pvs"],
    )


def _with(entries: tuple[str, ...], entry: str) -> tuple[str, ...]:
    return entries if entry in entries else (*entries, entry)


def _without(entries: tuple[str, ...], entry: str) -> tuple[str, ...]:
    return tuple(each for each in entries if each != entry)


def check_vg(policy: Policy, vg: str) -> None:
    """Raises Refusal(observe_only | vg_not_allowed)."""
    check_any(policy, vg)
    allow = f"As root on the host run: {AGENT} allow-vg {vg}"
    if vg not in policy.vgs:
        raise Refusal("vg_not_allowed", f"This host does not let the panel change VG {vg}.", allow)


def check_any(policy: Policy, vg: str = "NAME") -> None:
    """Raises Refusal(observe_only) where root lets the panel do nothing on this host."""
    allow = f"As root on the host run: {AGENT} allow-vg {vg}"
    if policy.broken:
        raise Refusal(
            "observe_only",
            f"{PATH} cannot be used ({policy.broken}), so nothing is allowed.",
            f"Correct the file (`{AGENT} policy` prints what is understood). {allow}",
        )
    if not policy.vgs:
        raise Refusal("observe_only", "This host only lets the panel look.", allow)


def check_alone(policy: Policy, vg: str, uuid: str, sharing: Sequence[str]) -> None:
    """Raises Refusal(vg_not_allowed) where other machines may use the VG too, unless root has said
    that none does."""
    if sharing and not policy.is_alone(vg, uuid):
        raise Refusal(
            "vg_not_allowed",
            f"Other machines may use VG {vg} too: {'; '.join(sharing)}. Two that change its "
            "metadata at once give the same blocks to two volumes.",
            f"If no other machine ever uses it, as root on the host run: {AGENT} allow-vg {vg} "
            "--alone",
        )


def tier(policy: Policy, uuid: str, name: str, rotational: bool | None) -> str:
    """ "fast" or "slow"; a device of unknown kind counts as slow. A kernel name, as older files
    have it, counts until a uuid replaces it."""
    if {uuid, name} & set(policy.fast_pvs):
        return "fast"
    if {uuid, name} & set(policy.slow_pvs):
        return "slow"
    return "fast" if rotational is False else "slow"


def group_problems(policy: Policy, groups: Mapping[str, str]) -> Iterator[Problem]:
    """Of each name that root allowed and that means no group here, or another one. `groups` are
    names by uuid."""
    for name in policy.vgs:
        uuid = policy.vg_uuids.get(name)
        now = groups.get(uuid or "")
        if name == now or (uuid is None and name in groups.values()):
            continue
        if now is not None:
            message = f"The volume group {name}, which root allowed, is called {now} now"
            correction = f"If that is right, as root on the host: {AGENT} allow-vg {now}"
        elif name in groups.values():
            message = f"The volume group {name} here is another one than root allowed"
            correction = f"If the panel may change it, as root on the host: {AGENT} allow-vg {name}"
        else:
            message = f"The volume group {name}, which root allowed, is not on this host"
            correction = (
                f"Reconnect its disks. If it is gone for good, as root on the host: {AGENT} "
                f"deny-vg {name}"
            )
        yield problem(
            "policy_vg_missing",
            "warning",
            f"{message}: nothing in it can be changed.",
            correction,
            subject=name,
        )


def policy_problems(policy: Policy, pvs: Mapping[str, str]) -> Iterator[Problem]:
    """What the lists of PVs have that is not sure, or not there. `pvs` are names by uuid."""
    names_there = set(pvs.values())
    for list_name, entries in _lists(policy).items():
        command = PV_LISTS[list_name]
        for entry in entries:
            if entry in pvs:
                continue
            if entry in names_there:
                yield problem(
                    "policy_kernel_name",
                    "warning",
                    f"{PATH} names {entry} in {list_name} as the kernel does: after a restart "
                    "that may be another disk.",
                    f"As root on the host: {AGENT} {command} {entry}",
                    subject=entry,
                )
            else:
                yield problem(
                    "policy_pv_missing",
                    "warning",
                    f"{PATH} names {entry} in {list_name}, and no physical volume here is that.",
                    f"As root on the host: {AGENT} forget-pv {entry}",
                    subject=entry,
                )
