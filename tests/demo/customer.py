"""What a customer does in the demo: every click is a real request to the running panel."""

from __future__ import annotations

import time
from datetime import timedelta

from panel.models import Order, Proof, ProofState
from storage.models import CachePlan, Volume
from tests.demo.admin import over, succeeded
from tests.demo.people import Login
from tests.demo.visitor import Visitor

PROOF_SECONDS = 600
POLL_SECONDS = 2.0
BEFORE = timedelta(seconds=100)
"""A report compares with the minute before the order."""


class Buyer:
    def __init__(self, base_url: str, login: Login) -> None:
        self.visitor = Visitor(base_url)
        page = self.visitor.sign_in(login.email, login.password)
        if "logout" not in page.text:
            raise RuntimeError(f"could not sign in at {page.url}")

    def order(self, volume: Volume, plan: CachePlan) -> Order:
        """Read what it costs, confirm, and wait until the volume has it."""
        page = self.visitor.get(f"/my/volumes/{volume.key}/plan/{plan.key}")
        page = self.visitor.send(page, plan.key)
        order = Order.objects.filter(volume=volume).select_related("job").latest("pk")
        assert order.job is not None
        succeeded(over(order.job))
        return order


def reported(order: Order) -> Proof:
    """The order's report, once it is there; raises with its words where there is none."""
    end = time.monotonic() + PROOF_SECONDS
    while time.monotonic() < end:
        proof = Proof.objects.filter(order=order).first()
        if proof is not None and proof.state == ProofState.READY:
            return proof
        if proof is not None and proof.state == ProofState.IMPOSSIBLE:
            raise RuntimeError(f"{order} has no report: {proof.reason}")
        time.sleep(POLL_SECONDS)
    raise RuntimeError(f"{order} has no report after {PROOF_SECONDS} s")
