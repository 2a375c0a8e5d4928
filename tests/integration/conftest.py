"""A running panel for all tests of this folder, and machines for it to work on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.conf import global_settings
from django.core.management import call_command
from django.db import connection
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from panel.accounts import people
from storage.inventory.facts import HostFacts
from storage.models import Host, Volume
from tests import emptying
from tests.conftest import drop, this_run, url_of
from tests.contract.lab_world import LabWorld
from tests.fake import FakeHost
from tests.fake.fixtures import make_fake_host as make_fake_host
from tests.fake.server import FakeServer
from tests.integration.fake_machine import FakeMachine
from tests.integration.lab_machine import LabMachine
from tests.integration.machine import Machine
from tests.integration.person import Person
from tests.integration.recipients import Recipients, recipients_of
from tests.integration.running import REDIS, Running

LAB_SECONDS = 1200
"""The first of them may have to make the image and boot it."""
# Of the time for which a sign-in counts as proof of who one is (TIERCEL_STEP_UP_SECONDS), a test
# has the rest.
STAY_SECONDS = 60
FOLDER = Path(__file__).parent
LAB = (pytest.mark.lab, pytest.mark.xdist_group("lab"))
ODD_NAME = "mail--2.old+x_y"
EMAIL, PASSWORD = "admin@example.com", "correct horse battery staple"
WAITING = ("test_alerts", "test_upgrade")
HASTE = 5.0
"""How much sooner an operation is over on a fake host than it would be on a real one."""
HURRIED = "tests.integration.hurried_settings"
OURS = ("PYTEST_", "DJANGO_ALLOW_ASYNC_UNSAFE")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what is not for the lab in two processes, so that two sets of processes serve it: tests
    that mostly wait keep none of the others waiting. And what is for the lab before all else there,
    which takes over the agent that a panel enrolled."""
    for item in items:
        if item.path.parent == FOLDER and item.get_closest_marker("xdist_group") is None:
            group = "waiting" if item.path.stem in WAITING else "integration"
            item.add_marker(pytest.mark.xdist_group(group))
        if is_for_the_lab(item):
            item.add_marker(pytest.mark.timeout(LAB_SECONDS))
    items.sort(key=lambda item: not is_for_the_lab(item))


def is_for_the_lab(item: pytest.Item) -> bool:
    """Whether it is one of this folder's that need the lab."""
    return item.path.parent == FOLDER and item.get_closest_marker("lab") is not None


@contextmanager
def records_of(name: str) -> Iterator[None]:
    """Let the ORM of the tests work on another database, the one the processes use, and hash
    passwords as they do: they do not know the cheap hash of the tests."""
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        with override_settings(PASSWORD_HASHERS=global_settings.PASSWORD_HASHERS):
            yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before


