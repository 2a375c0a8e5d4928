"""Lines for invoices: what an order costs at once, and each month of a plan. Each line is
written once, under a name that says what it is for, and sent as `usage.line` in the same
transaction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.db import transaction
from django.db.models import F, Max, Min, Q, QuerySet

from panel.billing import outbox
from panel.billing.payload import line_json
from panel.models import Intent, LineKind, MessageType, Order, OrderState, UsageLine
from panel.models.order import OPEN
from panel.orders.order_texts import unplanned
from panel.orders.pricing import trials
from panel.orders.pricing.prices import paid
from panel.orders.pricing.quote import period
from storage.models import CachePlan, Customer, Volume


def write_of(order: Order) -> None:
    """What a completed order costs from its completion to the end of the month, or saves from the
    order on."""
    for kind, amount, start in (
        (LineKind.CHARGE, order.charge_minor, order.ended_at or order.created_at),
        (LineKind.CREDIT, order.credit_minor, order.created_at),
    ):
        if amount:
            _write(
                f"{order.key}-{kind}",
                kind=kind,
                customer=order.customer,
                volume=order.volume,
                order=order,
                description=_change(order),
                currency=order.currency,
                amount_minor=amount,
                period_start=start,
                period_end=order.next_invoice_at,
            )


def write_months(now: datetime) -> int:
    """The lines of each volume that began a month with a plan, for this month and for those that
    were missed; how many were written now. A month that began before there was a billing system is
    not ours."""
    if not outbox.is_on():
        return 0
    return sum(map(_write_month, owed(now, outbox.since())))


def _write_month(month: Month) -> int:
    made = 0
    for volume in unbilled_volumes(month):
        cost = monthly_cost(volume, month)
        if cost is None or not cost.minor:
            continue
        made += _write(
            f"{volume.key}-{month.name}",
            kind=LineKind.RECURRING,
            customer=cost.customer,
            volume=volume,
            description=f"{cost.plan.name} for {volume.label}, {month.name}"[:200],
            currency=cost.currency,
            amount_minor=cost.minor,
            period_start=month.begin,
            period_end=month.end,
        )
    return made


def _change(order: Order) -> str:
    before = order.from_plan.name if order.from_plan is not None else unplanned(order)
    after = order.to_plan.name if order.to_plan is not None else "no cache"
    return f"{before} to {after} for {order.volume.label}"[:200]


@transaction.atomic
def _write(name: str, **fields: Any) -> bool:
    """False where it was written before."""
    line, is_new = UsageLine.objects.get_or_create(name=name, defaults=fields)
    if is_new:
        outbox.write(MessageType.USAGE, name, line_json(line), line.order)
    return is_new


UNSETTLED = (*OPEN, OrderState.SCHEDULED)
COSTS_MORE: Final = Q(price_minor__gt=F("from_price_minor"))
"""`Order.costs_more`, in the database."""
SETTLING: Final = timedelta(minutes=1)
"""So long after a month began nothing is written of it: an order of the old month may still be
about to be committed."""


@dataclass(frozen=True, slots=True)
class Month:
    """`is_past` when it is over: what was given since cost nothing then."""

    begin: datetime
    end: datetime
    is_past: bool

    @property
    def name(self) -> str:
        return f"{self.begin:%Y-%m}"


@dataclass(frozen=True, slots=True)
class MonthlyCost:
    """What a customer owes for the plan that a volume began a month with."""

    customer: Customer
    plan: CachePlan
    minor: int
    currency: str


def owed(now: datetime, since: datetime) -> Iterator[Month]:
    """This month, the one before it, and those before that without a line, since nothing ran
    then, or an order was still open. Oldest first, and none that began before `since`.
    """
    this, _ = period(now)
    last, _ = period(this - timedelta(days=1))
    lines = UsageLine.objects.filter(kind=LineKind.RECURRING)
    newest: datetime | None = lines.aggregate(at=Max("period_start"))["at"]
    begin = min(newest or since, last)
    waiting = Q(state__in=UNSETTLED) | Q(ended_at__gte=begin)
    waited_for = Order.objects.filter(waiting).exclude(COSTS_MORE)
    oldest: datetime | None = waited_for.aggregate(at=Min("created_at"))["at"]
    begin = min(begin, oldest or begin)
    while begin <= this and begin + SETTLING <= now:
        begin, end = period(begin)
        if begin >= since:
            yield Month(begin, end, begin < this)
        begin = end


def unbilled_volumes(month: Month) -> QuerySet[Volume]:
    """Those that may owe something for the month and have no line yet. Where an order for a lower
    price was at work when it began, the price is not known before that has ended."""
    later = Order.objects.filter(_later(month), from_plan__isnull=False)
    may_owe = Q(cache_plan__isnull=False) | Q(pk__in=later.values("volume"))
    if month.is_past:
        changed = _changes().filter(pgh_created_at__gte=month.begin, cache_plan__isnull=False)
        may_owe |= Q(pk__in=changed.values("pgh_obj"))
    written = UsageLine.objects.filter(kind=LineKind.RECURRING, period_start=month.begin)
    before = Order.objects.filter(state__in=UNSETTLED, created_at__lt=month.begin)
    unsettled = before.exclude(due_at__gt=month.begin).exclude(COSTS_MORE)
    rows = Volume.objects.filter(may_owe).exclude(pk__in=written.values("volume"))
    return rows.exclude(pk__in=unsettled.values("volume")).select_related("customer", "cache_plan")


def monthly_cost(volume: Volume, month: Month) -> MonthlyCost | None:
    """What was agreed on for the plan that the volume had when the month began, else what that plan
    costs. A trial that runs over the turn of the month costs nothing."""
    orders = Order.objects.filter(volume=volume)
    orders = orders.select_related("customer", "from_plan", "to_plan")
    first = orders.filter(_later(month)).order_by("id").first()
    customer, plan = volume.customer, volume.cache_plan
    if first is not None:
        customer, plan = first.customer, first.from_plan
    elif month.is_past and (was := _as_recorded(volume, month)) is not None:
        customer, plan = was.customer, was.cache_plan
    if customer is None or plan is None:
        return None
    if first is None and (customer, plan) == (volume.customer, volume.cache_plan):
        price = paid(volume) if trials.running_trial(volume) is None else None
        return (
            MonthlyCost(customer, plan, price.minor, price.currency) if price is not None else None
        )
    done = orders.filter(state=OrderState.COMPLETED, customer=customer)
    before = done.exclude(_since(month)).order_by("-id").first()
    if before is None or before.to_plan_id != plan.pk:
        return MonthlyCost(customer, plan, plan.price_minor, plan.currency)
    minor = 0 if before.intent == Intent.TRIAL else before.price_minor
    return MonthlyCost(customer, plan, minor, before.currency)


def _since(month: Month) -> Q:
    """Orders whose price holds since the month had begun or later: a higher one from its completion
    on, a lower one from the order on, one for the end of a period from the next one's first moment
    on."""
    lower = Q(due_at=None, created_at__gte=month.begin) | Q(due_at__gt=month.begin)
    return (COSTS_MORE & Q(ended_at__gte=month.begin)) | (~COSTS_MORE & lower)


def _later(month: Month) -> Q:
    """Those that made the volume's plan another one than it was when the month began, or are about
    to: its job may have changed the plan already."""
    return Q(_since(month), state=OrderState.COMPLETED) | Q(state__in=OPEN)


def _as_recorded(volume: Volume, month: Month) -> Any:
    """The volume as it was when the month began, where its record changed since."""
    since = _changes().filter(pgh_obj=volume.pk, pgh_created_at__gte=month.begin)
    return since.order_by("pgh_created_at", "pgh_id").first()


def _changes() -> Any:
    """The records of volumes as they were before each change."""
    events = cast("Any", Volume).pgh_event_model.objects
    return events.filter(pgh_label="update").select_related("customer", "cache_plan")
