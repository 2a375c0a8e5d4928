"""A collector on another machine is added by configuration alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pytest_django import DjangoDbBlocker

from jobs import collector
from storage.models import Host, LatestSample
from tests.conftest import drop, this_run, url_of
from tests.fake import crowd
from tests.fake.crowd_process import Crowd, crowd_of, enrol
from tests.integration.apart import (
    Elsewhere,
    NoNamespaces,
    database_of,
    elsewhere,
    namespace,
    relay,
)
from tests.integration.conftest import OURS, records_of
from tests.integration.running import REDIS, Running
from tests.integration.until import until

HOSTS, VOLUMES, INTERVAL = 12, 2, 2
FIRST, SECOND = "collector:first", "collector:second"


@pytest.fixture
def machines() -> Iterator[tuple[Elsewhere, Elsewhere]]:
    with ExitStack() as stack:
        try:
            between = stack.enter_context(namespace("between"))
            one, other = (stack.enter_context(elsewhere(n, between)) for n in (1, 2))
        except NoNamespaces as reason:
            pytest.skip(str(reason))
        yield one, other


@pytest.fixture
def panel(tmp_path: Path, migrated: str, django_db_blocker: DjangoDbBlocker) -> Iterator[Running]:
    """Redis and beat with a database of their own."""
    name = f"{this_run()}_apart"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
    environment |= {
        "DATABASE_URL": url_of("app", name),
        "DATABASE_OWNER_URL": url_of("owner", name),
    }
    with psycopg.connect(url_of("owner", "postgres"), autocommit=True) as owner:
        drop(name)
        owner.execute(f'CREATE DATABASE "{name}" TEMPLATE "{migrated}"')
    running = Running(environment, tmp_path)
    running.environment |= {
        "TIERCEL_SAMPLE_SECONDS": str(INTERVAL),
        "TIERCEL_COLLECT_SHARDS": "2",
    }
    try:
        with django_db_blocker.unblock(), records_of(name):
            running.start(REDIS)
            running.start("beat")
            yield running
    finally:
        running.stop_all()
        drop(name)


def settings_of(machine: Elsewhere, panel: Running, ports: dict[str, int]) -> dict[str, str]:
    """What production.md says to set on another machine."""
    own = panel.environment["DATABASE_URL"]
    role = conninfo_to_dict(own)["user"]
    password = urlsplit(own).password
    who = f"{role}:{quote(password)}" if password else str(role)
    name = conninfo_to_dict(own)["dbname"]
    return {
        "DATABASE_URL": f"postgresql://{who}@{machine.near}:{ports['postgres']}/{name}",
        "DATABASE_OWNER_URL": "",
        "REDIS_URL": f"redis://{machine.near}:{ports['redis']}/0",
    }


def test_two_collectors_on_two_machines_share_the_hosts_and_one_that_ends_costs_the_other_nothing(
    machines: tuple[Elsewhere, Elsewhere], panel: Running
) -> None:
    redis = Path(panel.environment["REDIS_URL"].removeprefix("unix://").partition("?")[0])
    database = database_of(panel.environment["DATABASE_URL"])
    with ExitStack() as stack:
        settings = [
            settings_of(
                machine,
                panel,
                {
                    "postgres": stack.enter_context(relay(machine, database)),
                    "redis": stack.enter_context(relay(machine, redis)),
                },
            )
            for machine in machines
        ]
        # Both reach it; the second by way of the first cable's end.
        near = machines[0].near
        there = stack.enter_context(
            crowd_of(VOLUMES, address=near, prefix=machines[0].between.prefix)
        )
        hosts = enrol(there, HOSTS, VOLUMES, address=near)
        shards = [[host for host in hosts if collector.position(host) % 2 == n] for n in (0, 1)]
        assert all(shards)

        queue = {"TIERCEL_COLLECT_QUEUES": "collect.0"}
        panel.start(FIRST, prefix=machines[0].prefix, **settings[0], **queue)
        sampled(shards[0])
        assert sampled_of(shards[1]) == 0, "no process serves the other queue yet"

        queue = {"TIERCEL_COLLECT_QUEUES": "collect.1"}
        panel.start(SECOND, prefix=machines[1].prefix, **settings[1], **queue)
        sampled(shards[1])
        assert askers(there, hosts) == {
            host.account: [machines[n].far] for n in (0, 1) for host in shards[n]
        }

        panel.kill(SECOND)
        sampled(shards[0])
        assert panel.dead() == []


def sampled_of(hosts: list[Host]) -> int:
    return LatestSample.objects.filter(host__in=hosts).count()


def sampled(hosts: list[Host]) -> None:
    """Wait for two more rounds of all of them."""
    begun = dict(LatestSample.objects.filter(host__in=hosts).values_list("volume", "boottime_ns"))

    def two_rounds_on() -> bool:
        rows = LatestSample.objects.filter(host__in=hosts, gap="")
        later = [
            row
            for row in rows
            if row.boottime_ns > begun.get(row.volume_id, 0) + 1.5 * INTERVAL * 1e9
        ]
        return len(later) == len(hosts) * VOLUMES

    until(lambda: f"rounds of {len(hosts)} hosts", two_rounds_on, 60)


def askers(there: Crowd, hosts: list[Host]) -> dict[str, list[str]]:
    by_account: dict[str, list[str]] = there.figures()["askers"]
    assert set(by_account) == {crowd.account(n) for n in range(len(hosts))}
    return by_account
