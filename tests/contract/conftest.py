"""`world` is the fake host, then the lab: every test of this folder runs against both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.contract.lab_world import LabWorld
from tests.contract.world import World
from tests.fake import FakeHost
from tests.fake.fixtures import make_fake_host as make_fake_host
from tests.lab.vm import Lab


@pytest.fixture(scope="session")
def lab_world() -> Iterator[LabWorld]:
    """One machine for all tests of a run, with the real zipapp behind sudo and sshd."""
    with Lab(f"contract-{os.getpid()}") as lab:
        world = LabWorld(lab)
        try:
            yield world
        finally:
            world.close()


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
    lab.reset()


@pytest.fixture
def agent(world: World) -> Agent:
    return Agent(world)
