"""The vocabulary of plans: targets, steps, refusals, and the draft that a plan is built in."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from storage.agent.verbs.registry import VERBS, verbs_with
from storage.agent.verbs.verb import Trait
from storage.byte_sizes import MIB
from storage.inventory.facts import HostFacts, LogicalVolume, VolumeGroup
from storage.naming import (
    AGENT_PATH,
    MADE_TAG_PREFIX,
    MANAGED_TAG,
    is_made_beside,
    tagged_volume_key,
    volume_tag,
)
from storage.planner.wish import Wish

DIRTY_LIMIT_BYTES = 64 * MIB
"""LVM flushes under the volume group's lock: above this much dirty data we flush first, without
the lock, so that no other guest of the group waits (DESIGN §5: 24 s for 400 MiB)."""

SETTINGS = {
    "mode": "mode to {}",
    "cache_mode": "mode to {}",
    "policy": "policy to {}",
    "migration_threshold": "migration threshold to {} sectors",
    "sequential_cutoff_bytes": "sequential cutoff to {} bytes",
    "writeback_percent": "writeback percent to {}",
}
"""Arguments of the verbs that tune a cache, in words."""

LASTING = verbs_with(Trait.LASTING)

Disks = Mapping[str, Sequence[str]]
"""Names of physical volumes, by the verb of the step that allocates from them."""
ANY_DISKS: Disks = {}


class Refused(Exception):
    """What the wish asks for cannot or must not be done here; `correction` says what to do,
    `not_before` when it can be done, where that is known."""

    def __init__(
        self, code: str, message: str, correction: str, *, not_before: datetime | None = None
    ) -> None:
        super().__init__(message)
        self.not_before = not_before
        self.code = code
        self.message = message
        self.correction = correction


@dataclass(frozen=True, slots=True)
class Target:
    """Which LV: the names commands need and the uuids that identify it (`lv_uuid` None before
    it exists)."""

    volume_key: str
    vg_uuid: str
    vg_name: str
    lv_name: str
    lv_uuid: str | None


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One agent verb. `polled` steps take long and are watched without holding a worker. After a
    step that `makes_irrevocable` the job does not roll back. While a step that `holds_vg` runs, no
    other job changes the volume group."""

    verb: str
    args: dict[str, Any]
    expect: dict[str, Any]
    title: str
    polled: bool = False
    makes_irrevocable: bool = False
    holds_vg: bool = True


@dataclass(slots=True)
class Draft:
    """The facts a plan works on, and the steps so far. `preferred` disks are taken before emptier
    ones."""

    facts: HostFacts
    target: Target
    wish: Wish
    vg: VolumeGroup
    lv: LogicalVolume | None
    preferred: Disks = field(default_factory=dict)
    steps: list[PlannedStep] = field(default_factory=list)
    freed_bytes: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        verb: str,
        title: str,
        *,
        lasts: bool = True,
        makes_irrevocable: bool = False,
        **args: Any,
    ) -> None:
        """A step on the target LV itself, guarded by its identity. A verb that takes long is
        polled, unless this step of it `lasts` for a moment only."""
        polled = lasts and verb in LASTING
        expect: dict[str, Any] = {"vg_uuid": self.vg.uuid}
        if self.lv is not None:
            expect |= {"lv_uuid": self.lv.uuid, "size_bytes": self.lv.size_bytes}
        args = {"vg": self.vg.name, "lv": self.lv_name, **args}
        self.steps.append(
            PlannedStep(verb, args, expect, title, polled, makes_irrevocable, holds_vg=not polled)
        )

    def add_beside(self, verb: str, title: str, *, uuid: str | None = None, **args: Any) -> None:
        """A step on something else in the volume group: a pool, a cache device, a new LV."""
        expect: dict[str, Any] = {"vg_uuid": self.vg.uuid}
        if uuid is not None:
            expect["lv_uuid"] = uuid
        args, polled = {"vg": self.vg.name, **args}, verb in LASTING
        self.steps.append(PlannedStep(verb, args, expect, title, polled, holds_vg=not polled))

    def free(self, lv: LogicalVolume) -> None:
        """Count on the room that a step of this plan frees by removing `lv`."""
        for segment in lv.segments:
            if len(segment.pvs) == 1:
                name = segment.pvs[0]
                self.freed_bytes[name] = self.freed_bytes.get(name, 0) + segment.size_bytes

    @property
    def is_marked(self) -> bool:
        """Whether the agent marks what it makes; an older one does not, and asks for no mark."""
        return self.vg.clears_freed is not None

    @property
    def slow_pvs(self) -> tuple[str, ...]:
        """Where the volume lies, or will lie once the first step has made it."""
        if self.lv is not None:
            return self.lv.pvs
        made = (step for step in self.steps if step.verb == "volume.create")
        return tuple(pv for step in made for pv in step.args["pvs"])

    @property
    def lv_name(self) -> str:
        return self.lv.name if self.lv is not None else self.target.lv_name

    def ours(self) -> tuple[LogicalVolume, ...]:
        """Every other LV of this group that carries this volume's tag: pools, cache devices."""
        tag = volume_tag(self.target.volume_key)
        return tuple(
            lv
            for lv in self.facts.lvs
            # First what few pass: a page plans for every size on offer, a host has hundreds.
            if tag in lv.tags
            and lv.vg_uuid == self.vg.uuid
            and MANAGED_TAG in lv.tags
            and tagged_volume_key(lv.tags) == self.target.volume_key
            and (self.lv is None or lv.uuid != self.lv.uuid)
        )


