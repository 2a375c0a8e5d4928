"""What LVM is doing with a volume now: our own work is ended or finished, other work is left
alone."""

from __future__ import annotations

import dataclasses

from storage.agent.facts.lvm_activity import sentence
from storage.agent.verbs.registry import verbs_with
from storage.agent.verbs.verb import Trait
from storage.inventory.facts import LogicalVolume
from storage.inventory.volume_parts import Work
from storage.naming import MOVING_TAG, PVMOVE_PREFIX
from storage.planner.draft import Draft, Refused

CLEAR = "volume.clear"
MOVES = verbs_with(Trait.MOVES)
NEEDS_PLACE = verbs_with(Trait.NEEDS_PLACE)
"""Verbs that have LVM change where the volume lies, what stands in front of it, or that it is."""


def work_at(draft: Draft, lv: LogicalVolume) -> Work | None:
    """What is at work on the volume. An older agent does not say: then a segment that lies on two
    disks is being moved, and it is unknown who started the move."""
    if lv.work is not None:
        return lv.work
    both = (each for each in lv.segments if each.type == "linear" and len(each.pvs) > 1)
    segment = next(both, None)
    is_moving = segment is not None and any(
        other.vg_uuid == lv.vg_uuid and other.name.startswith(PVMOVE_PREFIX)
        for other in draft.facts.lvs
    )
    return Work("pvmove", segment.pvs[0], None, False) if segment and is_moving else None


SPARED = verbs_with(Trait.SPARES_HOST)
"""What is never done to a volume that the host itself lives on; to take a cache off it is not."""


def spare_the_host(draft: Draft) -> None:
    """Refuse what would touch the host's own root, /boot, /usr, /var or swap."""
    lv = draft.lv
    if lv is not None and lv.hosts_own and any(step.verb in SPARED for step in draft.steps):
        raise Refused(
            "in_use",
            f"{draft.vg.name}/{lv.name} belongs to the host itself: {lv.hosts_own}.",
            "Leave it to the host: one that cannot start takes all its guests with it.",
        )


def stop_move(draft: Draft, pv: str) -> None:
    draft.add("move.abort", "Stop the move: the volume stays where it was", pv=pv)


def forget_mark(draft: Draft) -> None:
    """Take off the mark that a move of ours left, unless it is to go on."""
    lv = draft.lv
    is_left = lv is not None and MOVING_TAG in lv.tags and work_at(draft, lv) is None
    if lv is None or not is_left or any(step.verb in NEEDS_PLACE - {CLEAR} for step in draft.steps):
        return
    draft.add("move.abort", "Remove the mark of a move that has ended", pv=lv.pvs[0])


def leave_alone(draft: Draft) -> None:
    """Refuse what would disturb another program's work on the volume; end a move of our own before
    what cannot be done during it."""
    lv = draft.lv
    needing = [step for step in draft.steps if step.verb in NEEDS_PLACE]
    work = work_at(draft, lv) if lv is not None and needing else None
    if lv is None or work is None:
        return
    if not work.ours:
        raise Refused(
            "occupied",
            sentence(f"{draft.vg.name}/{lv.name}", dataclasses.asdict(work)),
            "Wait until it has ended (`lvs -a` on the host shows it). A running job waits "
            "automatically.",
        )
    if not any(step.verb in MOVES for step in needing):
        stop_move(draft, work.source)
        draft.steps.insert(draft.steps.index(needing[0]), draft.steps.pop())
