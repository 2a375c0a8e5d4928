"""The digest of a plan: only what a person confirmed may run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from storage.agent.verbs.registry import verbs_with
from storage.agent.verbs.verb import Trait
from storage.planner.draft import Disks, PlannedStep

FLUSHES = verbs_with(Trait.FLUSHES)
"""Whether these are needed depends on how much is dirty this second; they change no data."""
OPTIONAL = verbs_with(Trait.OPTIONAL)
"""Whether these can be done depends on what the host is at."""
PASSING_ARGS = frozenset({"policy"})
"""Set back after a flush."""
NAMES = frozenset({"vg", "lv"})
ALLOCATED = ("pvs", "to_pvs")
"""Arguments that say where a step allocates."""


def plan_fingerprint(steps: Sequence[PlannedStep]) -> str:
    """SHA-256 in hex over verb, arguments and expectations of the steps.

    Nothing else of the host is in it: another volume's snapshot, or a cache that has become dirty
    meanwhile, leaves it as it is. Which disk is the emptiest does change with other volumes: who
    plans anew for what was confirmed prefers the disks of then (`disks_of`).
    """
    lasting = [part for step in steps if (part := _lasting(step)) is not None]
    text = json.dumps(lasting, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def disks_of(steps: Sequence[PlannedStep]) -> Disks:
    """Where the steps allocate, for a later plan of the same to prefer."""
    # What is taken away first, under the same verb, lies where it lies: the last one is chosen.
    return {step.verb: step.args[name] for step in steps for name in ALLOCATED if name in step.args}


def _lasting(step: PlannedStep) -> list[Any] | None:
    if step.verb in FLUSHES | OPTIONAL:
        return None
    args = {name: value for name, value in step.args.items() if name not in PASSING_ARGS}
    if len(args) < len(step.args) and set(args) <= NAMES:
        return None
    return [step.verb, args, step.expect]
