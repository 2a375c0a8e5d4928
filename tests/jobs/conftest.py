"""Servers for the tests of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.jobs.sshd import Answer, Sshd


@pytest.fixture
def sshd() -> Iterator[Callable[..., Sshd]]:
    """A maker of SSH servers that end with the test."""
    made: list[Sshd] = []

    def start(answer: Answer = lambda request: {}, **options: Any) -> Sshd:
        made.append(Sshd(answer, **options))
        return made[-1]

    yield start
    for server in made:
        server.close()
