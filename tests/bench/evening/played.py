"""Runs of the evening on the lab's host, by the agent's own verb."""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass

from storage.agent.verbs.registry import VERBS
from storage.benchmarks.matrix import Cell, TargetKind
from storage.benchmarks.result_files import RunResult, read_result
from storage.benchmarks.run_wish import args_of
from storage.benchmarks.summary import RunSummary
from storage.byte_sizes import GIB
from storage.naming import new_key
from tests.contract.client import Agent
from tests.contract.lab_world import LabWorld
from tests.lab.disks import DISKS
from tests.lab.vm import Lab

MAKING_SECONDS = 900
"""For scratch volumes, their data and their states."""
SLOW, FAST = "sdc", "md0"
HDD, HDD_IOPS = DISKS[2], 100
"""Slower than the lab's usual: emulated SSDs are slow too, and the two are to lie far apart."""


@dataclass(frozen=True, slots=True)
class Played:
    """A run that ended well."""

    cell: Cell
    result: RunResult
    summary: RunSummary


class EveningHost:
    """The lab's host, on which root allows benchmarks."""

    def __init__(self, lab: Lab) -> None:
        self.world = LabWorld(lab)
        self.agent = Agent(self.world)
        self.world.reset()
        self.world.allow(["vg0"], benchmark_bytes=4 * GIB)
        lab.throttle(HDD, HDD_IOPS)

    def run(self, cell: Cell, seed: int) -> Played:
        """On new scratch volumes, which are gone afterwards. Raises AssertionError where the host
        measured less than was asked for."""
        key = new_key()
        args = args_of(cell, seed) | {"key": key}
        if cell.target != TargetKind.SSD:
            args["slow_pvs"] = [SLOW]
        if cell.target != TargetKind.HDD:
            args["fast_pvs"] = [FAST]
        seconds = MAKING_SECONDS + 2 * (cell.seconds + cell.warm_seconds)
        op = self.agent.start(VERBS["bench.run"].name, args)
        outcome = self.agent.outcome(op, seconds)
        assert outcome["state"] == "done", outcome
        found = read_result(self._files(key), cell)
        self.agent.data("bench.forget", {"key": key})
        assert found.outcome == "finished" and found.summary is not None, found.message
        return Played(cell, found, found.summary)

    def _files(self, key: str) -> dict[str, bytes]:
        results = self.agent.data("bench.results")["results"]
        names = next(
            [file["name"] for file in each["files"]] for each in results if each["key"] == key
        )
        return {name: self._file(key, name) for name in names}

    def _file(self, key: str, name: str) -> bytes:
        content, offset, total = b"", 0, 1
        while offset < total:
            piece = self.agent.data("bench.read", {"key": key, "name": name, "offset": offset})
            content += gzip.decompress(base64.b64decode(piece["data"]))
            offset, total = piece["next"], piece["total"]
        return content
