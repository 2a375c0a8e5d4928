"""A customer with people, a volume and plans to choose from, for the tests of these pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.urls import reverse

from panel.models import User
from storage.byte_sizes import GIB
from storage.models import CachePlan, Customer, Host, Volume
from tests import make
from tests.proven import prove
from tests.scene import Scene, scene

HOST = "kapselberg"
SECRETS = re.compile(
    rf"{HOST}|\b(hosts?|vg0|lvm|lvm2|lvmcache|bcache|dm-\d+|md0|sdc|vm-101\S*|lvconvert|vgextend"
    r"|writethrough|writeback|inventory)\b",
    re.IGNORECASE,
)
"""What no customer may read: the scene's host, group, logical volume and disks, tools and their
words. Whole words, since random keys may hold any letters."""


@dataclass(frozen=True, slots=True)
class Shop:
    customer: Customer
    owner: User
    there: Scene

    @property
    def volume(self) -> Volume:
        return Volume.objects.get(pk=self.there.volume.pk)


def shop(name: str = "Acme", **fields: Any) -> Shop:
    """A customer with an owner and one volume without a cache."""
    customer = make.customer(name)
    owner = make.user()
    customer.members.create(user=owner, role="owner")
    lv = fields.pop("lv", None) or make.lv("vm-101-disk-0", kname="dm-4")
    number = Host.objects.count()
    host = {"name": f"{HOST}{number}", **fields.pop("host", {})}
    there = scene(lv, label=f"{name} mail", host=host, **fields)
    Volume.objects.filter(pk=there.volume.pk).update(customer=customer)
    return Shop(customer, owner, there)


def plan(name: str = "Fast", **fields: Any) -> CachePlan:
    """2 GiB for 4.90 EUR a month."""
    defaults = {"price_minor": 490, "currency": "EUR", "size_bytes": 2 * GIB}
    return CachePlan.objects.create(name=name, **{**defaults, **fields})


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def buyer(user: User) -> Client:
    """A user who has just confirmed their identity and may order what costs money."""
    return prove(browser(user), user)


def seen(client: Client, name: str, *args: str, status: int = 200, **query: str) -> str:
    """The page's text, once it holds nothing a customer may not read."""
    response = client.get(reverse(name, args=args), query)
    assert response.status_code == status
    return clean(response.content.decode())


def clean(text: str) -> str:
    """The same text; an error where it tells what customers may not know."""
    found = SECRETS.search(text)
    assert found is None, text[max(0, found.start() - 200) : found.end() + 100]
    return text
