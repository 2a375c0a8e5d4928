"""Two years of random life of a few volumes: every line is the one that a plain reckoning has."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from jobs import notify_workers
from jobs.models import State
from panel.billing import usage_lines
from panel.models import Endpoint, Intent, LineKind, Order, OrderState, UsageLine
from panel.orders import authorisation, due_orders
from panel.orders.order_request import OrderRefused
from storage.byte_sizes import GIB
from storage.models import CachePlan, Customer, Host
from storage.planner.wish import Wish
from tests.panel.orders.till import buy, finish, has_cache, has_no_cache, take_back
from tests.panel.portal.shop import Shop, plan, shop

pytestmark = pytest.mark.django_db
START = datetime(2040, 1, 3, 12, tzinfo=UTC)
"""The books of this test are written today, and tell nothing of what comes: the reckoning of months
that are over asks them too."""
END = datetime(2042, 1, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICES = {"Small": 333, "Fast": 490, "Vast": 100_001}


class Clock:
    """The time of the database and of the panel."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = START
        for name, module in list(sys.modules.items()):
            if name.startswith(("panel.", "jobs.", "storage.")) and hasattr(module, "database_now"):
                monkeypatch.setattr(module, "database_now", lambda: self.at)
        monkeypatch.setattr(Now, "as_postgresql", lambda *args, **kwargs: self._sql())

    def _sql(self) -> tuple[str, list[datetime]]:
        return "(%s)::timestamptz", [self.at]


# The plain reckoning: prices by time, and nothing of the panel's


@dataclass
class Agreed:
    """An order as its customer remembers it: a month's price before and after, when it was placed
    (or is to begin), and where undoing it leads to."""

    before: int
    after: int
    since: datetime
    plan: CachePlan | None
    back: tuple[CachePlan | None, int] = (None, 0)
    is_for_later: bool = False
    cache_bytes: int = 0
    """What the volume had on SSD when the work began, no matter who had set it up."""
    is_from_trial: bool = False
    undoes: int | None = None


@dataclass
class Life:
    """One volume: `prices` are what a month costs from some time on, in the order of time."""

    shop: Shop
    plan: CachePlan | None = None
    on_trial: bool = False
    cache_bytes: int = 0
    prices: list[tuple[datetime, int]] = field(default_factory=lambda: [(START, 0)])
    lines: dict[str, int] = field(default_factory=dict)
    orders: dict[int, Agreed] = field(default_factory=dict)

    @property
    def price(self) -> int:
        return self.prices[-1][1]

    def completed(self, order: Order, at: datetime) -> None:
        """Who pays more does so from now on; who pays less, since it was ordered."""
        agreed = self.orders[order.pk]
        if agreed.after > agreed.before:
            self._line(f"{order.key}-charge", (agreed.after - agreed.before) * left_of_month(at))
            since = at
        else:
            since = agreed.since
            if not agreed.is_for_later:
                less = (agreed.before - agreed.after) * left_of_month(since)
                self._line(f"{order.key}-credit", less)
        self.prices.append((since, agreed.after))
        self.plan, self.on_trial = agreed.plan, order.intent == Intent.TRIAL

    def at_begin(self, month: datetime) -> int:
        """A month's price when it began; of those at its first moment one that was meant for it."""
        price = 0
        for at, each in self.prices:
            if at < month or (at == month and self._planned(at)):
                price = each
        return price

    def all_lines(self) -> dict[str, int]:
        """With those of months."""
        months, month = dict(self.lines), next_month(START)
        while month < END:
            if price := self.at_begin(month):
                months[f"{self.shop.volume.key}-{month:%Y-%m}"] = price
            month = next_month(month)
        return months

    def _planned(self, at: datetime) -> bool:
        return any(each.is_for_later and each.since == at for each in self.orders.values())

    def _line(self, name: str, amount: Fraction) -> None:
        rounded = int(amount + Fraction(1, 2))
        if rounded:
            self.lines[name] = rounded


