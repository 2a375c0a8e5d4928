"""The faults of the published list that a simulated host can play, by their ids."""

from __future__ import annotations

from collections.abc import Iterator

from panel.operations.local_services.postgres import Postgres
from tests.faults.fault import Fault
from tests.faults.named import (
    benchmarks,
    hands,
    machine,
    outages,
    panel,
    rivals,
    sampling,
    stale,
    twins,
    wire,
    workers,
)
from tests.faults.named.guards import mutations

__all__ = ["faults", "mutations"]


def faults(postgres: Postgres | None = None) -> Iterator[Fault]:
    """Every named fault; those that stop PostgreSQL only with a server of the suite's own."""
    yield from workers.faults()
    yield from wire.faults()
    yield from machine.faults()
    yield from hands.faults()
    yield from stale.faults()
    yield from twins.faults()
    yield from rivals.faults()
    yield from panel.faults(postgres)
    yield from outages.faults()
    yield from sampling.faults(postgres)
    yield from benchmarks.faults()
