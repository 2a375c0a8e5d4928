"""The fake host behind its SSH server, as a machine of the tests."""

from __future__ import annotations

import hashlib
import re
import shlex
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jobs.hosts.trust import key_fingerprint
from tests.contract.fake_world import FakeWorld
from tests.fake.host import FakeHost, Pause
from tests.fake.parts import EXTENT, GIB, Disk
from tests.fake.server import FakeServer
from tests.integration.machine import Argv

REACH_SECONDS = 30


class HeldPause:
    def __init__(self, pause: Pause) -> None:
        self._pause = pause

    def wait(self) -> None:
        assert self._pause.reached.wait(REACH_SECONDS), "the program was never run"

    def resume(self) -> None:
        self._pause.resume()


class FakeMachine:
    """Begins observe-only."""

    name = "fake"
    address = "127.0.0.1"

    def __init__(self, host: FakeHost, server: FakeServer) -> None:
        self.host = host
        self.server = server
        self.world = FakeWorld(host)

    @property
    def port(self) -> int:
        return self.server.port

    def panel_url(self, port: int) -> str:
        return f"http://localhost:{port}"

    def paste(self, line: str) -> None:
        """What the script does: fetch it, check the agent, let the key in, report."""
        match = re.fullmatch(r"curl -fsS (\S+) \| sh", line)
        assert match, line
        script = fetch(match[1]).decode()
        lines = dict(re.findall(r"(?m)^(url|agent_sha256|public_key)=(.*)$", script))
        values = {name: shlex.split(value)[0] for name, value in lines.items()}
        agent = fetch(f"{values['url']}/agent.pyz")
        assert hashlib.sha256(agent).hexdigest() == values["agent_sha256"]
        self.server.authorize(values["public_key"])
        report = {
            "machine_id": self.host.machine.machine_id,
            "host_key": self.server.host_key,
            "port": "22",
        }
        fetch(values["url"], urllib.parse.urlencode(report).encode())

    def run(self, argv: Argv) -> None:
        done = self.host.run(argv, timeout=None)
        assert done.rc == 0, done

    def fingerprint(self) -> str:
        return key_fingerprint(self.server.host_key)

    def allow(self, vg: str) -> None:
        self.world.allow([vg])

    def forbid_all(self) -> None:
        self.world.allow([])

    def lvs(self) -> set[str]:
        vg = self.host.machine.vg("vg0")
        return {lv.name for lv in vg.lvs} if vg else set()

    def executed(self) -> list[str]:
        return [line(argv) for argv in self.host.executed]

    def as_executed(self, argvs: Sequence[Argv]) -> list[str]:
        return [line(argv) for argv in argvs]

    @contextmanager
    def hold(self, program: str) -> Iterator[HeldPause]:
        pause = self.host.pause_next(program)
        try:
            yield HeldPause(pause)
        finally:
            pause.resume()

    def cut(self) -> None:
        self.server.cut()

    def digest(self, lv: str, size_bytes: int) -> str:
        """The model knows of each extent only whether there is data in it."""
        runs = self.host.root.lv(lv).bottom.runs
        extents = [(run.pv, run.first + n) for run in runs for n in range(run.count)]
        taken = extents[: size_bytes // EXTENT]
        return "".join("x" if extent in pv.stale else "0" for pv, extent in taken)

    def write(self, lv: str, size_bytes: int) -> None:
        self.host.root.scribble(self.host.root.lv(lv))

    @contextmanager
    def kept_dirty(self, lv: str) -> Iterator[None]:
        """An idle cache writes back at once."""
        with self.load(lv):
            self.world.make_dirty(lv)
            yield

    @contextmanager
    def spare_ssd(self) -> Iterator[tuple[str, str]]:
        spare = Disk("sde", 4 * GIB, False, "LAB-SSD", "ssd2", minor=64)
        with self.host.changing() as machine:
            machine.disks.append(spare)
        yield spare.name, str(spare.serial)
        with self.host.changing() as machine:
            machine.disks.remove(spare)
            for vg in machine.vgs:
                vg.pvs = [pv for pv in vg.pvs if pv.device is not spare]

    @contextmanager
    def load(self, lv: str) -> Iterator[None]:
        load = self.host.root.load(lv, hit_rate=0.97, warm_up_seconds=0.5)
        try:
            yield
        finally:
            self.host.root.stop_load(load)


def line(argv: Argv) -> str:
    """A command as one line. Which dm-N an LV is, only the host knows: its sysfs path begins after
    the device."""
    return " ".join(re.sub(r"^/sys/block/[^>/]*(/[^>/]*>)?/bcache/", "bcache/", w) for w in argv)


def fetch(url: str, data: bytes | None = None) -> bytes:
    with urllib.request.urlopen(url, data, timeout=30) as reply:
        content: bytes = reply.read()
    return content
