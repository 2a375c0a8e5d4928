"""A customer with a volume and plans to choose from, on a running panel."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from panel.accounts import people
from panel.models import Mandate, Order, User
from storage.models import CachePlan, Customer, Host, Volume
from tests.demo.visitor import Visitor
from tests.integration.person import MIB, Person, finished
from tests.integration.until import until

PASSWORD = "a customer's own long password"


@dataclass(frozen=True, slots=True)
class Buyer:
    """`small` and `large` are sold on the volume's host alone, for 4.90 and 7.90 EUR a month; what
    differs by less than 64 MiB would be the same size."""

    user: User
    volume: Volume
    small: CachePlan
    large: CachePlan

    @property
    def lv_name(self) -> str:
        placed = self.volume.placed
        assert placed is not None
        return placed.lv_name


def buyer(person: Person, host: Host, label: str) -> Buyer:
    """The admin makes the volume; the customer has authorised any charge of the plans."""
    volume = finished(
        person.apply(person.new_volume(host, label=label, size_mib=128, layout="plain"))
    ).volume
    customer = Customer.objects.create(name=f"Buyer of {label}")
    volume.customer = customer
    volume.save(update_fields=["customer"])
    user = people.add(email=f"buyer{customer.pk}@shop.example", password=PASSWORD, name="Buyer")
    customer.members.create(user=user, role="owner")
    Mandate.objects.create(
        customer=customer, currency="EUR", cap_charge_minor=2000, cap_period_minor=5000,
        earliest_next_at=timezone.now() - timedelta(days=1),
    )  # fmt: skip
    small, large = (
        CachePlan.objects.create(
            name=f"{name} {customer.pk}", size_bytes=size * MIB, price_minor=price, currency="EUR"
        )
        for name, size, price in (("Boost", 64, 490), ("Boost more", 128, 790))
    )
    for plan in (small, large):
        plan.hosts.add(host)
    return Buyer(user, volume, small, large)


def ordered(visitor: Visitor, of: Buyer) -> Order:
    """Confirm the small plan twice, as a double click does: there is one order."""
    page = visitor.get(f"/my/volumes/{of.volume.key}/plan/{of.small.key}")
    for _ in range(2):
        assert visitor.send(page, of.small.key).status == 200
    return Order.objects.select_related("job").get(volume=of.volume)


def completed(order: Order) -> Order:
    """The order once it is over, which must be well."""

    def over() -> bool:
        order.refresh_from_db()
        return not order.is_open

    until(lambda: f"{order} is over", over)
    assert order.state == "completed"
    return order
