"""The pages of the staff ask the database as often for 300 volumes as for ten."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Job
from storage.models import CachePlan, Host, Placement, Volume
from tests import fleet

pytestmark = pytest.mark.django_db

FEW, MANY = 10, 300
CROWD_HOSTS = 5
"""The many lie on so few hosts that no page of one holds its volumes."""


def queries(client: Client, path: str) -> list[str]:
    client.get(path)  # what the first request of a session stores
    with CaptureQueriesContext(connection) as found:
        assert client.get(path).status_code == 200
    return [query["sql"][:200] for query in found]


def paths(host: Host, volume_key: str) -> dict[str, str]:
    return {
        "overview": "/",
        "hosts": "/hosts/",
        "host": f"/hosts/{host.key}/",
        "volumes": "/volumes/?sort=-iops&cache=any",
        "volume": f"/volumes/{volume_key}/",
    }


def volume_key_on(host: Host) -> str:
    """A customer's volume with an lvmcache, figures and a plan there, without a job."""
    found = Placement.objects.filter(host=host, cache_technology="lvmcache")
    found = found.exclude(volume__customer=None)
    found = found.exclude(volume__in=Job.objects.exclude(volume=None).values("volume"))
    # A slow volume asks for one thing more: what its disk is busy with.
    calm = found.order_by("volume__latest_sample__read_ms", "volume__key")
    key: str = calm.values_list("volume__key", flat=True)[0]
    # And so do a plan and a job; the invented fleet gives them to some.
    Volume.objects.filter(key=key).update(cache_plan=CachePlan.objects.first())
    return key


def test_queries_are_the_same_for_ten_and_for_hundreds_of_volumes(client: Client) -> None:
    made = fleet.build(2, FEW, hours=0.1)
    client.force_login(made.admin)
    small = paths(made.hosts[0], volume_key_on(made.hosts[0]))
    few = {name: queries(client, path) for name, path in small.items()}
    grown = fleet.grow(made, CROWD_HOSTS, MANY - FEW)
    host = next(each for each in grown.hosts[2:] if each.name.endswith(("-07", "-09", "-11")))
    large = paths(host, volume_key_on(host))
    many = {name: queries(client, path) for name, path in large.items()}
    assert {name: len(found) for name, found in many.items()} == {
        name: len(found) for name, found in few.items()
    }, {name: sorted(set(many[name]) ^ set(few[name])) for name in few}
