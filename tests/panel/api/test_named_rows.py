"""What a request names by its key is that row, whatever numbers, keys, names and external ids other
rows carry as theirs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import pytest
from django.utils import timezone

from storage.models import CachePlan, Customer, Host
from tests import make
from tests.panel.api.test_every_operation import (
    BY_NAME,
    FIELDS,
    NAMED,
    Foreign,
    body_of,
    fields_of,
    filled,
    operations,
)
from tests.panel.cast import Cast
from tests.panel.cast import people as people

BY_FIELD: Final = [
    (method, path, name)
    for method, path, _ in operations()
    for name in fields_of(method, path)
    # Alert routes name their hosts by name, which one host has.
    if "alert-routes" not in path
]
TOMORROW: Final = f"{timezone.now() + timedelta(days=1):%Y-%m-%dT%H:%MZ}"
INSTEAD: Final[dict[str, dict[str, Any]]] = {
    "/api/v1/invitations/ customer": {"email": "new@example.org", "member_role": "owner"},
    "/api/v1/bulk-changes/ customer": {"action": "customer", "volumes": []},
    "/api/v1/bulk-changes/ cache_plan": {"action": "add-cache", "volumes": []},
    "/api/v1/cache-plans/ hosts": {
        **{"name": "Another", "size_bytes": 2**30, "price_minor": 1, "currency": "EUR"},
    },
    "/api/v1/silences/ host": {"reason": "Known.", "until": TOMORROW},
    "/api/v1/silences/ volume": {"reason": "Known.", "until": TOMORROW},
}
"""Bodies where the example of the description is about something else, or about another day."""
REFUSED: Final = ("/api/v1/volumes/{key}/orders cache_plan",)
"""What the staff may not do."""


@pytest.fixture(scope="module")
def asking(people: Cast) -> Foreign:
    """Acme's host could be measured."""
    said = {"benchmarks": {"quota_bytes": 1 << 40, "fio": "3.33"}, "boot_id": "1" * 32}
    host = people.acme.there.host
    Host.objects.filter(pk=host.pk).update(hello={**host.hello, **said, "kernel": "6.1.0-37"})
    return Foreign(people)


@pytest.fixture(scope="module")
def namesakes(people: Cast) -> list[str]:
    """Keys of rows whose texts are what identifies Acme's rows."""
    acme, keys = people.acme, []
    plan = CachePlan.objects.get(key=people.ids["plan"])
    volume, customer, host = acme.there.volume, acme.customer, acme.there.host
    for word in (str(customer.pk), customer.key):
        keys.append(Customer.objects.create(name="By id", external_id=word).key)
        keys.append(Customer.objects.create(name=word).key)
    for word in (str(host.pk), host.key):
        keys.append(make.host(name=word).key)
    for word in (str(plan.pk), plan.key):
        row = CachePlan.objects.create(name=word, size_bytes=2**30, price_minor=1, currency="EUR")
        keys.append(row.key)
    for word in (str(volume.pk), volume.key):
        keys.append(make.volume(label=word, external_id=word).key)
    return keys


def body_with(people: Cast, method: str, path: str, name: str) -> dict[str, Any]:
    """A body whose field is the key of Acme's row."""
    key = people.ids[FIELDS[name]]
    body = INSTEAD.get(f"{path} {name}", body_of(method, path))
    if "volumes" in body:
        body = {**body, "volumes": [people.ids["volume"]]}
    if path == "/api/v1/volumes/":
        body = {**body, "host": people.ids["host"]}
    return {**body, name: [key] if name.endswith("s") else key}


def test_a_key_in_a_body_reaches_the_row_that_has_it(
    people: Cast, asking: Foreign, namesakes: list[str], subtests: pytest.Subtests
) -> None:
    for method, path, name in BY_FIELD:
        with subtests.test(f"{method} {path} {name}"):
            body = body_with(people, method, path, name)
            status, _, text = asking.ask("admin", method, filled(path, people.ids, ""), body)
            assert (status < 400) != (f"{path} {name}" in REFUSED), text
            assert [key for key in namesakes if key in text] == []


def test_a_key_in_a_filter_finds_nothing_of_a_namesake(
    people: Cast, asking: Foreign, namesakes: list[str], subtests: pytest.Subtests
) -> None:
    for method, path, name in BY_NAME:
        with subtests.test(f"{method} {path} {name}"):
            key = people.ids[NAMED[name]]
            status, _, text = asking.ask("admin", method, f"{path}?{name}={key}", None)
            assert status < 400, text
            assert [each for each in namesakes if each in text] == []
