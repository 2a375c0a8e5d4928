"""The facts that a verb's checks use: read once, and looked up by name.

In a dry run the view also includes the effects of earlier steps in the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

from ..calls.refusals import Refusal
from ..kernel.local_host import LocalHost
from ..state.policy import HIDE, Policy, load_policy
from .inventory import storage

Facts = dict[str, Any]
Check = Callable[[], None]

LOOK_AGAIN = "Read the host's facts again and plan again."


def lv_subject(vg: str, lv: str) -> str:
    return f"lv:{vg}/{lv}"


def cset_subject(uuid: str) -> str:
    return f"cset:{uuid}"


def space_subject(vg: str) -> str:
    return f"space:{vg}"


@dataclass
class Planned:
    """What earlier steps of a dry run change (`touched` subjects), and the PVs of the pools and
    cache sets they make."""

    touched: set[str] = field(default_factory=set)
    pvs: dict[str, Sequence[str]] = field(default_factory=dict)


class View:
    """Raises Refusal where an object is not as a request says. `vg` is the one that is about to be
    changed: no other LVM command may be at work in it."""

    def __init__(
        self, host: LocalHost, *, vg: str | None = None, planned: Planned | None = None
    ) -> None:
        self.host = host
        self.policy: Policy = load_policy(host)
        self.planned = planned or Planned()
        self._vg = vg
        self._facts: Facts | None = None

    @property
    def facts(self) -> Facts:
        """All but users. Raises Refusal(busy) where `vg` is locked, for a stale answer proves
        nothing, and where a VG changes just now."""
        if self._facts is None:
            facts = storage(self.host, self.policy, fresh=self._vg)
            if not facts["consistent"]:
                raise Refusal(
                    "busy",
                    "LVM's reports contradict each other: another command changes a VG just now.",
                    "Wait until it ends; then try again.",
                )
            self._facts = facts
        return self._facts

    def refresh(self) -> None:
        self._facts = None

    def vg(self, name: str) -> Facts:
        same_name: list[Facts] = [vg for vg in self.facts["vgs"] if vg["name"] == name]
        if not same_name:
            known = ", ".join(sorted(vg["name"] for vg in self.facts["vgs"])) or "none"
            raise Refusal(
                "not_found", f"There is no VG {name} on this host; there is: {known}.", LOOK_AGAIN
            )
        if len(same_name) > 1:
            is_guests = any(vg["uuid"] in self.facts["guests"] for vg in same_name)
            raise Refusal(
                "unsupported",
                f"Two VGs on this host are named {name}: LVM accepts no command by this name."
                + (" One lies on the disk of a guest." if is_guests else ""),
                HIDE if is_guests else "See the problem two_groups_named of this host.",
            )
        return same_name[0]

    def find_lv(self, vg: str, name: str) -> Facts | None:
        uuid = self.vg(vg)["uuid"]
        same_name = [lv for lv in self.facts["lvs"] if lv["vg_uuid"] == uuid and lv["name"] == name]
        return same_name[0] if same_name else None

    def lv(self, vg: str, name: str) -> Facts:
        volume = self.find_lv(vg, name)
        if volume is None:
            raise Refusal(
                "not_found",
                f"There is no volume {vg}/{name}.",
                LOOK_AGAIN,
                subject=lv_subject(vg, name),
            )
        return volume

    def lv_by_uuid(self, uuid: str) -> Facts | None:
        return next((lv for lv in self.facts["lvs"] if lv["uuid"] == uuid), None)

    def cset(self, uuid: str) -> Facts | None:
        return next((cset for cset in self.facts["csets"] if cset["uuid"] == uuid), None)

    def pvs(self, vg: str, names: Iterable[str]) -> list[Facts]:
        """The named PVs of a VG."""
        uuid = self.vg(vg)["uuid"]
        by_name = {pv["name"]: pv for pv in self.facts["pvs"] if pv["vg_uuid"] == uuid}
        missing = [name for name in names if name not in by_name]
        if missing:
            raise Refusal(
                "not_found",
                f"VG {vg} has no PV {', '.join(missing)}; it has: "
                f"{', '.join(sorted(by_name)) or 'none'}.",
                LOOK_AGAIN,
            )
        return [by_name[name] for name in names]

    def pvs_under(self, lv: Mapping[str, Any]) -> list[str]:
        """Names of the PVs under an LV (of a cached LV: under its origin)."""
        return list(dict.fromkeys(pv for segment in lv["segments"] for pv in segment["pvs"]))
