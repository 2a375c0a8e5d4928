"""On the lab: programs of a guest that keep their callers waiting, or answer with rubbish."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.contract.client import MIB, VOLUME_BYTES, Agent
from tests.contract.lab_world import LabWorld
from tests.hostile.ending import ends

MORE = 32 * MIB

pytestmark = [
    pytest.mark.lab,
    pytest.mark.thorough,
    pytest.mark.xdist_group("lab"),
    pytest.mark.timeout(900),
]

XML = (
    "<domain><name>web12</name><uuid>{uuid}</uuid><devices><disk type='block'>"
    "<driver name='qemu' type='raw'/><source dev='{path}'/><target dev='vda'/></disk>"
    "</devices></domain>"
)

# A program that is called as QEMU is, holds the disk, and has a monitor that never comes to an end.
QEMU = "/usr/local/bin/qemu-system-x86_64"
MONITOR = """
import itertools, socket, sys
disk = open(sys.argv[1], "rb")
channel = socket.socket(socket.AF_UNIX)
channel.bind(sys.argv[2])
channel.listen()
open(sys.argv[2] + ".up", "w").close()
while True:
    client, _ = channel.accept()
    try:
        client.sendall(b'{"QMP": {}}\\r\\n{"return": {}}\\r\\n')
        for _ in itertools.count():
            client.sendall({{rubbish}} * 4096)
    except OSError:
        client.close()
"""
RUBBISH = {
    "a line without an end": b"x",
    "lines that are no JSON": b"}{\n",
    "events without an end": b'{"event": "STOP"}\n',
    "JSON that nests": b"[",
}


@pytest.fixture
def world(lab_world: LabWorld) -> Iterator[LabWorld]:
    lab_world.reset()
    yield lab_world
    lab_world.lab.run(f"rm -rf /etc/libvirt /run/libvirt /usr/sbin/virsh {QEMU} /run/hostile.*")
    lab_world.reset()


def growth_args(world: LabWorld, agent: Agent, volume: str) -> dict[str, object]:
    """The volume has grown; what guest.resize needs beside those who are to be notified."""
    size = {"lv": volume, "from_bytes": VOLUME_BYTES, "size_bytes": VOLUME_BYTES + MORE}
    agent.do("volume.extend", {**size, "pvs": [world.slow[0]], "volume_key": volume[2:]})
    return size


@contextmanager
def held(world: LabWorld, command: str) -> Iterator[None]:
    """A process of the guest, as long as the block lasts."""
    world.lab.run(f"systemd-run -q --collect --unit=guest-web12 --service-type=exec -- {command}")
    try:
        yield
    finally:
        world.lab.run("systemctl kill -s KILL guest-web12; systemctl stop guest-web12; true")


def test_a_libvirt_that_hangs_keeps_no_one_from_the_group(world: LabWorld) -> None:
    agent = Agent(world)
    volume = agent.volume()
    path, domain = f"/dev/vg0/{volume}", str(uuid.uuid4())
    world.lab.run("mkdir -p /etc/libvirt/qemu /run/libvirt/qemu")
    xml = XML.format(uuid=domain, path=path)
    world.lab.shell.write("/etc/libvirt/qemu/web12.xml", xml)
    world.lab.shell.write("/run/libvirt/qemu/web12.xml", f"<domstatus>{xml}</domstatus>")
    world.lab.shell.write("/usr/sbin/virsh", "#!/bin/sh\nexec sleep 3600\n", 0o755)
    qemu = (
        f"qemu-system-x86_64 -S -name guest=web12 -uuid {domain} -nodefaults -no-user-config "
        f"-display none -machine pc,accel=tcg -m 32 -drive file={path},if=virtio,format=raw"
    )
    with held(world, qemu):
        size = growth_args(world, agent, volume)
        op = agent.start("guest.resize", {**size, "domains": [{"uuid": domain, "path": path}]})
        agent.volume()
        assert agent.data("op.get", {"op": op, "after": 0})["state"] == "running"
        outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "guest_busy")
    # As long as libvirt has the guest, its disk is in use.
    world.lab.run("rm -r /etc/libvirt /run/libvirt")
    ends(agent, volume, "plain")


@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH.keys())
def test_a_monitor_that_never_ends_keeps_no_one_from_the_group(
    world: LabWorld, rubbish: bytes
) -> None:
    agent = Agent(world)
    volume = agent.volume()
    script = MONITOR.replace("{{rubbish}}", repr(rubbish))
    world.lab.shell.write("/run/hostile.py", script)
    world.lab.run(f"cp -L /usr/bin/python3 {QEMU}")
    arguments = f"/dev/vg0/{volume} /run/hostile.qmp -S -name web12"
    drive = f"-drive file=/dev/vg0/{volume},if=virtio,format=raw"
    monitor = "-qmp unix:/run/hostile.qmp,server=on,wait=off"
    qemu = f"env PYTHONHOME=/usr {QEMU} /run/hostile.py {arguments} {drive} {monitor}"
    with held(world, qemu):
        world.lab.run("until [ -e /run/hostile.qmp.up ]; do sleep 0.2; done")
        size = growth_args(world, agent, volume)
        op = agent.start("guest.resize", {**size, "guests": ["web12"]})
        agent.volume()
        outcome = agent.outcome(op)
    assert outcome["state"] == "failed", outcome
    ends(agent, volume, "plain")
