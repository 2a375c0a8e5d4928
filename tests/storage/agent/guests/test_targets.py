"""Devices that the kernel serves by itself, or that this host's tables name."""

from __future__ import annotations

import pytest

from storage.agent.guests import users
from tests.contract.client import MIB, Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host

CONFIG = "/sys/kernel/config"
USES = [
    (f"{CONFIG}/nvmet/subsystems/shop/namespaces/1/device_path", "{}", "nvmet", "shop/1"),
    (f"{CONFIG}/target/core/iblock_0/shop/udev_path", "{}", "lio", "shop"),
    ("/etc/fstab", "# none\n{} /srv ext4 noauto 0 0\n", "fstab", "/srv"),
    ("/etc/crypttab", "shop {} none luks\n", "crypttab", "shop"),
    ("/etc/drbd.d/shop.res", "resource shop {{\n  disk {};\n}}\n", "drbd", "shop"),
    (
        "/etc/target/saveconfig.json",
        '{{"storage_objects": [{{"dev": "{}", "plugin": "block"}}]}}',
        "lio",
        "/etc/target/saveconfig.json",
    ),
    (
        "/etc/nvmet/config.json",
        '{{"subsystems": [{{"namespaces": [{{"device": {{"path": "{}"}}}}]}}]}}',
        "nvmet",
        "/etc/nvmet/config.json",
    ),
]


def of(host: FakeHost, name: str) -> list[tuple[str, str]]:
    lv = host.root.lv(name)
    device = f"253:{lv.minor}"
    found = users.of_devices(host, [device])[device]
    return [(each["kind"], each["name"]) for each in found]


@pytest.mark.parametrize(("file", "content", "kind", "name"), USES)
def test_what_serves_or_names_a_volume_uses_it(
    fake_host: FakeHost, file: str, content: str, kind: str, name: str
) -> None:
    fake_host.root.add_lv("web12", 64 * MIB)
    fake_host.save(file, content.format("/dev/vg0/web12").encode())
    assert of(fake_host, "web12") == [(kind, name)]


def test_a_table_names_a_volume_by_the_uuid_of_its_file_system(fake_host: FakeHost) -> None:
    lv = fake_host.root.add_lv("web12", 64 * MIB)
    with fake_host.changing() as machine:
        machine.links["/dev/disk/by-uuid/1234-ABCD"] = f"../../{lv.kname}"
    fake_host.save("/etc/fstab", b"UUID=1234-ABCD /srv vfat defaults\n#/dev/vg0/web12 /x y\n")
    assert of(fake_host, "web12") == [("fstab", "/srv")]


def test_an_rnbd_device_is_in_use(fake_host: FakeHost) -> None:
    lv = fake_host.root.add_lv("web12", 64 * MIB)
    with fake_host.changing() as machine:
        here = "/sys/class/rnbd-server/ctl/devices/shop/block_dev"
        machine.links[here] = f"../../../../virtual/block/{lv.kname}"
        machine.links[f"/dev/{lv.kname}x"] = lv.path
    assert of(fake_host, "web12") == [("rnbd", "shop")]


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"[" * 5000, b"disk /dev/\nresource\n"])
@pytest.mark.parametrize("file", [file for file, *_ in USES])
def test_what_cannot_be_read_names_nothing(fake_host: FakeHost, file: str, content: bytes) -> None:
    fake_host.root.add_lv("web12", 64 * MIB)
    fake_host.save(file, content)
    assert of(fake_host, "web12") == []


def test_a_volume_that_is_served_is_not_retired(fake_host: FakeHost) -> None:
    agent = Agent(FakeWorld(fake_host))
    volume = agent.volume()
    fake_host.save(
        f"{CONFIG}/nvmet/subsystems/shop/namespaces/1/device_path", f"/dev/vg0/{volume}".encode()
    )
    with agent.unchanged():
        assert agent.refused("volume.retire", retirement(volume)) == "in_use"


@pytest.mark.parametrize("layout", ["plain", "bcache"])
def test_a_volume_that_does_io_is_not_retired_though_no_user_is_seen(
    fake_host: FakeHost, layout: str
) -> None:
    """A guest in a jail whose nodes and mounts this host does not see."""
    agent = Agent(FakeWorld(fake_host))
    volume = agent.volume() if layout == "plain" else agent.backing()
    fake_host.root.load(volume, 300)
    with agent.unchanged():
        assert agent.refused("volume.retire", retirement(volume, layout)) == "in_use"


def retirement(volume: str, layout: str = "plain") -> dict[str, str]:
    key = volume[2:]
    return {"lv": volume, "retired_name": f"del-{key}", "volume_key": key, "layout": layout}
