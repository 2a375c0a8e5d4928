"""The lab's own start, booted or woken: what must be new each time is new."""

from __future__ import annotations

import time

import pytest

from tests.lab import standby
from tests.lab.image import ensure
from tests.lab.vm import Lab, quiet, uses_kvm

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab"), pytest.mark.timeout(900)]


def test_it_has_keys_an_identity_and_the_time_of_this_start(lab: Lab) -> None:
    told = lab.run(
        "date +%s; cat /etc/machine-id; cat /root/.ssh/authorized_keys "
        "/etc/ssh/ssh_host_ed25519_key.pub"
    ).stdout.split("\n")
    assert abs(int(told[0]) - time.time()) < 5
    assert len(told[1]) == 32
    assert told[2:4] == [
        lab.keys.client.with_suffix(".pub").read_text().strip(),
        lab.keys.host_public,
    ]


def test_the_next_start_need_not_boot(lab: Lab) -> None:
    assert standby.of(ensure(quiet).root.parent).exists or uses_kvm()
