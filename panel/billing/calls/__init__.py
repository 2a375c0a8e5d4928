"""Signed calls of the billing system: their names, what they may say and what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from panel.api.bodies import Body
from panel.api.shapes import Json
from panel.billing.calls import bodies, customers, lines, orders, volumes
from panel.billing.calls.caller import Caller, Result


@dataclass(frozen=True, slots=True)
class Call:
    """`act` runs in one transaction. A call that `only_reads` is answered anew each time; one that
    `tells_once` gives out a secret, which is not kept for a second answer."""

    name: str
    summary: str
    body: type[Body]
    act: Callable[[Json, Caller], Result]
    only_reads: bool = False
    tells_once: bool = False


CALLS = (
    Call(
        "create-customer",
        "Make a customer and its owner",
        bodies.CreateCustomerBody,
        customers.create_customer,
    ),
    Call("set-mandate", "Set a mandate", bodies.SetMandateBody, customers.set_mandate),
    Call("suspend", "Suspend a customer", bodies.OfCustomer, customers.suspend),
    Call("unsuspend", "Unsuspend a customer", bodies.OfCustomer, customers.unsuspend),
    Call(
        "login-link",
        "Make a link to sign in",
        bodies.LoginLinkBody,
        customers.login_link,
        tells_once=True,
    ),
    Call("bind-volume", "Give a volume to a customer", bodies.BindVolumeBody, volumes.bind_volume),
    Call("terminate", "Switch volumes off", bodies.TerminateBody, volumes.terminate),
    Call("change-plan", "Change a volume's plan", bodies.ChangePlanBody, orders.change_plan),
    Call("decide-order", "Answer later", bodies.DecideOrderBody, orders.decide_order),
    Call(
        "usage-lines",
        "List a month's usage lines",
        bodies.UsageLinesBody,
        lines.usage_lines,
        only_reads=True,
    ),
    Call("status", "Show an order or a job", bodies.StatusBody, orders.status, only_reads=True),
)
