"""Who may sign in to the demo, and what is for sale in it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from panel.accounts import api_tokens, people
from panel.help import tour
from panel.models import User
from panel.models.billing import Mandate
from storage.access import MemberRole, StaffRole
from storage.models import CachePlan, Customer, Member

MIB = 1024**2
ADMIN = "admin@example.com"


@dataclass(frozen=True, slots=True)
class Login:
    """A person and the password, new each time; `customer` is "" for the provider's staff."""

    role: str
    email: str
    password: str
    customer: str = ""

    def to_json(self) -> dict[str, str]:
        """As READY prints it."""
        return {"role": self.role, "email": self.email, "password": self.password}


CUSTOMERS = (
    ("Northwind Web", "ann@northwind.example"),
    ("Bluewater Data", "bob@bluewater.example"),
)
CAP_CHARGE_MINOR, CAP_PERIOD_MINOR = 1500, 4000
PLANS = (
    ("Boost S", "For a small site or database.", 512 * MIB, "writethrough", 490),
    ("Boost M", "Keeps more of a busy database fast.", 768 * MIB, "writethrough", 790),
    ("Boost S write", "Also takes writes on the SSDs.", 512 * MIB, "writeback", 690),
)
IN_GERMAN = {
    "Boost S": "Für eine kleine Website oder Datenbank.",
    "Boost M": "Hält mehr von einer großen Datenbank schnell.",
    "Boost S write": "Nimmt auch Schreibzugriffe auf den SSDs an.",
}


def settle(*, with_tour: bool) -> tuple[list[Login], str]:
    """Make the admin, two customers with an owner and a mandate each, cache plans, and a token of
    the admin's; returns the logins, the admin's first, and the token's text."""
    admin = Login("admin", ADMIN, _password())
    user = people.add(
        email=admin.email, password=admin.password, name="Admin", staff_role=StaffRole.ADMIN
    )
    logins = [admin]
    for name, email in CUSTOMERS:
        login = Login("customer", email, _password(), name)
        owner = people.add(email=email, password=login.password, name=email.split("@")[0].title())
        customer = Customer.objects.create(name=name)
        Member.objects.create(customer=customer, user=owner, role=MemberRole.OWNER)
        Mandate.objects.create(
            customer=customer, currency="EUR", cap_charge_minor=CAP_CHARGE_MINOR,
            cap_period_minor=CAP_PERIOD_MINOR, earliest_next_at=timezone.now() - timedelta(days=1),
        )  # fmt: skip
        logins.append(login)
    for name, description, size_bytes, mode, price_minor in PLANS:
        CachePlan.objects.create(
            name=name, description=description, size_bytes=size_bytes, mode=mode,
            price_minor=price_minor, currency="EUR", descriptions={"de": IN_GERMAN[name]},
        )  # fmt: skip
    if with_tour:
        for person in User.objects.all():
            tour.begin_tour(person)
    _, token = api_tokens.issue(user, name="demo", scopes=api_tokens.scopes_of(user), days=1)
    return logins, token


def _password() -> str:
    return secrets.token_urlsafe(12)
