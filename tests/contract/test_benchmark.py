"""bench.run and the results of runs."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from storage.naming import new_key
from tests.contract.client import MIB, Agent
from tests.contract.world import World

SECONDS = 10


@pytest.fixture(autouse=True)
def allowed(world: World) -> None:
    world.allow(["vg0"], benchmark_bytes=1 << 30)


def run_args(world: World, target: str, **more: Any) -> dict[str, Any]:
    args: dict[str, Any] = {
        "key": new_key(), "target": target, "data_bytes": 64 * MIB, "cache_bytes": 0,
        "state": "new", "profile": "zipf_read", "seconds": SECONDS, "seed": 7, "jobs": 2,
        "iodepth": 4, "block_bytes": 4096,
    }  # fmt: skip
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
    return {name for name in agent.names() if name.startswith("b-")}


def text_of(agent: Agent, key: str, name: str) -> str:
    """A whole file, piece by piece."""
    data, offset = b"", 0
    while True:
        piece = agent.data("bench.read", {"key": key, "name": name, "offset": offset})
        data += gzip.decompress(base64.b64decode(piece["data"]))
        offset = piece["next"]
        if offset == piece["total"]:
            return data.decode()


def run(agent: Agent, args: dict[str, Any]) -> dict[str, Any]:
    """To its end; what run.json says."""
    outcome = agent.outcome(agent.start("bench.run", args), 400)
    assert outcome["state"] == "done", outcome
    assert scratch(agent) == set()
    return dict(json.loads(text_of(agent, args["key"], "run.json")))


@pytest.mark.parametrize("target", ["hdd", "ssd", "lvmcache", "bcache"])
def test_a_run_leaves_a_result_and_nothing_else(agent: Agent, world: World, target: str) -> None:
    args = run_args(world, target)
    said = run(agent, args)
    key = args["key"]
    assert (said["outcome"], said["reached_seconds"], said["pauses"]) == ("finished", SECONDS, [])
    assert {"key": key, "outcome": "finished"} in agent.inventory()["benchmarks"]
    (listed,) = agent.data("bench.results")["results"]
    names = {each["name"] for each in listed["files"]}
    logs = {f"{kind}.{number}.log" for kind in ("iops", "hist") for number in (1, 2)}
    assert names == {"run.json", "conditions.json", "fio.json", "legs.jsonl", *logs}
    fio = json.loads(text_of(agent, key, "fio.json"))
    assert sum(job["read"]["total_ios"] for job in fio["jobs"]) > 0
    legs = [json.loads(line) for line in text_of(agent, key, "legs.jsonl").splitlines()]
    assert legs[0]["ms"] == 0 and len(legs) > SECONDS
    assert legs[-1]["top"]["reads"] > legs[0]["top"]["reads"]
    agent.data("bench.forget", {"key": key})
    assert agent.data("bench.results") == {"results": []}
