"""Signed calls of the billing system: their names, fields and effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from panel.api.request_bodies import Body
from panel.api.response_shapes import Json
from panel.billing.calls import call_bodies, customer_calls, order_calls, volume_calls
from panel.billing.calls.calling import Caller, CallResult


@dataclass(frozen=True, slots=True)
class CallDefinition:
    """`act` runs in one transaction. A call that `only_reads` is answered anew each time; one that
    `tells_once` gives out a secret, which is not kept for a second answer."""

    name: str
    summary: str
    body: type[Body]
    act: Callable[[Json, Caller], CallResult]
    only_reads: bool = False
    tells_once: bool = False


CALLS = (
    CallDefinition(
        "create-customer",
        "Make a customer and its owner",
        call_bodies.CreateCustomerBody,
        customer_calls.create_customer,
    ),
    CallDefinition(
        "set-mandate", "Set a mandate", call_bodies.SetMandateBody, customer_calls.set_mandate
    ),
    CallDefinition("suspend", "Suspend a customer", call_bodies.OfCustomer, customer_calls.suspend),
    CallDefinition(
        "unsuspend", "Unsuspend a customer", call_bodies.OfCustomer, customer_calls.unsuspend
    ),
    CallDefinition(
        "login-link",
        "Make a link to sign in",
        call_bodies.LoginLinkBody,
        customer_calls.login_link,
        tells_once=True,
    ),
    CallDefinition(
        "bind-volume",
        "Give a volume to a customer",
        call_bodies.BindVolumeBody,
        volume_calls.bind_volume,
    ),
    CallDefinition(
        "terminate", "Switch volumes off", call_bodies.TerminateBody, volume_calls.terminate
    ),
    CallDefinition(
        "change-plan", "Change a volume's plan", call_bodies.ChangePlanBody, order_calls.change_plan
    ),
    CallDefinition(
        "decide-order", "Answer later", call_bodies.DecideOrderBody, order_calls.decide_order
    ),
    CallDefinition(
        "usage-lines",
        "List a month's usage lines",
        call_bodies.UsageLinesBody,
        customer_calls.usage_lines,
        only_reads=True,
    ),
    CallDefinition(
        "status",
        "Show an order or a job",
        call_bodies.StatusBody,
        order_calls.status,
        only_reads=True,
    ),
)
