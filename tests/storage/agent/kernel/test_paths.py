"""Paths from configurations lead to devices, and never into a file system that may hang."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.agent.guests.users import of_devices
from storage.agent.kernel.paths import Paths, mounts
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost

MOUNTS = """22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
23 22 0:5 / /dev rw,nosuid shared:2 - devtmpfs udev rw,size=4k
24 22 0:50 / /mnt/images rw shared:3 - nfs4 10.0.0.9:/images rw,hard
25 22 0:51 / /etc/pve rw shared:4 - fuse /dev/fuse rw
26 22 0:52 / /mnt/with\\040room rw shared:5 - fuse.sshfs backup: rw
27 24 254:2 / /mnt/images/local rw shared:6 - ext4 /dev/vdb1 rw
"""
LINKS = {
    "/srv/web12": "/dev/vg0/web12",
    "/srv/near": "../dev/vg0/web12",
    "/srv/far": "/mnt/images/web12",
    "/srv/folder": "/mnt/images",
    "/srv/round": "/srv/round",
}


class Disk:
    """A host of which only links, devices and mounts are asked; what hangs fails the test."""

    def read(self, path: str) -> bytes:
        assert path == "/proc/self/mountinfo"
        return MOUNTS.encode()

    def link(self, path: str) -> str | None:
        self._alive(path)
        return LINKS.get(path)

    def rdev(self, path: str) -> str | None:
        self._alive(path)
        return "254:3" if path == "/dev/vg0/web12" else None

    def _alive(self, path: str) -> None:
        assert not path.startswith(("/mnt/images", "/mnt/with room", "/etc/pve")), path


@pytest.mark.parametrize(
    "path", ["/dev/vg0/web12", "/srv/web12", "/srv/near", "/srv/../srv//./web12"]
)
def test_a_local_path_leads_to_its_device(path: str) -> None:
    assert Paths(Disk()).device(path) == "254:3"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "path",
    [
        "/mnt/images/web12",
        "/mnt/images",
        "/mnt/images/local/web12",
        "/srv/far",
        "/srv/folder/web12",
        "/dev/../mnt/images/web12",
        "/mnt/with room/web12",
        "/etc/pve/web12",
        "/srv/round",
        "/srv/disk.img",
        "web12",
        "nbd://10.0.0.9/web12",
        "",
    ],
)
def test_what_may_hang_or_is_no_device_is_left_alone(path: str) -> None:
    assert Paths(Disk()).device(path) is None  # type: ignore[arg-type]


def test_the_file_system_on_top_counts_and_names_are_unescaped() -> None:
    below = "24 22 0:50 / /mnt/images rw - ext4 /dev/vdc rw\n"
    found = mounts(below + MOUNTS + "a line that is none\n")
    assert found["/mnt/images"] == "nfs4"
    assert found["/mnt/with room"] == "fuse.sshfs"


def test_a_guest_with_one_disk_on_a_dead_server_still_uses_its_other(
    make_fake_host: Callable[..., FakeHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_fake_host()
    volume = Agent(FakeWorld(host)).volume()
    disks = [f"<disk><source dev='/dev/vg0/{volume}'/><target dev='vda'/></disk>"]
    disks += ["<disk><source file='/mnt/images/b'/><target dev='vdb'/></disk>"]
    domain = f"<domain><name>web12</name><devices>{''.join(disks)}</devices></domain>"
    host.save("/etc/libvirt/qemu/web12.xml", domain.encode())
    host.save("/mnt/images/b", b"an image")
    rdev, read = host.rdev, host.read

    def watched(path: str) -> str | None:
        assert not path.startswith("/mnt/"), "the agent would hang here"
        return rdev(path)

    monkeypatch.setattr(host, "rdev", watched)
    monkeypatch.setattr(
        host, "read", lambda path: MOUNTS.encode() if path.endswith("mountinfo") else read(path)
    )
    device = rdev(f"/dev/vg0/{volume}")
    assert device is not None
    [user] = of_devices(host, [device])[device]
    assert (user["kind"], user["name"], user["disk"]) == ("libvirt", "web12", "vda")
