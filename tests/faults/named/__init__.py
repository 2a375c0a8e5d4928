"""The faults of the published list, by their ids."""

from __future__ import annotations

from collections.abc import Iterator

from panel.embedded.postgres import Postgres
from tests.faults.fault import Fault
from tests.faults.named import hands, machine, panel, twins, wire, workers
from tests.faults.named.guards import mutations

__all__ = ["NOT_PLAYED", "faults", "mutations"]

NOT_PLAYED = {
    "F24, F26, F27, F37 to F41, F44": "a restart, disks that hang, fail or lie, udev: these need a "
    "kernel with device-mapper (the lab host) and are not part of this run",
    "S22": "misuse of the panel's key needs a real sshd: the lab host, not part of this run",
}


def faults(postgres: Postgres | None = None) -> Iterator[Fault]:
    """Every named fault; those that stop PostgreSQL only with a server of the suite's own."""
    yield from workers.faults()
    yield from wire.faults()
    yield from machine.faults()
    yield from hands.faults()
    yield from twins.faults()
    yield from panel.faults(postgres)
