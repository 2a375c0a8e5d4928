"""Why an order is not taken."""

from __future__ import annotations

from panel.models import Order


class OrderRefused(Exception):
    """Nothing was written. `code` is stable; `message` says why and `way_out` what helps, in the
    customer's words; `url` is where that is done ("" = nowhere in particular). `order` is the one
    in the way, where it is one.

    Codes: `over_cap`, `too_soon`, `cap_unknown` (the payment authorisation), `no_capacity`,
    `unavailable` (this volume cannot have it), `plan_retired`, `same_plan`, `price_changed`,
    `currency`, `suspended`, `order_running`, `not_allowed`, `idempotency`, `trial`, `too_late`,
    `changed_since`.
    """

    def __init__(
        self, code: str, message: str, way_out: str, *, url: str = "", order: Order | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.way_out = way_out
        self.url = url
        self.order = order
