"""Short runs of benchmarks, for the tests of the contract."""

from __future__ import annotations

import base64
import gzip
import json
import time
from typing import Any

from storage.naming import new_key
from tests.contract.client import MIB, Agent
from tests.contract.world import World

SECONDS = 10
LIMIT_SECONDS = 300.0


def run_args(world: World, target: str, **more: Any) -> dict[str, Any]:
    """Arguments of a short run on the disks of the world."""
    args: dict[str, Any] = {
        "key": new_key(),
        "target": target,
        "data_bytes": 64 * MIB,
        "cache_bytes": 0,
        "state": "new",
        "profile": "zipf_read",
        "seconds": SECONDS,
        "seed": 7,
        "jobs": 2,
        "iodepth": 4,
        "block_bytes": 4096,
    }
    if target != "ssd":
        args["slow_pvs"] = [world.slow[0]]
    if target != "hdd":
        args["fast_pvs"] = ["md0"]
    if target in ("lvmcache", "bcache"):
        args |= {"cache_bytes": 16 * MIB, "mode": "writethrough"}
        args["chunk_kib"] = 64 if target == "lvmcache" else 16
    if target == "bcache":
        args["sequential_cutoff_kib"] = 0
    return args | more


def scratch(agent: Agent) -> set[str]:
    """Names of what runs made and have not removed, hidden parts too."""
    return {name for name in agent.names() if name.startswith("b-")}


def text_of(agent: Agent, key: str, name: str) -> str:
    """A whole file of a result, piece by piece."""
    data, offset = b"", 0
    while True:
        piece = agent.data("bench.read", {"key": key, "name": name, "offset": offset})
        data += gzip.decompress(base64.b64decode(piece["data"]))
        offset = piece["next"]
        if offset == piece["total"]:
            return data.decode()


def result_of(agent: Agent, key: str) -> dict[str, Any]:
    return dict(json.loads(text_of(agent, key, "run.json")))


def legs_of(agent: Agent, key: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text_of(agent, key, "legs.jsonl").splitlines()]


def measuring(agent: Agent, op: str) -> None:
    """Wait until fio has been measured for some seconds."""
    end = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        outcome = agent.data("op.get", {"op": op, "after": 0})
        assert outcome["state"] == "running", outcome
        if (outcome["progress"] or {}).get("label") == "measured":
            return
        time.sleep(agent.world.poll_seconds)
    raise AssertionError("nothing is measured")


def run(agent: Agent, args: dict[str, Any]) -> dict[str, Any]:
    """To its end, which must be good; what run.json says. Nothing else is left."""
    outcome = agent.outcome(agent.start("bench.run", args), 600)
    assert outcome["state"] == "done", outcome
    assert scratch(agent) == set()
    return result_of(agent, args["key"])
