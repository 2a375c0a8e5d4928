"""What a verb that changes something is made of. Each verb is described once, by a `Verb` in its
own module; `registry.py` lists them all, and every other table is computed from that list.

The agent reads arguments, commands and checks here. The planner and the panel, which import the
same descriptors, read the estimate and the traits.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Callable

from ..calls.call import ArgumentSchema, VerbCall
from ..commands.command import Args, Command
from ..facts.view import Check, View
from ..state.boot_state import BootNote

NOTHING: frozenset[str] = frozenset()
"""No command is left to be run."""


class Trait(enum.Enum):
    """What a verb does beside its commands, in words for docs/agent-protocol.md."""

    LASTING = "takes minutes to hours: its operation is polled, and no worker waits for it"
    # Zeroing and wiping begin anew, LVM puts the cache's policy back, pvmove leaves each extent in
    # one place or the other, and a guest may be informed of its size again.
    ABORTABLE = "may stop at any moment and be taken up again from what is there"
    IRREVERSIBLE = "no later step undoes it"
    FLUSHES = "only writes dirty data back; whether it is needed depends on how much is dirty now"
    SWITCHES_CACHE = "the volume gets, changes or loses its cache; all before only prepares that"
    LEAVES_DATA = "data of the volume stays where nothing of the volume lies any more"
    NEEDS_PLACE = "LVM changes where the volume lies, what is in front of it, or that it exists"
    MOVES = "starts or ends a move of the volume"
    OPTIONAL = "fails no job: it is tried once, and what comes after it does not need it"
    SPARES_HOST = "never done to a volume that the host itself lives on"


class LongWork(enum.Enum):
    """What makes a verb last, beside a moment for its commands."""

    FLUSH = "all dirty data of the cache is written back"
    FLUSH_REST = "LVM writes back what is left, under the lock of the group"
    FLUSH_FOR_MODE = "as FLUSH_REST, where the mode is among the arguments"
    ZERO_NEW = "zeros over a new volume"
    ZERO_GROWTH = "zeros over what a volume grows by"
    ZERO_WHOLE = "zeros over a whole volume"
    ZERO_LEFT = "zeros over what a volume left behind"
    MOVE = "a copy of the whole volume"
    WARM = "reads of what is read most, next to guests"
    REBUILD = "a copy of a whole member of an array"
    BENCHMARK = "a load that is asked for, over data that is written first"


class Takes(enum.Enum):
    """SSD space that a verb takes."""

    POOL = "its size, and LVM's metadata of a cache pool"
    CSET = "its size, unless the volume exists"
    MOVED_VOLUME = "the volume's size, where it moves to an SSD"
    VOLUME = "its size less what the volume has, where that lies on an SSD"


class Frees(enum.Enum):
    """SSD space that a verb gives back."""

    CACHE = "that of the volume's cache"
    NAMED = "that of the cache pool or cache device that it names"


@dataclass(frozen=True)
class Estimate:
    """What a plan predicts: `seconds` it takes at least, for `locked_seconds` of which LVM locks
    the group; what makes it last; the SSD space that it takes or frees."""

    seconds: float
    locked_seconds: float
    work: LongWork | None = None
    takes: Takes | None = None
    frees: Frees | None = None


@dataclass(frozen=True)
class Verb:
    """What is asked: `name`, `title` (words for people) and `arguments`.

    What is run: `commands` gives all of them, in order. They depend on the arguments alone, since a
    preview shows these very objects. `programs` are those that the commands run in turn (lvcreate
    and lvconvert check a pool by cache_check, and go on without it if they must).

    What is checked: `identity`: is it what was meant, and may it be touched. `todo`: names of the
    commands still to be run for the wished state, None for all of them, empty when it is already
    so. `state`: can it be done now. `settled`: whether `todo` must be empty once the commands have
    run (not so where the state may move on by itself, as dirty data under load does).

    What it does: `touches`: subjects that change. `provides`: subject -> PVs of what is made.
    `text_bytes`: what LVM's text about the group grows by, for each thing that it makes. `mark`:
    the tag of what it makes beside a volume ("" = nothing). `boot_note`: what the next boot has to
    know of it. `traits` and `estimate` are for planners.
    """

    name: str
    title: str
    arguments: ArgumentSchema
    commands: Callable[[Args], tuple[Command, ...]]
    identity: Callable[[View, VerbCall], Sequence[Check]]
    todo: Callable[[View, VerbCall], frozenset[str] | None]
    state: Callable[[View, VerbCall], Sequence[Check]]
    touches: Callable[[Args], frozenset[str]]
    estimate: Estimate
    traits: tuple[Trait, ...] = ()
    provides: Callable[[Args], Mapping[str, Sequence[str]]] = lambda args: {}
    settled: bool = True
    programs: tuple[str, ...] = ()
    text_bytes: int = 0
    mark: str = ""
    boot_note: BootNote = BootNote.NOTHING
