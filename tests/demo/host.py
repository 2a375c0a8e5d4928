"""The demo's storage host: the lab machine, or the simulated host where no machine can run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Protocol

from tests.demo.fakehost import FakeDemoHost
from tests.demo.furniture import Tenant
from tests.lab import guest, load
from tests.lab.packages import LabUnavailable
from tests.lab.vm import Lab

LAB_NAME = "demo"
WORKING_SET_MIB = 256
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

    def furnish(self, tenants: Sequence[Tenant], seconds: int) -> None:
        """Make what is there before Tiercel: volumes, caches, guests, reads for `seconds`."""

    def paste(self, line: str) -> None:
        """Run the enrolment command as root on the host."""

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

    def furnish(self, tenants: Sequence[Tenant], seconds: int) -> None:
        script = [shlex.join(command) for tenant in tenants for command in tenant.commands()]
        self.lab.run("set -e\n" + "\n".join(script))
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda tenant: self._occupy(tenant, seconds), tenants))

    def _occupy(self, tenant: Tenant, seconds: int) -> None:
        if tenant.guest:
            guest.start(self.lab, tenant.guest, tenant.device)
        if tenant.read_iops:
            load.read_hot(
                self.lab, tenant.guest, tenant.device,
                runtime_seconds=seconds, limit_iops=tenant.read_iops,
            )  # fmt: skip

    def paste(self, line: str) -> None:
        self.lab.run(line)

    def host_key(self) -> str:
        return self.lab.keys.host_public.strip()

    def allow(self, vg: str) -> None:
        self.lab.run([AGENT, "allow-vg", vg])
        self.lab.run([AGENT, "hide-guests"])

    def serve(self, guest_name: str, lv_name: str, device: str, seconds: int) -> None:
        guest.start(self.lab, guest_name, device)
        load.read_hot(
            self.lab, guest_name, device, runtime_seconds=seconds, first_mib=WORKING_SET_MIB
        )
        load.wait_until_reading(self.lab, device)


def start(stack: ExitStack) -> DemoHost:
    """The lab, which begins to boot; where it cannot run, the simulated host, and why. Either
    ends with the stack."""
    lab = Lab(LAB_NAME, say=_say, quick_clock=True)
    try:
        lab.start()
    except LabUnavailable as reason:
        _say(f"{reason}\nUsing the simulated host instead; every page says so.")
        return stack.enter_context(FakeDemoHost())
    stack.callback(lab.shutdown)
    return LabHost(lab)


def _say(message: str) -> None:
    print(f"         {message}", flush=True)
