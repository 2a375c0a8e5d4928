"""Every list of the staff: its order, its pages and their size, its CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from panel.accounts import people_pages
from panel.lists.listing import CHUNK_ROWS, ListDefinition, in_order
from panel.lists.saved_views import LISTS
from panel.staff.alerts import alert_list
from panel.staff.benchmarks import benchmark_list
from panel.staff.customers import pages as customer_pages
from panel.staff.hosts import host_list
from panel.staff.jobs import job_list
from panel.staff.volumes import list_pages
from storage.models import Customer, Host, Volume
from tests import make
from tests.benchmark_scene import EVENING, make_benchmark
from tests.panel.deliveries.alerts.alert_messages import alert
from tests.scene import job, scene

pytestmark = pytest.mark.django_db
LISTINGS = (
    alert_list.LISTING,
    benchmark_list.LISTING,
    customer_pages.LISTING,
    host_list.LISTING,
    job_list.LISTING,
    people_pages.LISTING,
    list_pages.LISTING,
)


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make.staff_user(staff_role="admin"))
    return client


@pytest.fixture
def three() -> None:
    """Three of everything, in an order that letters alone would get wrong."""
    for name in ("app10", "App2", "zebra"):
        there = scene(make.lv(f"lv-{name}"), label=name, host={"name": name, "site": "Hel"})
        there.volume.customer = make.customer(name)
        there.volume.save()
        job(there)
        alert(there.host, volume=there.volume)
        make_benchmark(there.host, EVENING, timezone.now(), title=name)
        make.user(f"{name}@example.org")


def shown(response: Any) -> list[str]:
    """The names in the first cells of the table, top to bottom."""
    rows = response.context["list"].page.object_list
    names = (getattr(row, "label", "") or getattr(row, "name", "") for row in rows)
    return list(names)


def table(response: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(response.content.decode())))


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda listing: listing.name)
def test_every_column_with_an_order_sorts_both_ways_and_the_head_says_which(
    admin: Client, three: None, listing: ListDefinition
) -> None:
    for column in (column for column in listing.columns if column.order is not None):
        for sort, aria in ((column.name, "ascending"), (f"-{column.name}", "descending")):
            text = admin.get(reverse(listing.name), {"sort": sort}).content.decode()
            assert text.count("aria-sort") == 1, sort
            assert f'aria-sort="{aria}"' in text, sort


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda listing: listing.name)
def test_every_list_is_a_file_with_all_its_rows_and_the_same_order(
    admin: Client, three: None, listing: ListDefinition
) -> None:
    address = reverse(listing.name)
    page = admin.get(address, {"sort": f"-{listing.columns[0].name}"})
    asked = {"sort": f"-{listing.columns[0].name}", "format": "csv", "size": "25"}
    response = admin.get(address, asked)
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert f"tiercel-{listing.name}-" in response["Content-Disposition"]
    lines = table(response)
    assert len(lines) == page.context["list"].count >= 3
    assert list(lines[0]) == [title for title, _ in listing.cells]


def test_the_lists_with_views_are_the_lists_there_are() -> None:
    assert sorted(listing.name for listing in LISTINGS) == sorted(LISTS)


def test_names_sort_naturally_in_hosts_volumes_and_customers(admin: Client, three: None) -> None:
    for name in ("volumes", "customers", "hosts"):
        names = table(admin.get(reverse(name), {"format": "csv"}))
        title = {"volumes": "volume", "customers": "customer", "hosts": "host"}[name]
        assert [line[title] for line in names] == ["App2", "app10", "zebra"], name


def test_what_is_unknown_comes_last_whichever_way_python_sorts() -> None:
    listing = host_list.LISTING
    rows = [make_row(2.0), make_row(None), make_row(1.0)]
    for sort, order in (("iops", [1.0, 2.0, None]), ("-iops", [2.0, 1.0, None])):
        query = QueryDict(f"sort={sort}")
        assert [row.iops for row in in_order(listing, query, rows)] == order


def make_row(iops: float | None) -> Any:
    return type("Row", (), {"iops": iops})()


def test_a_page_is_as_long_as_asked_and_any_page_can_be_jumped_to(admin: Client) -> None:
    Customer.objects.bulk_create(Customer(name=f"customer {n}") for n in range(1, 1202))
    first = admin.get(reverse("customers"), {"size": "25"})
    assert len(first.context["page"].object_list) == 25
    text = first.content.decode()
    assert "1,201 customers" in text
    assert 'name="page"' in text and 'max="49"' in text
    last = admin.get(reverse("customers"), {"size": "25", "page": "49"})
    assert [each.name for each in last.context["page"].object_list] == ["customer 1201"]
    assert len(admin.get(reverse("customers"), {"size": "9999"}).context["page"].object_list) == 50


def test_the_size_of_the_page_stays_with_the_next_order(admin: Client) -> None:
    Customer.objects.bulk_create(Customer(name=f"customer {n}") for n in range(60))
    text = admin.get(reverse("customers"), {"size": "25", "q": "cust"}).content.decode()
    assert 'href="?size=25&amp;q=cust&amp;sort=-volumes"' in text


def test_a_file_of_many_volumes_costs_few_queries(admin: Client) -> None:
    Volume.objects.bulk_create(
        Volume(label=f"v{n}", size_bytes=1) for n in range(2 * CHUNK_ROWS + 1)
    )
    with CaptureQueriesContext(
        connection,
    ) as queries:
        lines = table(admin.get(reverse("volumes"), {"format": "csv"}))
    assert len(lines) == 2 * CHUNK_ROWS + 1
    assert len(queries) < 20


def test_no_cell_of_a_file_is_a_formula(admin: Client) -> None:
    Customer.objects.create(name="=HYPERLINK(1)", external_id="+1")
    (line,) = table(admin.get(reverse("customers"), {"format": "csv"}))
    assert (line["customer"], line["external_id"]) == ("'=HYPERLINK(1)", "'+1")


def test_hosts_are_found_by_site_and_tag(admin: Client) -> None:
    for name, site, tags in (("a", "Hel", ["nvme"]), ("b", "Hel", []), ("c", "Ams", ["nvme"])):
        make.host(name=name, site=site, tags=tags)

    def names(**asked: str) -> list[str]:
        rows = admin.get(reverse("hosts"), asked).context["rows"]
        return [row.line.host.name for row in rows]

    assert names(site="Hel") == ["a", "b"]
    assert names(tag="nvme") == ["a", "c"]
    assert names(site="Hel", tag="nvme") == ["a"]
    assert names(site="nowhere") == []


def test_an_operator_gives_a_host_a_site_and_tags_and_the_history_says_so(client: Client) -> None:
    operator = make.staff_user("op@provider.org", staff_role="operator")
    client.force_login(operator)
    host = make.host(name="a")
    answer = client.post(
        reverse("host-labels", args=[host.key]), {"site": "Hel 1", "tags": "NVMe, rack-7 nvme"}
    )
    assert answer.status_code == 302
    host.refresh_from_db()
    assert (host.site, host.tags) == ("Hel 1", ["nvme", "rack-7"])
    before = Host.objects.get(pk=host.pk).events.filter(pgh_label="update").last()  # type: ignore[attr-defined]
    assert before.site == "" and before.pgh_context["actor"] == operator.email


@pytest.mark.parametrize("tags", ["x" * 33, " ".join(f"t{n}" for n in range(13))])
def test_tags_that_are_too_long_or_too_many_are_refused(admin: Client, tags: str) -> None:
    host = make.host(name="a")
    answer = admin.post(reverse("host-labels", args=[host.key]), {"tags": tags})
    assert answer.status_code == 422
    host.refresh_from_db()
    assert host.tags == []
