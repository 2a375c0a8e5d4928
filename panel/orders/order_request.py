"""A request for an order, and why an order is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from django.utils.translation import gettext

from jobs.models import Origin
from panel.models import Order, User
from storage.models import CachePlan, Volume

When = Literal["now", "period_end"]
By = Literal["person", "billing", "panel"]


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """`plan` None is no cache. `agreed` is the price a month that was seen (minor units, currency;
    None = whatever it is). `when` None is the usual: a lower price from the end of the period on,
    everything else at once. `takes_back` is the order to undo. `by`: a person of the customer, the
    billing system (which needs no authorisation), or the panel itself at the end of a trial.
    `expected` is what was promised (`Order.expected`); the rest is who and where from.
    """

    volume: Volume
    plan: CachePlan | None
    actor: User | None = None
    agreed: tuple[int, str] | None = None
    when: When | None = None
    trial: bool = False
    takes_back: Order | None = None
    by: By = "person"
    origin: Origin = Origin.PORTAL
    token: str = ""
    address: str | None = None
    idempotency_key: str = ""
    expected: dict[str, Any] = field(default_factory=dict)


class OrderRefused(Exception):
    """Nothing was written. `code` is stable; `message` says why and `correction` what helps, in the
    customer's words and language; `url` is where that is done ("" = nowhere in particular).
    `order` is the one in the way, where it is one.

    Codes: `over_cap`, `too_soon`, `cap_unknown` (the payment authorisation), `no_capacity`,
    `unavailable` (this volume cannot have it), `plan_retired`, `same_plan`, `price_changed`,
    `currency`, `suspended`, `order_running`, `not_allowed`, `idempotency`, `trial`, `too_late`,
    `changed_since`.
    """

    def __init__(
        self, code: str, message: str, correction: str, *, url: str = "", order: Order | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = gettext(message) if message else ""
        self.correction = gettext(correction) if correction else ""
        self.url = url
        self.order = order
