"""Kernel gates at the command line, at a live panel."""

from __future__ import annotations

from pathlib import Path

import pytest

from panel.cli.exit_codes import ExitCode
from panel.models import User
from storage.byte_sizes import GIB
from storage.models import Gate, Host
from tests.panel.cli.conftest import Tiercel
from tests.scene import Scene, scene

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def here(admin: User) -> Scene:
    made = scene()
    hello = {
        "kernel": "6.1.0-28-amd64",
        "boot_id": "one",
        "policy": {"vgs": ["vg0"]},
        "benchmarks": {"quota_bytes": 64 * GIB, "fio": "3.33"},
    }
    Host.objects.update(hello=hello)
    return made


def test_a_gate_is_ordered_shown_and_planned(tiercel: Tiercel, here: Scene, tmp_path: Path) -> None:
    host = here.host.name
    made = tiercel("gate", "order", host, "--target", "hdd", "--data", "1G", "--minutes", "1")
    assert made.code == 0 and "another kernel against 6.1.0-28-amd64" in made.out
    gate = Gate.objects.get()
    assert gate.benchmark.matrix.seconds == 60 and gate.boots_a_side is None
    key = gate.benchmark.key
    assert f"Kernel gate of {host}" in tiercel("gate", "list", "--host", host).out
    plan = {"boots_a_side": 6, "runs_a_boot": 2, "slower": 0.1, "power": 0.95, "seconds": 7200.0}
    Gate.objects.update(plans=[plan])
    assert "--slower 10: 6 boots of each kernel, 2 h" in tiercel("gate", "show", key).out
    assert tiercel("gate", "plan", key, "--slower", "10").code == 0
    assert Gate.objects.get().boots_a_side == 6
    assert tiercel("gate", "accept", key, "--reason", "x").code == ExitCode.REFUSED
    assert tiercel("gate", "skip", key, "6.5").code == ExitCode.REFUSED
    kernels = tmp_path / "kernels"
    kernels.write_text("6.1\n6.5\n")
    refused = tiercel("gate", "bisect", key, str(kernels), "--target", "hdd")
    assert refused.code == ExitCode.REFUSED
