"""A customer finds no trace of another, and none of the provider's machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from tests.panel.browser.walk import walk
from tests.panel.cast import Cast, Party
from tests.panel.cast import people as people
from tests.panel.permissions import TABLE, Row

TECHNOLOGY = re.compile(r"lvmcache|dm-cache|bcache|\bLVM\b|lvconvert|volume group|/dev/", re.I)
# The description of the API is the same for everybody, and public with the program.
PUBLIC = ("/api/v1/openapi.json", "/api/v1/openapi.yaml")
READING = [row for row in TABLE if row.method == "GET" and "_token" not in str(row.args)]


def found_in(text: str, party: Party) -> list[str]:
    """What of the customer a page or an error gives away."""
    return [trace for trace in party.traces if trace in unescape(text)]


@pytest.mark.parametrize("role", ["viewer", "owner"])
def test_a_walk_through_every_link_meets_no_other_customer_no_host_and_no_technology(
    people: Cast, role: str
) -> None:
    seen = {path: said.content.decode() for path, said in walk(people.clients[role])}
    there = people.acme.there
    own = there.volume
    assert {reverse("my-volumes"), reverse("my-volume", args=[own.key])} <= set(seen)
    assert own.label in seen[reverse("my-volumes")]
    machine = (there.host.name, there.host.key, there.lv.name)
    for path, text in seen.items():
        assert not found_in(text, people.zebra), path
        assert "zebra" not in text.lower(), path
        assert not [name for name in machine if name in text], path
        assert path in PUBLIC or not TECHNOLOGY.findall(text), path


@pytest.mark.parametrize("row", READING, ids=lambda row: row.name)
def test_no_page_and_no_error_of_anothers_object_gives_them_away(people: Cast, row: Row) -> None:
    """Acme's objects, asked for by Zebra."""
    asked = people.path(row)
    text = people.ask("other", row).content.decode().replace(asked, "")
    assert not found_in(text, people.acme)


TELLING = re.compile(r"promotion|demotion|ssd_write|latency_p|write_hit|write_accesses")
FIGURES = ("volume-series", "volume-csv", "api-volume-series")


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_a_volume_tell_customers_no_technology(people: Cast, name: str) -> None:
    """Staff get the figures that only one kind of cache has; customers not even their names."""
    path = reverse(name, args=[people.acme.there.volume.key])
    pages = {}
    for role in ("owner", "admin"):
        api = Client(headers=people.bearers[role])
        asked = api if name.startswith("api-") else people.clients[role]
        pages[role] = asked.get(path).content.decode()
    assert "read_iops" in pages["owner"] and TELLING.search(pages["admin"])
    assert TELLING.findall(pages["owner"]) == []


LISTS = sorted(
    row.name
    for row in READING
    if row.outcomes.split()[3] == "in" and not row.args and "openapi" not in row.name
)


def questions(about: Party) -> Iterator[tuple[str, str]]:
    """Parameters with what may be asked by them: everything of the customer by the search, by a
    filter what it filters by."""
    there, customer = about.there, about.customer
    volume, host = there.volume, there.host
    asked = {
        "q": about.traces,
        "customer": (customer.name, customer.key, customer.external_id),
        "volume": (volume.label, volume.key, volume.external_id),
        "external_id": (customer.external_id, volume.external_id),
        "guest": (volume.guest.split()[0],),
        "host": (host.name, host.key),
        "label": (volume.label, there.lv.name),
        "state": (volume.key,),
        "cursor": (volume.key, about.job.key, about.order.key),
    }
    for parameter, traces in asked.items():
        yield from ((parameter, trace) for trace in traces)


@pytest.mark.parametrize("name", LISTS)
def test_no_search_and_no_filter_finds_another(people: Cast, name: str) -> None:
    """Asked about Acme by Zebra; the answer may repeat the question, but nothing beyond it."""
    row = next(row for row in READING if row.name == name)
    path, traces = people.path(row), people.acme.traces
    client = Client(headers=people.bearers["other"]) if row.is_api else people.clients["other"]
    for parameter, trace in questions(people.acme):
        text = unescape(client.get(path, {parameter: trace}).content.decode())
        beyond = [found for found in traces if found not in trace]
        assert not [found for found in beyond if found in text], (parameter, trace)


def test_counts_of_the_api_are_of_ones_own(people: Cast) -> None:
    for name in ("api-volumes", "api-customers", "api-jobs"):
        response = Client().get(reverse(name), headers=people.bearers["other"])
        (items,) = [value for value in response.json().values() if isinstance(value, list)]
        assert len(items) == 1, name
