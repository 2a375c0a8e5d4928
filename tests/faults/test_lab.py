"""One fault of a real host, by `make thorough`; `make faults` plays all."""

from __future__ import annotations

import pytest

from tests.contract.lab_world import LabWorld
from tests.faults.fault import endure
from tests.faults.lab import bcache
from tests.faults.lab.site import Borrowed
from tests.faults.test_part import started as started
from tests.faults.test_part import workers as workers
from tests.faults.workers import Workers

pytestmark = [
    pytest.mark.lab,
    pytest.mark.thorough,
    pytest.mark.xdist_group("lab"),
    pytest.mark.timeout(900),
    pytest.mark.django_db(transaction=True),
]

CHOSEN = "create bcache-ready: udev registers the device before the agent does"


def test_a_fault_of_a_real_host_is_survived(lab_world: LabWorld, workers: Workers) -> None:
    site = Borrowed(lab_world)
    site.open()
    by_name = {fault.name: fault for fault in bcache.faults(site)}
    outcome = endure(by_name[CHOSEN], workers)
    site.reset()
    assert outcome.reached
    assert outcome.problems == []
