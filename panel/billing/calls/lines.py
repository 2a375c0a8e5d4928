"""The call that compares books: the usage lines of a month."""

from __future__ import annotations

from datetime import UTC, datetime

from panel.api.shapes import Json
from panel.billing.calls.caller import Caller, Result
from panel.billing.calls.found import customer_of
from panel.billing.payload import line_json
from panel.models import UsageLine
from panel.orders.pricing.quote import period


def usage_lines(said: Json, _: Caller) -> Result:
    """The lines written in a month (UTC), as `usage.line` messages told them, oldest first."""
    customer = customer_of(said)
    year, month = map(int, said["month"].split("-"))
    begin, end = period(datetime(year, month, 1, tzinfo=UTC))
    lines = UsageLine.objects.filter(customer=customer, created_at__gte=begin, created_at__lt=end)
    found = lines.select_related("customer", "volume", "order").order_by("id")
    return Result({"customer": customer.key, "lines": [line_json(line) for line in found]})
