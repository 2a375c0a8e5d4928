"""The simulated host as a process of its own, for machines that cannot run the lab."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from panel.operations.local_services import CHECKOUT
from tests.demo.furniture import Tenant

SIMULATED_IOPS = 5000
SIMULATED_HIT_RATE = 0.97
STOP_SECONDS = 10


class FakeDemoHost:
    """A context manager: the process ends with it."""

    kind = "fake"
    address = "127.0.0.1"
    panel_address = "127.0.0.1"

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="tiercel-fake-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fake", "--state-dir", self._folder.name],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._machine: dict[str, Any] = json.loads(self._process.stdout.readline())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    @property
    def port(self) -> int:
        return int(self._machine["port"])

    def wait_until_up(self) -> None:
        """It is up from the start."""

    def furnish(self, tenants: Sequence[Tenant], seconds: int) -> None:
        for tenant in tenants:
            for command in tenant.commands():
                self._order(run=command)
            if tenant.guest:
                self._order(guest=tenant.guest, lv=tenant.lv)
            if tenant.read_iops:
                self._order(load=tenant.lv, iops=tenant.read_iops, hit_rate=SIMULATED_HIT_RATE)

    def paste(self, line: str) -> None:
        """What the enrolment script does, without a machine to install anything on: take the
        panel's key from the script, and report."""
        url = next(word for word in shlex.split(line) if word.startswith("http"))
        with urllib.request.urlopen(url, timeout=30) as reply:
            script = reply.read().decode()
        key = next(
            value.strip("'")
            for name, _, value in (text.partition("=") for text in script.splitlines())
            if name == "public_key"
        )
        (Path(self._folder.name) / "authorized_keys").write_text(key + "\n")
        report = {
            "machine_id": self._machine["machine_id"],
            "host_key": self._machine["host_key"],
            "port": str(self.port),
        }
        with urllib.request.urlopen(url, urllib.parse.urlencode(report).encode(), timeout=30):
            pass

    def host_key(self) -> str:
        return str(self._machine["host_key"])

    def allow(self, vg: str) -> None:
        self._order(allow_vg=vg)

    def serve(self, guest_name: str, lv_name: str, device: str, seconds: int) -> None:
        self._order(guest=guest_name, lv=lv_name)
        self._order(load=lv_name, iops=SIMULATED_IOPS, hit_rate=SIMULATED_HIT_RATE)

    def _order(self, **order: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
