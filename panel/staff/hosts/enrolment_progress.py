"""How far a new host has come, step by step: from the pasted line to its first inventory. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from storage.models import Host
from storage.models.host import HostState

Progress = Literal["done", "now", "later", "trouble"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """`line`: the host ran what was pasted. `trust`: a person accepted its key. `answer`: it
    answered over SSH and was checked. `inventory`: its disks and volumes are known."""

    line: Progress
    trust: Progress
    answer: Progress
    inventory: Progress

    @property
    def is_over(self) -> bool:
        """True once nothing more comes by itself."""
        return {self.line, self.trust, self.answer, self.inventory} == {"done"}


def arrival(host: Host, *, has_line: bool) -> Arrival:
    """`has_line`: a line waits to be pasted, for a first time or to upgrade what is there."""
    is_new = host.state == HostState.PENDING
    line: Progress = "now" if has_line else "trouble" if is_new else "done"
    trust: Progress = "done"
    if is_new:
        trust = "later"
    elif host.state == HostState.UNVERIFIED:
        trust = "now"
    elif host.state == HostState.QUARANTINED:
        trust = "trouble"
    is_active = host.state == HostState.ACTIVE
    answer = _later(is_active, host.hello_at is not None, bool(host.error))
    inventory = _later(answer == "done", host.facts_at is not None, bool(host.error))
    return Arrival(line, trust, answer, inventory)


def _later(is_due: bool, is_done: bool, has_failed: bool) -> Progress:
    if not is_due:
        return "later"
    if is_done:
        return "done"
    return "trouble" if has_failed else "now"