MADE = {"pool": "cache pool", "cset": "cache device", "room": "room"}
"""What the mark of each kind stands for, in words."""


def demand_mark(lv: LogicalVolume, kind: str) -> None:
    """Raises Refused for an LV beside a volume without the mark that the agent's own lvcreate
    gives: the agent neither uses nor removes it, and that has to show before anything is begun."""
    if is_made_beside(lv.name, lv.tags):
        return
    name = f"{lv.vg_name}/{lv.name}"
    raise Refused(
        "not_ours",
        f"The {MADE[kind]} {name} does not carry the mark of what Tiercel made, and only that is "
        "used or removed.",
        "If it is left over from a Tiercel before version 0.3, root marks it on the host: "
        f"lvchange --addtag {MADE_TAG_PREFIX}{kind} {shlex.quote(name)}; then refresh the host.",
    )


def group_of(facts: HostFacts, vg_uuid: str, vg_name: str) -> VolumeGroup:
    """The group, once the facts can be relied on; `vg_name` is what it was called."""
    if not facts.consistent:
        raise Refused(
            "inconsistent",
            "The host's reports contradict each other: something is changing its volumes now.",
            "Wait until the other LVM command on the host has ended, then try again.",
        )
    if facts.hides_a_part_of(vg_uuid):
        raise Refused(
            "unsupported",
            f"Not everything that the host says of the volume group {vg_name} can be read.",
            "The host's problems name what is odd; nothing of the group is changed until then.",
        )
    vg = facts.vg(vg_uuid)
    if vg is None:
        raise Refused(
            "not_found",
            f"The volume group {vg_name} is no longer on the host.",
            "Check the host's disks; the group may have been exported, or a disk may be missing.",
        )
    if vg.left_out:
        raise Refused(
            "unsupported",
            f"The host leaves {vg_name} out of its inventory: what is in it is unknown.",
            "The problems on the host's page say why, and what to do.",
        )
    return vg


def begin_draft(
    facts: HostFacts, target: Target, wish: Wish, preferred: Disks = ANY_DISKS
) -> Draft:
    """A draft without steps, once the group and the volume are what they are said to be."""
    vg = group_of(facts, target.vg_uuid, target.vg_name)
    if target.lv_uuid is not None:
        lv = facts.lv(target.lv_uuid)
        if lv is None:
            # Not every agent lists the volumes of a group that may not be changed.
            demand_group_change(facts, vg, drops=True)
            raise Refused(
                "not_found",
                f"The logical volume {target.vg_name}/{target.lv_name} is gone from the host.",
                "Check the host's page. The logical volume may have been renamed, moved or "
                "removed by hand.",
            )
        return Draft(facts, target, wish, vg, _usable(lv, vg), preferred)
    lv = facts.lv_named(vg.uuid, target.lv_name)
    if lv is not None and tagged_volume_key(lv.tags) != target.volume_key:
        raise Refused(
            "already_exists",
            f"{vg.name}/{lv.name} exists and is not this volume.",
            "Adopt the existing volume, or create this one under a new record.",
        )
    return Draft(facts, target, wish, vg, lv and _usable(lv, vg), preferred)


