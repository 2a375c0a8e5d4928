"""Begins the proofs that are missing and brings on those that are not over, level-triggered: any
number of processes may do so at once."""

from __future__ import annotations

import logging

from django.db import DatabaseError
from django.db.models import QuerySet

from panel.models import Intent, Order, OrderState, Proof, ProofState
from panel.proofs.measure import advance, begin
from storage.database_clock import database_now

log = logging.getLogger(__name__)


def missing() -> QuerySet[Order]:
    """Completed orders that changed something on a host and have no proof yet."""
    done = Order.objects.filter(state=OrderState.COMPLETED, proof=None, job__ended_at__isnull=False)
    done = done.filter(job__started_at__isnull=False).exclude(intent=Intent.REVERT)
    return done.select_related("job", "volume", "to_plan")


def unfinished() -> QuerySet[Proof]:
    """Proofs that are not over, with what is asked of their orders."""
    open_ = Proof.objects.filter(state__in=(ProofState.WAITING, ProofState.MEASURING))
    return open_.select_related("order__job", "order__volume", "order__to_plan")


def sweep() -> None:
    """Each for itself: one that fails the program stops no other."""
    now = database_now()
    for order in missing():
        try:
            begin(order)
        except DatabaseError:
            raise
        except Exception:
            log.exception("proof of order %s", order.key)
    for proof in unfinished():
        try:
            advance(proof, now)
        except DatabaseError:
            raise
        except Exception:
            log.exception("proof of order %s", proof.order.key)
