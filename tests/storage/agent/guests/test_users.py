from __future__ import annotations

from collections.abc import Sequence

import pytest

from storage.agent.guests import users
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


class Jailed(FakeHost):
    """A process whose node of the volume lies in a root of its own, on a file system of `kind`."""

    kind = "ext4"
    device = ""

    def link(self, path: str) -> str | None:
        known = {"/proc/900/fd/3": "/srv/jail/dev/vda", "/proc/900/ns/mnt": "mnt:[1]"}
        return known.get(path) or super().link(path)

    def list(self, path: str) -> Sequence[str]:
        if path == "/proc":
            return [*super().list(path), "900"]
        return ["3"] if path == "/proc/900/fd" else super().list(path)

    def read(self, path: str) -> bytes | None:
        known = {
            "/proc/900/fdinfo/3": "pos:\t0\nflags:\t0100002\nmnt_id:\t77\n",
            "/proc/900/mountinfo": f"77 1 8:1 /srv/jail / rw - {self.kind} /dev/sda1 rw\n",
            "/proc/900/comm": "firecracker\n",
            "/proc/900/cgroup": "0::/machine.slice\n",
            "/proc/900/cmdline": "firecracker\0",
        }
        return known[path].encode() if path in known else super().read(path)

    def rdev(self, path: str) -> str | None:
        if path == "/proc/900/fd/3":
            assert self.kind == "ext4", "a stat there could hang"
            return self.device
        return super().rdev(path)


@pytest.mark.parametrize(("kind", "seen"), [("ext4", True), ("nfs4", False), ("fuse.sshfs", False)])
def test_a_hypervisor_with_nodes_of_its_own_uses_the_volume(kind: str, seen: bool) -> None:
    host = Jailed()
    host.kind = kind
    lv = host.root.add_lv("data", 64 << 20)
    host.device = f"253:{lv.minor}"
    found = users.of_devices(host, [host.device])[host.device]
    assert found == ([users.user("process", "firecracker", pid=900)] if seen else [])
