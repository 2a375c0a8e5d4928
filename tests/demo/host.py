"""The demo's storage host: the lab machine, or the simulated host where no machine can run."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Protocol

from tests.demo.fakehost import FakeDemoHost
from tests.lab import guest, load
from tests.lab.packages import LabUnavailable
from tests.lab.vm import Lab

LAB_NAME = "demo"
AGENT = "/usr/lib/tiercel/agent.pyz"


class DemoHost(Protocol):
    """What the demo needs of a host. `panel_address` is how the host reaches this machine;
    a device is named as in the panel, below /dev."""

    kind: str
    address: str
    panel_address: str

    @property
    def port(self) -> int:
        """Where sshd listens."""

    def wait_until_up(self) -> None:
        """Return once it takes commands."""

    def paste(self, line: str) -> None:
        """Run the enrolment line as root on the host."""

    def host_key(self) -> str:
        """The host's public key, read from the host itself rather than from the network."""

    def allow(self, vg: str) -> None:
        """Let Tiercel change a volume group, as root on the host."""

    def serve(self, guest_name: str, lv_name: str, device: str, seconds: int) -> None:
        """Start a guest that holds the device open, and bounded reads as it would make them."""


class LabHost:
    """The lab machine."""

    kind = "lab"
    address = "127.0.0.1"
    panel_address = Lab.panel_address

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    @property
    def port(self) -> int:
        return self.lab.ssh_port

    def wait_until_up(self) -> None:
        self.lab.wait_until_up()

    def paste(self, line: str) -> None:
        self.lab.run(line)

    def host_key(self) -> str:
        return self.lab.keys.host_public.strip()

    def allow(self, vg: str) -> None:
        self.lab.run([AGENT, "allow-vg", vg])

    def serve(self, guest_name: str, lv_name: str, device: str, seconds: int) -> None:
        guest.start(self.lab, guest_name, device)
        load.read_hot(self.lab, guest_name, device, runtime_seconds=seconds)
        load.wait_until_reading(self.lab, device)


def start(stack: ExitStack) -> DemoHost:
    """The lab, which begins to boot; where it cannot run, the simulated host, and why. Either
    ends with the stack."""
    lab = Lab(LAB_NAME, say=_say)
    try:
        lab.start()
    except LabUnavailable as reason:
        _say(f"{reason}\nUsing the simulated host instead; every page says so.")
        return stack.enter_context(FakeDemoHost())
    stack.callback(lab.shutdown)
    return LabHost(lab)


def _say(message: str) -> None:
    print(f"         {message}", flush=True)
