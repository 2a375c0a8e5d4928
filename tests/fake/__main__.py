"""`python -m tests.fake`: one fake host behind SSH, for a demo where no lab can run.

Prints one JSON line {"port", "host_key", "machine_id", "hostname"}, then reads one JSON order a
line from stdin until that closes: {"allow_vg": VG}, {"run": ARGV} as root would,
{"guest": NAME, "lv": LV} or {"load": LV, "iops": 5000, "hit_rate": 0.97}. It begins observe-only.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import asyncssh

from tests.fake.host import FakeHost
from tests.fake.server import FakeServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fake", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", default="demo")
    parser.add_argument("--state-dir", type=Path, required=True, help="host key, authorized_keys")
    options = parser.parse_args()
    options.state_dir.mkdir(parents=True, exist_ok=True)
    key_file = options.state_dir / "host_key"
    if not key_file.exists():
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(key_file)
        key_file.chmod(0o600)
    host = FakeHost(options.seed, real_time=True, observe_only=True)
    with FakeServer(
        host, port=options.port, host_key=key_file.read_text(),
        authorized_keys_file=options.state_dir / "authorized_keys",
    ) as server:  # fmt: skip
        print(
            json.dumps(
                {
                    "port": server.port, "host_key": server.host_key,
                    "machine_id": host.machine.machine_id, "hostname": host.hostname(),
                }
            ),
            flush=True,
        )  # fmt: skip
        for line in sys.stdin:
            obey(host, json.loads(line))


def obey(host: FakeHost, order: dict[str, object]) -> None:
    """One order; raises KeyError for an LV that is not there."""
    if "allow_vg" in order:
        host.save("/etc/tiercel/agent.json", json.dumps({"vgs": [order["allow_vg"]]}).encode())
    elif "run" in order:
        words = order["run"]
        assert isinstance(words, list)
        host.run(words, timeout=None)
    elif "guest" in order:
        host.root.guest(str(order["guest"]), host.root.device(str(order["lv"])))
    elif "load" in order:
        host.root.load(
            str(order["load"]), float(str(order.get("iops", 5000))),
            float(str(order.get("hit_rate", 0.97))),
        )  # fmt: skip


if __name__ == "__main__":
    main()
