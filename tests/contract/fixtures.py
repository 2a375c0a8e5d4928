"""The one lab of a test run. tests/conftest.py imports these, so that every folder shares it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import pytest

from tests.contract.lab_world import LabWorld
from tests.lab.vm import Lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """A machine with disks, md0 and vg0, and nothing of Tiercel."""
    with Lab(f"tests-{os.getpid()}", say=warnings.warn) as machine:
        yield machine


@pytest.fixture(scope="session")
def lab_world(lab: Lab) -> Iterator[LabWorld]:
    """The same with the real zipapp behind sudo and sshd; `reset()` it before and after use."""
    world = LabWorld(lab)
    try:
        yield world
    finally:
        world.close()