def next_month(at: datetime) -> datetime:
    """The first moment of the month after."""
    return datetime(at.year + at.month // 12, at.month % 12 + 1, 1, tzinfo=UTC)


def left_of_month(at: datetime) -> Fraction:
    """The share of its month that is left."""
    end, begin = next_month(at), datetime(at.year, at.month, 1, tzinfo=UTC)
    tick = timedelta(microseconds=1)
    return Fraction((end - at) // tick, (end - begin) // tick)


# Life


class World:
    """Customers who order, hosts that are slow, a panel that is off now and then."""

    def __init__(self, random: Random, clock: Clock, count: int) -> None:
        self.random, self.clock = random, clock
        self.plans = [
            plan(name, price_minor=price, size_bytes=(n + 2) * 2**30)
            for n, (name, price) in enumerate(PRICES.items())
        ]
        self.lives = [Life(shop(f"Customer{n}")) for n in range(count)]
        self.seen: dict[str, int] = {}
        self.off_until = START

    def live(self) -> None:
        while self.clock.at < END - timedelta(days=20):
            self.pass_by(self.random.choice((HOUR / 9, 9 * HOUR, 3 * 24 * HOUR, 20 * 24 * HOUR)))
            for life in self.random.sample(self.lives, 2):
                self.act(life)
        for life in self.lives:
            self.work(life, is_last=True)
        self.off_until = self.clock.at
        self.pass_to(END)
        for life in self.lives:
            self.work(life, is_last=True)
        self.look()

    def pass_by(self, step: timedelta) -> None:
        """Time goes on; the panel looks in the first minutes of each month, unless it is off."""
        self.pass_to(self.clock.at + step * self.random.uniform(0.3, 1))

    def pass_to(self, until: datetime) -> None:
        """The same, to that time."""
        while (month := next_month(self.clock.at)) + HOUR / 20 < until:
            self.clock.at = month + HOUR / 20
            self.look()
        self.clock.at = max(self.clock.at, until).replace(microsecond=0)
        self.look()

    def look(self) -> None:
        if self.clock.at < self.off_until:
            return
        due_orders.sweep_orders()
        for life in self.lives:
            for order in Order.objects.filter(volume=life.shop.volume):
                if order.pk not in life.orders:
                    # The panel ended a trial.
                    assert (order.intent, order.to_plan) == (Intent.REVERT, None)
                    self.count("trial ended")
                    life.orders[order.pk] = Agreed(0, 0, self.clock.at, None)
        usage_lines.write_months(self.clock.at)

    def act(self, life: Life) -> None:
        Host.objects.update(last_seen_at=self.clock.at, facts_at=self.clock.at)
        rare = ("back", "back", "price", "off", "stop", "gift")
        match self.random.choice(("order",) * 6 + ("work",) * 5 + rare):
            case "order":
                self.order(life)
            case "work":
                self.work(life)
            case "back":
                self.back(life)
            case "gift":
                self.give(life)
            case "price":
                each = self.random.choice(self.plans)
                each.price_minor += self.random.choice((-7, 11, 250))
                each.save(update_fields=["price_minor"])
            case "off":
                self.off_until = self.clock.at + timedelta(days=self.random.choice((1, 40, 70)))
                self.count("off")
            case "stop":
                customer = Customer.objects.get(pk=life.shop.customer.pk)
                customer.suspended_at = None if customer.suspended_at else self.clock.at
                customer.save(update_fields=["suspended_at"])
                self.count("suspended")

    def order(self, life: Life) -> None:
        wanted = self.random.choice((None, *self.plans))
        is_trial = wanted is not None and life.plan is None and self.random.random() < 0.4
        when: Any = self.random.choice((None, None, "now"))
        try:
            order = buy(life.shop, wanted, trial=is_trial, when=None if is_trial else when)
        except OrderRefused as refused:
            self.count(refused.code)
            return
        back = (None, 0) if life.on_trial else (life.plan, life.price)
        after = wanted.price_minor if wanted is not None and not is_trial else 0
        later = order.due_at is not None
        since = next_month(self.clock.at) if later else self.clock.at
        life.orders[order.pk] = Agreed(
            life.price, after, since, wanted, back, later, is_from_trial=life.on_trial
        )
        assert not later or (after < life.price and when != "now")
        self.count("later" if later else str(order.intent))
        self.answer(order)

    def back(self, life: Life) -> None:
        last = Order.objects.filter(volume=life.shop.volume, state=OrderState.COMPLETED)
        undone = last.order_by("-ended_at", "-id").first()
        if undone is None:
            return
        try:
            order = take_back(undone, life.shop.owner)
        except OrderRefused as refused:
            self.count(refused.code)
            return
        to_plan, after = life.orders[undone.pk].back
        life.orders[order.pk] = Agreed(life.price, after, self.clock.at, to_plan, undoes=undone.pk)
        self.count("revert")
        self.answer(order)

    def give(self, life: Life) -> None:
        """The provider sets up a cache for nothing."""
        has_work = Order.objects.open().filter(volume=life.shop.volume).exists()
        if life.cache_bytes or life.plan is not None or has_work:
            return
        life.cache_bytes = self.random.choice((2, 5)) * GIB
        has_cache(life.shop, size_bytes=life.cache_bytes)
        self.count("gift")

    def answer(self, order: Order) -> None:
        """Billing approves, refuses, or lets the time pass."""
        if order.state == OrderState.AUTHORISING and self.random.random() < 0.9:
            decide = authorisation.refuse if self.random.random() < 0.1 else authorisation.approve
            assert decide(order)

    def work(self, life: Life, *, is_last: bool = False) -> None:
        """The host gets to it, at last or in vain."""
        running = Order.objects.filter(volume=life.shop.volume, state=OrderState.RUNNING).first()
        if running is None:
            return
        if self.random.random() < 0.1 and not is_last:
            finish(running, State.FAILED)
            self.count("failed")
            return
        self.change_cache(life, running)
        finish(running)
        life.completed(running, self.clock.at)
        self.count("completed")
        if (self.clock.at.year, self.clock.at.month) != (
            running.created_at.year,
            running.created_at.month,
        ):
            self.count("over the turn of a month")

    def change_cache(self, life: Life, order: Order) -> None:
        """The host does what the job says; undoing an order restores what it took away."""
        assert order.job is not None
        wanted, agreed = Wish.from_json(order.job.wish).cache, life.orders[order.pk]
        agreed.cache_bytes, life.cache_bytes = life.cache_bytes, wanted.size_bytes if wanted else 0
        if agreed.undoes is not None:
            undone = life.orders[agreed.undoes]
            had_bytes = 0 if undone.is_from_trial else undone.cache_bytes
            assert life.cache_bytes == had_bytes
            if had_bytes and undone.back == (None, 0):
                self.count("restored")
        if life.cache_bytes:
            has_cache(life.shop, size_bytes=life.cache_bytes)
        else:
            has_no_cache(life.shop)

    def count(self, what: str) -> None:
        self.seen[what] = self.seen.get(what, 0) + 1


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_every_line_of_two_years_is_the_one_of_a_plain_reckoning(
    seed: int, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TIERCEL_BILLING_URL = "http://localhost:9/hook"
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = False
    settings.TIERCEL_TRIAL_DAYS = 7.0
    monkeypatch.setattr(notify_workers, "send", lambda *args: True)
    monkeypatch.setattr(notify_workers, "job", lambda *args: None)
    Endpoint.objects.create(url=settings.TIERCEL_BILLING_URL, created_at=START)
    world = World(Random(seed), Clock(monkeypatch), 3)
    world.live()
    written = {line.name: line.amount_minor for line in UsageLine.objects.all()}
    expected = {name: minor for life in world.lives for name, minor in life.all_lines().items()}
    assert written == expected
    expected_events = {"completed", "trial", "revert", "later", "failed", "off", "gift", "restored"}
    assert expected_events <= set(world.seen)
    assert world.seen["over the turn of a month"] > 2
    assert UsageLine.objects.filter(kind=LineKind.CREDIT).exists()
