"""What a mutating verb is made of, beside its commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Callable

from ..commands.command import Args
from ..facts.view import Check, View
from ..wire.protocol import VerbCall


@dataclass(frozen=True)
class Verb:
    """`identity`: is it what was meant, and may it be touched. `todo`: names of the commands still
    to be run for the wished state, None for all of them, empty when it is already so. `state`: can
    it be done now. `touches`: subjects that change. `provides`: subject -> PVs of what is made.
    `settled`: whether `todo` must be empty once the commands have run (not so where the state may
    move on by itself, as dirty data under load does)."""

    identity: Callable[[View, VerbCall], Sequence[Check]]
    todo: Callable[[View, VerbCall], frozenset[str] | None]
    state: Callable[[View, VerbCall], Sequence[Check]]
    touches: Callable[[Args], frozenset[str]]
    provides: Callable[[Args], Mapping[str, Sequence[str]]] = lambda args: {}
    settled: bool = True


NOTHING: frozenset[str] = frozenset()
