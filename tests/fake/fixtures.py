"""Fixtures for every test that needs a host: import them in a conftest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import asyncssh
import pytest

from jobs.hosts import enrolment
from jobs.hosts.trust import accept_fingerprint, key_fingerprint
from storage.models import Host
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer


@pytest.fixture
def make_fake_host() -> Iterator[Callable[..., FakeHost]]:
    """FakeHost(seed, **variation); a gap in the model that the test met fails it."""
    made: list[FakeHost] = []

    def make(seed: str = "1", **variation: object) -> FakeHost:
        made.append(FakeHost(seed, **variation))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for host in made:
        host.wait_for_ops()
        assert host.gaps == [], "the fake host does not know these: look at the lab, teach it"


@pytest.fixture
def fake_host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    return make_fake_host()


@pytest.fixture
def fake_server(fake_host: FakeHost) -> Iterator[FakeServer]:
    """The fake host behind SSH; no key is authorized yet."""
    with FakeServer(fake_host) as server:
        yield server


@pytest.fixture
def client_key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def enrolled_fake_host(fake_server: FakeServer, db: None) -> Host:
    """A record of the fake host, enrolled, its fingerprint accepted: the panel can reach it."""
    return enrol(fake_server)


def enrol(server: FakeServer, name: str = "fake") -> Host:
    """What the enrolment script and then a person do, for a host behind `server`."""
    host, token = enrolment.begin_enrolment(name, "127.0.0.1", server.port)
    server.authorize(host.public_key)
    host = enrolment.report_host(
        token, server.host.machine.machine_id, server.host_key, server.port
    )
    accept_fingerprint(host, key_fingerprint(host.host_key_seen), None)
    return host