@pytest.fixture(scope="package")
def running(
    tmp_path_factory: pytest.TempPathFactory, migrated: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[Running]:
    """Web, worker, collector and beat, with a database of their own and one person in it."""
    name = f"{this_run()}_running"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
    environment |= {
        "DATABASE_URL": url_of("app", name),
        "DATABASE_OWNER_URL": url_of("owner", name),
    }
    with psycopg.connect(url_of("owner", "postgres"), autocommit=True) as owner:
        drop(name)
        owner.execute(f'CREATE DATABASE "{name}" TEMPLATE "{migrated}"')
        try:
            folder = tmp_path_factory.mktemp("running")
            with Running(environment, folder, settings_module=HURRIED) as panel:
                with django_db_blocker.unblock(), records_of(name):
                    people.add(email=EMAIL, password=PASSWORD, name="Admin", staff_role="admin")
                yield panel
        finally:
            drop(name)


@pytest.fixture(scope="module")
def processes(
    django_db_setup: None,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Running]:
    """Redis, and what a module starts on the database of the tests. What they write after the last
    test of the module is gone with them."""
    environment = {
        **os.environ,
        "DATABASE_URL": url_of("app", this_run()),
        "DATABASE_OWNER_URL": url_of("owner", this_run()),
    }
    found = Running(environment, tmp_path_factory.mktemp("processes"))
    try:
        found.start(REDIS)
        yield found
    finally:
        found.stop_all()
        with django_db_blocker.unblock():
            emptying.empty()


@pytest.fixture
def panel(
    request: pytest.FixtureRequest, running: Running, django_db_blocker: DjangoDbBlocker
) -> Iterator[Running]:
    """The running panel, and the ORM on its records. What its processes say joins the report."""
    begun = {path: path.stat().st_size for path in running.folder.glob("*.log")}
    with django_db_blocker.unblock(), records_of(f"{this_run()}_running"):
        yield running
    for path in sorted(running.folder.glob("*.log")):
        said = path.read_text(errors="replace")[begun.get(path, 0) :]
        request.node.add_report_section("teardown", path.name, said[-8000:])
    assert running.dead() == []


@pytest.fixture(scope="package")
def enter(running: Running) -> Callable[[], Person]:
    """Sign in. Who did so lately stays: to hash a password takes long on purpose."""
    entered: list[tuple[float, Person]] = []

    def person() -> Person:
        now = time.monotonic()
        if not entered or now - entered[-1][0] > STAY_SECONDS:
            entered.append((now, Person(running.url, EMAIL, PASSWORD)))
        return entered[-1][1]

    return person


@pytest.fixture
def person(panel: Running, enter: Callable[[], Person]) -> Person:
    return enter()


@pytest.fixture
def make_fake_machine(
    make_fake_host: Callable[..., FakeHost], panel: Running
) -> Iterator[Callable[..., FakeMachine]]:
    """FakeMachine of FakeHost(**variation), observe-only by default."""
    servers: list[FakeServer] = []

    def make(**variation: object) -> FakeMachine:
        seed = f"{os.getpid()}-{Host.objects.count()}-{len(servers)}"
        as_usual = {"real_time": True, "haste": HASTE, "observe_only": True}
        host = make_fake_host(seed, **as_usual | variation)
        servers.append(FakeServer(host))
        servers[-1].start()
        return FakeMachine(host, servers[-1])

    yield make
    # No process asks these hosts any more; jobs and volumes stay to be looked at.
    Host.objects.exclude(name="lab").update(state="pending")
    for server in servers:
        server.stop()


@pytest.fixture
def begin(panel: Running) -> Callable[[Machine, str], Host]:
    """Print the line, paste it on the machine: its fingerprint waits to be accepted."""

    def pasted(machine: Machine, name: str) -> Host:
        out = StringIO()
        call_command(
            "enrol", name, machine.address, port=machine.port, stdout=out, stderr=StringIO(),
            public_url=machine.panel_url(panel.port),
        )  # fmt: skip
        machine.paste(out.getvalue().strip())
        host = Host.objects.get(name=name)
        assert host.state == "unverified"
        return host

    return pasted


@pytest.fixture
def enrol(begin: Callable[[Machine, str], Host], person: Person) -> Callable[[Machine, str], Host]:
    """The same, then accept the fingerprint and wait for the first inventory."""

    def enrolled(machine: Machine, name: str) -> Host:
        host = begin(machine, name)
        assert person.accept(host, machine.fingerprint()).status == 200
        person.refresh(host)
        return host

    return enrolled


@pytest.fixture(scope="package")
def lab_machine(lab_world: LabWorld) -> Iterator[LabMachine]:
    """The lab, taken from the contract suite for a while. Tests leave nothing in use on it."""
    with lab_world.bare():
        yield LabMachine(lab_world)


@pytest.fixture(params=["fake", pytest.param("lab", marks=LAB)])
def machine(
    request: pytest.FixtureRequest, make_fake_machine: Callable[..., FakeMachine]
) -> Machine:
    """A storage host: a fake one of its own for each test, then the one lab for all of them."""
    if request.param == "fake":
        return make_fake_machine()
    lab: LabMachine = request.getfixturevalue("lab_machine")
    return lab


@pytest.fixture
def host(machine: Machine, enrol: Callable[[Machine, str], Host], person: Person) -> Host:
    """The record of `machine`, enrolled, with vg0 allowed."""
    name = machine.name if machine.name == "lab" else f"fake{Host.objects.count()}"
    host = Host.objects.filter(name=name).first() or enrol(machine, name)
    if not any(vg.allowed for vg in known(host).vgs):
        machine.allow("vg0")
        person.refresh(host)
    return host


@pytest.fixture
def found(machine: Machine, host: Host, person: Person) -> Volume:
    """A volume that root made, not managed, without a cache, of an odd but legal name."""
    unmanaged = Volume.objects.filter(managed=False).placed_on(host)
    # What was refused on the lab left it as it was: good for the next test too.
    if not unmanaged.filter(label=ODD_NAME).exists():
        machine.world.add_lv(ODD_NAME, 64 << 20)
        person.refresh(host)
    return unmanaged.get(label=ODD_NAME)


@pytest.fixture
def recipients(panel: Running) -> Iterator[Recipients]:
    """What one person and one address get of alerts."""
    with recipients_of(panel) as made:
        yield made


def known(host: Host) -> HostFacts:
    """What the panel knows of a host that was read."""
    assert host.inventory is not None
    return host.inventory
