"""`python -m tests.fake.crowd --volumes 10 --key "ssh-ed25519 …"`: many hosts in one
process behind one SSH server, each an account (`account`), which answer `sample` and nothing else.

It is for what many hosts cost the panel, so it does as little as it can: all hosts have the same
load, and a reply is one text in which a host's name and time are put. Prints one JSON line {"port",
"host_key"}; a line on stdin is answered with one {"requests", "connections", "cpu_seconds",
"askers"}, and with the end of stdin it ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from typing import Any, Final

import asyncssh

from storage.naming import AGENT_PATH
from tests.storage import wire

BOOT: Final = "b0000000-0000-4000-8000-000000000000"
UP_SECONDS: Final = 500_000
AS_GOOD_AS_NOW: Final = 0.05
"""A text is used for so many seconds; the time that it says is exact."""
ID = re.compile(rb'"id": ?"([0-9A-Za-z:._-]{1,64})"')
DISKS: Final = tuple(f"sd{letter}" for letter in "abcdefgh")
READS_A_SECOND: Final = 120
"""Of each volume, always."""


def account(host: int) -> str:
    """The account of that host."""
    return f"host{host}"


def lv_uuid(host: int, volume: int) -> str:
    """Of a volume of that host."""
    return f"host{host:06d}-volume-{volume:06d}"


class Crowd:
    """What all of them say."""

    def __init__(self, volumes: int) -> None:
        self.volumes = volumes
        self.requests = 0
        self.connections = 0
        self.askers: dict[str, set[str]] = {}
        """By account: the addresses from which it was asked."""
        self._text = ""
        self._made_at = -1.0

    def answer(self, name: str, line: bytes, asker: str) -> bytes:
        """The reply line of the host with that account, to who asks from that address."""
        self.requests += 1
        self.askers.setdefault(name, set()).add(asker)
        match = ID.search(line)
        assert match is not None, line
        elapsed = time.monotonic()
        if elapsed - self._made_at > AS_GOOD_AS_NOW:
            self._text, self._made_at = json.dumps(self._data(elapsed)), elapsed
        number = int(name.removeprefix("host"))
        stamp = {
            "boot_id": BOOT,
            "boottime_ns": int((UP_SECONDS + elapsed) * 1e9),
            "wall_ns": time.time_ns(),
            "agent": "0.1.0",
        }
        head = {"v": 1, "id": match[1].decode(), "ok": True, "warnings": [], "host": stamp}
        data = self._text.replace("host@", f"host{number:06d}")
        return f'{json.dumps(head)[:-1]}, "data": {data}}}\n'.encode()

    def _data(self, elapsed: float) -> dict[str, Any]:
        """Counters that have risen as long as this machine runs: a third without a cache."""
        done = int((UP_SECONDS + elapsed) * READS_A_SECOND / 2)
        disk = wire.disk(
            reads=2 * done, read_sectors=64 * done, read_ms=5 * done % 2**32, writes=done,
            write_sectors=24 * done, write_ms=3 * done % 2**32, busy_ms=4 * done % 2**32,
            weighted_ms=8 * done % 2**32, flushes=done // 50,
        )  # fmt: skip
        hits = {
            "read_hits": 3 * done // 2 % 2**32, "read_misses": done // 2 % 2**32,
            "write_hits": done // 2 % 2**32, "write_misses": done // 2 % 2**32,
            "promotions": done // 20 % 2**32, "demotions": done // 25 % 2**32,
        }  # fmt: skip
        cache = wire.cache(used=9000, dirty=12, origin=disk, cdata=disk, **hits)
        latency = wire.latency(done, done // 2, done // 2, done // 4, done // 4, done // 2)
        volumes = [
            wire.volume(
                f"host@-volume-{n:06d}", kname=f"dm-{n}", name=f"vg0-web{n}", disk=disk,
                cache=cache if n % 3 else None, latency=latency,
            )
            for n in range(self.volumes)
        ]  # fmt: skip
        disks = [{"name": name, "disk": disk} for name in DISKS]
        return wire.sample(*volumes) | {"disks": disks, "arrays": []}


class _Server(asyncssh.SSHServer):
    def __init__(self, crowd: Crowd, key: str) -> None:
        self._crowd, self._key = crowd, key

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._crowd.connections += 1

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return key.export_public_key().decode().split()[1] == self._key.split()[1]


async def serve(crowd: Crowd, key: str, address: str) -> asyncssh.SSHAcceptor:
    """Listen on a port of that address; the key opens every account."""
    own = asyncssh.generate_private_key("ssh-ed25519")

    async def session(process: asyncssh.SSHServerProcess[bytes]) -> None:
        name = process.get_extra_info("username")
        asker = process.get_extra_info("peername")[0]
        asked_for = process.command or ""
        try:
            while line := await process.stdin.readline():
                process.stdout.write(crowd.answer(name, line, asker))
                if AGENT_PATH not in asked_for:
                    break
        except asyncssh.Error:
            pass
        process.exit(0)

    acceptor = await asyncssh.listen(
        address, 0, server_factory=lambda: _Server(crowd, key), server_host_keys=[own],
        process_factory=session, encoding=None, backlog=1000,
    )  # fmt: skip
    host_key = " ".join(own.export_public_key().decode().split()[:2])
    print(json.dumps({"port": acceptor.get_port(), "host_key": host_key}), flush=True)
    return acceptor


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fake.crowd", description=__doc__)
    parser.add_argument("--volumes", type=int, default=10)
    parser.add_argument("--key", required=True)
    parser.add_argument("--address", default="127.0.0.1")
    options = parser.parse_args()
    crowd = Crowd(options.volumes)
    await serve(crowd, options.key, options.address)
    while await asyncio.to_thread(sys.stdin.readline):
        figures = {
            "requests": crowd.requests,
            "connections": crowd.connections,
            "cpu_seconds": round(time.process_time(), 3),
            "askers": {name: sorted(each) for name, each in crowd.askers.items()},
        }
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
