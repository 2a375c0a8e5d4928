"""The agent's tests play on a fake host, and ask it as the panel does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.fixtures import make_fake_host as make_fake_host


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    return make_fake_host()


@pytest.fixture
def agent(host: FakeHost) -> Agent:
    return Agent(FakeWorld(host))
