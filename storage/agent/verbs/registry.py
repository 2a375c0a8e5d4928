"""Every verb that changes something, and the tables computed from their descriptors. Nothing else
in the source is keyed by the names of verbs."""

from __future__ import annotations

from collections.abc import Mapping

from ..commands.command import Args, Command
from . import (
    backing,
    bench,
    clear,
    cset,
    destroy,
    drop,
    extend,
    fill_cache,
    lvm_cache,
    move,
    pool,
    prepare_ssd,
    replace_member,
    retire,
    volume_creation,
)
from .verb import Trait, Verb

VERBS: Mapping[str, Verb] = {
    verb.name: verb
    for verb in (
        volume_creation.CREATE,
        volume_creation.TAG,
        retire.RETIRE,
        retire.RESTORE,
        destroy.DESTROY,
        extend.EXTEND,
        extend.RESIZE,
        move.MOVE,
        clear.CLEAR,
        move.ABORT,
        pool.CREATE,
        pool.REMOVE,
        lvm_cache.ATTACH,
        lvm_cache.SET,
        lvm_cache.FLUSH,
        lvm_cache.DETACH,
        drop.DROP,
        prepare_ssd.PREPARE,
        replace_member.REPLACE,
        cset.CREATE,
        cset.REMOVE,
        backing.FORMAT,
        backing.ATTACH,
        backing.DETACH,
        backing.SET,
        backing.FLUSH,
        backing.STOP,
        fill_cache.COUNT,
        fill_cache.WARM_CACHE,
        bench.RUN,
    )
}


def verbs_with(trait: Trait) -> frozenset[str]:
    """Names of the verbs that have the trait."""
    return frozenset(verb.name for verb in VERBS.values() if trait in verb.traits)


ABORTABLE = verbs_with(Trait.ABORTABLE)
MARKS: Mapping[str, str] = {verb.name: verb.mark for verb in VERBS.values() if verb.mark}
"""The tags of what verbs make beside a volume."""


def commands(verb: str, args: Args) -> tuple[Command, ...]:
    """The commands of a verb; KeyError for one that is not in VERBS."""
    return VERBS[verb].commands(args)
