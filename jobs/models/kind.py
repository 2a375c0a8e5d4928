"""The kinds of jobs, with the words for each. A verb of the agent needs its own kind only where
a person asks for exactly that; as a step of another job it needs none."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import models


class Kind(models.TextChoices):
    """What a person asked for. The runner does not read the kind: the wish says what to do.

    The database knows these values (job_kind_known): a new one needs a migration."""

    CREATE_VOLUME = "create-volume", "Create volume"
    TAG_VOLUME = "tag-volume", "Manage existing volume"
    EXTEND_VOLUME = "extend-volume", "Extend volume"
    MOVE_VOLUME = "move-volume", "Move volume"
    RETIRE_VOLUME = "retire-volume", "Retire volume"
    RESTORE_VOLUME = "restore-volume", "Restore volume"
    DESTROY_VOLUME = "destroy-volume", "Destroy volume"
    ADD_CACHE = "add-cache", "Add cache"
    SET_CACHE = "set-cache", "Change cache"
    REPLACE_CACHE = "replace-cache", "Replace cache"
    FLUSH_CACHE = "flush-cache", "Flush cache"
    REMOVE_CACHE = "remove-cache", "Remove cache"
    DROP_CACHE = "drop-cache", "Drop lost cache"
    REPAIR_VOLUME = "repair-volume", "Repair volume"
    PREPARE_SSD = "prepare-ssd", "Add SSD"


@dataclass(frozen=True, slots=True)
class KindWords:
    """A verb with its object, for each time; `{}` is the volume, or the device."""

    doing: str
    done: str
    do: str


def _words(doing: str, done: str, do: str, rest: str = "{}") -> KindWords:
    return KindWords(f"{doing} {rest}", f"{done} {rest}", f"{do} {rest}")


WORDS: dict[str, KindWords] = {
    Kind.CREATE_VOLUME: _words("Creating", "Created", "create"),
    Kind.TAG_VOLUME: _words("Putting", "Put", "put", "{} under management"),
    Kind.EXTEND_VOLUME: _words("Extending", "Extended", "extend"),
    Kind.MOVE_VOLUME: _words("Moving", "Moved", "move"),
    Kind.RETIRE_VOLUME: _words("Retiring", "Retired", "retire"),
    Kind.RESTORE_VOLUME: _words("Restoring", "Restored", "restore"),
    Kind.DESTROY_VOLUME: _words("Destroying", "Destroyed", "destroy"),
    Kind.ADD_CACHE: _words("Attaching", "Attached", "attach", "a cache to {}"),
    Kind.SET_CACHE: _words("Changing", "Changed", "change", "the cache of {}"),
    Kind.REPLACE_CACHE: _words("Replacing", "Replaced", "replace", "the cache of {}"),
    Kind.FLUSH_CACHE: _words("Flushing", "Flushed", "flush", "the cache of {}"),
    Kind.REMOVE_CACHE: _words("Removing", "Removed", "remove", "the cache of {}"),
    Kind.DROP_CACHE: _words("Dropping", "Dropped", "drop", "the lost cache of {}"),
    Kind.REPAIR_VOLUME: _words("Repairing", "Repaired", "repair"),
    Kind.PREPARE_SSD: _words("Adding", "Added", "add", "the SSD {}"),
}
