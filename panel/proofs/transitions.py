"""How a proof's state may change, and the only code that changes it: each move is one UPDATE that
names the state it comes from, so of two who try at once, one does."""

from __future__ import annotations

from typing import Any, Final

from django.db.models.functions import Now

from panel.models import Proof, ProofState

MOVES: Final = {
    ProofState.WAITING: (ProofState.MEASURING, ProofState.IMPOSSIBLE),
    ProofState.MEASURING: (ProofState.READY, ProofState.IMPOSSIBLE),
}


class IllegalMove(Exception):
    """A move that no proof may ever make: a mistake in the program."""


def move(proof: Proof, from_: ProofState, to: ProofState, **fields: Any) -> bool:
    """Move `proof` and set `fields`, or return False and change nothing where it was not in
    `from_`. At an end `ended_at` is now, by the database's clock."""
    if to not in MOVES.get(from_, ()):
        raise IllegalMove(f"{from_} -> {to}")
    if to in (ProofState.READY, ProofState.IMPOSSIBLE):
        fields["ended_at"] = Now()
    if not Proof.objects.filter(pk=proof.pk, state=from_).update(state=to, **fields):
        return False
    proof.refresh_from_db()
    return True
