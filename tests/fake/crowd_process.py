"""`tests.fake.crowd` in a process of its own, and its hosts' records."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from panel.operations.local_services import CHECKOUT
from tests.fake import crowd

FILES: Final = 8192
"""Open at once: a connection of each host."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """The process with all the hosts; its one key pair opens every account."""

    process: subprocess.Popen[str]
    port: int
    host_key: str
    private_key: bytes
    public_key: str

    def figures(self) -> Mapping[str, Any]:
        """Requests, connections, CPU seconds and who asked, since it began."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer: Mapping[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@contextmanager
def crowd_of(
    volumes: int, *, address: str = "127.0.0.1", prefix: Sequence[str] = ()
) -> Iterator[Crowd]:
    """Hosts of so many volumes each; `prefix` is a command that runs the process elsewhere."""
    from jobs.transport import new_key_pair

    private_key, public_key = new_key_pair()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, FILES)), hard))
    process = subprocess.Popen(
        [*prefix, sys.executable, "-m", "tests.fake.crowd", f"--volumes={volumes}",
         f"--key={public_key}", f"--address={address}"],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        assert process.stdin is not None and process.stdout is not None
        there = json.loads(process.stdout.readline())
        yield Crowd(process, there["port"], there["host_key"], private_key, public_key)
    finally:
        process.terminate()
        process.wait()


def enrol(
    there: Crowd, hosts: int, volumes: int, *, address: str = "127.0.0.1", name: str = "crowd"
) -> list[Any]:
    """Records of that many hosts of the crowd with their volumes and disks."""
    from jobs.transport.key_encryption import seal
    from storage.models import Device, Host, Placement, Volume

    sealed = seal(there.private_key)
    made = Host.objects.bulk_create(
        Host(
            name=f"{name}{n}", address=address, port=there.port, account=crowd.account(n),
            state="active", machine_id=uuid.uuid4().hex, host_key=there.host_key,
            public_key=there.public_key, sealed_key=sealed,
        )
        for n in range(hosts)
    )  # fmt: skip
    for number, host in enumerate(made):
        placed = Volume.objects.bulk_create(
            Volume(label=f"{name}{number}-{n}", size_bytes=64 << 30) for n in range(volumes)
        )
        Placement.objects.bulk_create(
            Placement(
                volume=volume, host=host, vg_name="vg0", vg_uuid=f"vg{number}",
                lv_name=f"web{n}", lv_uuid=crowd.lv_uuid(number, n),
            )
            for n, volume in enumerate(placed)
        )  # fmt: skip
    Device.objects.bulk_create(
        Device(
            host=host, kind="disk", identity=f"{name}-{number}-{disk}", name=disk,
            boot_id=crowd.BOOT, size_bytes=4 << 40, is_fast=False,
        )
        for number, host in enumerate(made)
        for disk in crowd.DISKS
    )  # fmt: skip
    return made
