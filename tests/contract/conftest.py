"""`world` is the fake host, then the lab: every test of this folder runs against both."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.contract.lab_world import LabWorld
from tests.contract.world import World
from tests.fake import FakeHost
from tests.fake.fixtures import make_fake_host as make_fake_host


@pytest.fixture(
    params=[
        "fake",
        pytest.param("lab", marks=[pytest.mark.lab, pytest.mark.xdist_group("lab")]),
    ]
)
def world(
    request: pytest.FixtureRequest, make_fake_host: Callable[..., FakeHost]
) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld(make_fake_host())
        return
    lab: LabWorld = request.getfixturevalue("lab_world")
    lab.reset()
    yield lab


@pytest.fixture
def agent(world: World) -> Agent:
    return Agent(world)
