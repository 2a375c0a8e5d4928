"""The lab's own start, booted or woken: what must be new each time is new."""

from __future__ import annotations

import os
import time

import pytest

from tests.lab import clock, standby, vm
from tests.lab.image import ensure
from tests.lab.vm import Lab, quiet, uses_kvm

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab"), pytest.mark.timeout(900)]

# It is set by a command, which a busy machine runs that late.
LATE_SECONDS = 60


def test_it_has_keys_an_identity_and_the_time_of_this_start(lab: Lab) -> None:
    before = time.time()
    printed = lab.run(
        "date +%s; cat /etc/machine-id; cat /root/.ssh/authorized_keys "
        "/etc/ssh/ssh_host_ed25519_key.pub"
    ).stdout.split("\n")
    assert before - LATE_SECONDS < int(printed[0]) <= time.time() + 1
    assert len(printed[1]) == 32
    assert printed[2:4] == [
        lab.keys.client.with_suffix(".pub").read_text().strip(),
        lab.keys.host_public,
    ]


def test_the_next_start_need_not_boot(lab: Lab) -> None:
    assert standby.of(ensure(quiet).root.parent).exists or uses_kvm()


def test_its_clock_is_none_that_runs_away(lab: Lab) -> None:
    assert lab.run(f"cat {clock.SOURCE}").stdout == "hpet\n" or uses_kvm()


@pytest.mark.thorough
def test_a_quick_clock_that_runs_away_gives_way_to_one_that_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vm, "KERNEL_LINE", f"{vm.KERNEL_LINE} tsc_early_khz=224000")
    monkeypatch.setattr(standby.Standby, "exists", False)
    monkeypatch.setattr(standby.Standby, "keep", lambda *_: None)
    with Lab(f"fast-{os.getpid()}", quick_clock=True) as lab:
        began = clock.read(lab.shell)
        time.sleep(5)
        assert not clock.strays(began, clock.read(lab.shell))
        assert abs(float(lab.run("date +%s").stdout) - time.time()) < 10
