"""The published list: no fault of it is forgotten."""

from __future__ import annotations

from pathlib import Path

from panel.operations.local_services import Place
from panel.operations.local_services.postgres import Postgres
from tests.faults import lab, named
from tests.lab.vm import Lab

LISTED = {
    *(f"F{n:02}" for n in (*range(1, 15), *range(20, 30), *range(31, 35), *range(36, 42))),
    "F44",
    "F45",
    "F47",
    "F48",
    "F54",
    "F55",
    "F56",
    "S16",
    "S22",
    "S23",
    "A01",
    "B01",
    "B02",
    "B03",
    "C01",
    "C02",
    "C03",
    "P01",
    "P02",
    "P03",
    "P04",
}


def test_every_listed_fault_is_played(tmp_path: Path) -> None:
    site = lab.Site(Lab("never-started", setup=False))
    played = [*named.faults(Postgres(Place(tmp_path))), *lab.faults(site)]
    assert LISTED - {fault.id for fault in played} == set()


def test_no_two_faults_have_the_same_name(tmp_path: Path) -> None:
    names = [fault.name for fault in named.faults(Postgres(Place(tmp_path)))]
    assert [name for name in names if names.count(name) > 1] == []
