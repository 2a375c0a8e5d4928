from __future__ import annotations

import pytest

from storage.agent import users
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host
from tests.fake.hands import Hands
from tests.fake.parts import Process


def users_of_a_volume(fake_host: FakeHost, comm: str, cgroup: str) -> list[users.User]:
    """Who uses a volume that one process has open."""
    lv = Hands(fake_host).add_lv("data", 64 << 20)
    with fake_host.changing() as machine:
        machine.processes.append(Process(4711, comm, [comm], [lv.path], cgroup=cgroup))
    device = f"253:{lv.minor}"
    return users.of_devices(fake_host, [device])[device]


def test_a_program_with_a_volume_open_uses_it(fake_host: FakeHost) -> None:
    found = users_of_a_volume(fake_host, "dd", "/user.slice/user-0.slice/session-1.scope")
    assert found == [users.user("process", "dd", pid=4711)]


def test_a_containers_own_udev_does_not_hide_who_uses_a_volume(fake_host: FakeHost) -> None:
    inside = "/lxc/101/system.slice/systemd-udevd.service"
    found = users_of_a_volume(fake_host, "probe-bcache", inside)
    assert found == [users.user("process", "probe-bcache", pid=4711)]


@pytest.mark.parametrize(
    "cgroup", ["/system.slice/systemd-udevd.service", "/system.slice/systemd-udevd.service/udev"]
)
def test_what_udev_runs_lets_go_at_once_and_uses_nothing(fake_host: FakeHost, cgroup: str) -> None:
    assert users_of_a_volume(fake_host, "probe-bcache", cgroup) == []
