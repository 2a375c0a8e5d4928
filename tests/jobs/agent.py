"""A small agent that knows one volume: it tags it, as an operation, and has whims."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from storage.byte_sizes import GIB
from storage.inventory.facts import LogicalVolume
from storage.planner.wish import Wish
from tests import make
from tests.jobs.sshd import Refuse

WISH = Wish(size_bytes=8 * GIB)
"""Of an untagged volume of that size: the plan is one `volume.tag`."""


class TaggingAgent:
    """`answer` is for `Sshd`. `before[verb]` runs first and may raise or return another answer;
    `outcomes` are what `op.get` says, one after the other, before the operation is done."""

    def __init__(self, lv: LogicalVolume | None = None) -> None:
        self.lv = lv or make.lv("web12")
        self.ops: dict[str, dict[str, Any]] = {}
        self.runs = 0
        self.before: dict[str, Callable[[dict[str, Any]], object]] = {}
        self.outcomes: list[dict[str, Any]] = []
        self.has_effect = True

    def __call__(self, request: dict[str, Any]) -> object:
        verb = request.get("verb", "dry_run")
        if verb in self.before:
            answer = self.before[verb](request)
            if answer is not None:
                return answer
        known: dict[str, Callable[[dict[str, Any]], object]] = {
            "inventory": self.inventory,
            "volume.tag": self.tag,
            "op.get": self.op_get,
            "dry_run": self.dry_run,
        }
        if verb not in known:
            raise Refuse("unknown_verb", verb)
        return known[verb](request)

    def inventory(self, request: dict[str, Any]) -> dict[str, Any]:
        return make.inventory(make.facts(self.lv))

    def tag(self, request: dict[str, Any]) -> dict[str, Any]:
        op = request["id"]
        if op not in self.ops:
            self.ops[op] = request
            self.runs += 1
            if self.has_effect:
                key = request["args"]["volume_key"]
                self.lv = dataclasses.replace(self.lv, tags=make.tags(key))
        return {"op": op}

    def op_get(self, request: dict[str, Any]) -> dict[str, Any]:
        op, after = request["args"]["op"], request["args"]["after"]
        if op not in self.ops:
            raise Refuse("not_found", "no such operation")
        said = self.outcomes.pop(0) if self.outcomes else {}
        outcome = {
            "op": op,
            "verb": "volume.tag",
            "state": "done",
            "commands": [{"argv": ["lvchange"], "shell": "lvchange --addtag", "rc": 0}],
            "lines": [{"n": 1, "text": "Logical volume changed."}],
            "progress": None,
            "error": None,
        } | said
        outcome["lines"] = [line for line in outcome["lines"] if line["n"] > after]
        return outcome

    def dry_run(self, request: dict[str, Any]) -> dict[str, Any]:
        return {
            "steps": [
                {
                    "verb": step["verb"],
                    "commands": [{"argv": ["lvchange"], "shell": "lvchange --addtag"}],
                    "deferred": [],
                    "error": None,
                }
                for step in request["dry_run"]
            ]
        }


def running(**fields: Any) -> dict[str, Any]:
    """An outcome of an operation that still runs."""
    return {"state": "running", "commands": [], "lines": [], **fields}