def _usable(lv: LogicalVolume, vg: VolumeGroup) -> LogicalVolume:
    """`lv`, unless it left the group or became a part of something else: LVM applies many a
    command on a hidden sub-volume to its owner."""
    if lv.vg_uuid != vg.uuid:
        raise Refused(
            "stale",
            f"{lv.name} has moved from {vg.name} to the volume group {lv.vg_name}.",
            "Refresh the host, then try again.",
        )
    if not lv.is_public:
        raise Refused(
            "unsupported",
            f"{vg.name}/{lv.name} is now a part of another volume.",
            "Undo on the host what made it a part (a pool, a mirror, a merge).",
        )
    return lv


def title_of_settings(changes: dict[str, Any]) -> str:
    """What setting `changes` (by name, of `SETTINGS`) on a cache is called."""
    settings = " and its ".join(SETTINGS[name].format(value) for name, value in changes.items())
    return f"Set the cache's {settings}"


def demand_change(draft: Draft) -> None:
    """Refuse where the host's policy or the volume's health forbids any change."""
    vg, lv = draft.vg, draft.lv
    # A lost cache is given up while its disk is missing; that is all that may be done then.
    drops = [step.verb for step in draft.steps] == ["cache.drop"]
    demand_group_change(draft.facts, vg, drops=drops)
    demand_text_room(draft)
    if lv is not None and (lv.suspended or (lv.health and not drops)):
        raise Refused(
            "degraded",
            f"{vg.name}/{lv.name} is {'suspended' if lv.suspended else lv.health}.",
            "Repair the volume on the host first; nothing was changed.",
        )


def demand_text_room(draft: Draft) -> None:
    """Refuse where LVM's text about the group would no longer fit its metadata area: then every
    command that makes it longer fails, also a rollback."""
    vg = draft.vg
    needed = sum(VERBS[step.verb].text_bytes for step in draft.steps if step.verb in VERBS)
    free = vg.metadata_free_bytes
    if vg.metadata_bytes and free is not None and free < needed:
        raise Refused(
            "no_space",
            f"The metadata area of {vg.name} has {free} bytes left; {needed} are needed.",
            "It does not grow in place: use another group, or remove what is not needed any more.",
        )


def demand_group_change(facts: HostFacts, vg: VolumeGroup, *, drops: bool = False) -> None:
    """Refuse where the host's policy or the group's health forbids any change; `drops`: a missing
    disk is no reason."""
    if vg.sharing is None:
        raise Refused(
            "unsupported",
            f"The agent on this host is older: it does not say whether other machines use "
            f"{vg.name} too.",
            "Upgrade the agent: manage.py enrol, with the host's name and address, prints a "
            "command; run it as root on the host. Then refresh the host.",
        )
    if vg.sharing and not vg.alone:
        raise Refused(
            "observe_only",
            f"Other machines may use {vg.name} too: {'; '.join(vg.sharing)}.",
            f"If no other machine ever uses it, as root on the host: {AGENT_PATH} "
            f"allow-vg {vg.name} --alone",
        )
    if not vg.allowed:
        raise Refused(
            "observe_only",
            f"The host lets Tiercel read {vg.name}, but not change it.",
            f"As root on the host: {AGENT_PATH} allow-vg {vg.name}",
        )
    if vg.missing_pv_count and not drops:
        raise Refused(
            "degraded",
            f"{vg.name} has {missing_pvs(vg.missing_pv_count)}.",
            "Bring the disk back or repair the group first; LVM refuses changes until then.",
        )
    doubles = [pv.name for pv in facts.pvs if pv.vg_uuid == vg.uuid and pv.duplicate]
    if doubles:
        raise Refused(
            "degraded",
            f"A physical volume of {vg.name} is seen twice: {', '.join(doubles)}.",
            "Detach the copy, or exclude it by LVM's filter or devices file.",
        )


def missing_pvs(count: int) -> str:
    """How many physical volumes a group lacks, in words."""
    return f"{count} missing physical volume{'s' if count != 1 else ''}"
