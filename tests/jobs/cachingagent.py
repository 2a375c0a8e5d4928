"""An agent that knows one volume and its caches: makes, attaches, detaches and removes pools."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from storage.byte_sizes import GIB
from storage.inventory.facts import HostFacts, LogicalVolume, PhysicalVolume
from storage.models import Host, Volume
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.jobs.agent import TaggingAgent
from tests.jobs.sshd import Refuse

POOL = "c-aaaaaaaaaaaaaaaa"
BARE = Wish(size_bytes=8 * GIB)
CACHED = Wish(size_bytes=8 * GIB, cache=LvmCache(POOL, 2 * GIB))
"""Of a bare volume: the plan is `pool.create`, then `cache.attach`."""
FAILED = {
    "code": "cmd_failed",
    "message": "lvconvert ended with 5",
    "correction": "Read the output.",
}


class CachingAgent(TaggingAgent):
    """`failing[verb]` are errors of the next operations of that verb; such an operation has run
    commands and no effect. `fence` is the highest one seen."""

    def __init__(self) -> None:
        super().__init__(make.lv("web12"))
        self.pools: dict[str, LogicalVolume] = {}
        self.more: tuple[LogicalVolume, ...] = ()
        self.pvs: tuple[PhysicalVolume, ...] = (make.pv(), make.fast_pv())
        self.failing: dict[str, list[dict[str, Any]]] = {}
        self.errors: dict[str, dict[str, Any]] = {}
        self.ran: list[str] = []
        self.fence = 0
        self.aborted: list[str] = []

    def __call__(self, request: dict[str, Any]) -> object:
        verb = request.get("verb", "dry_run")
        effects: dict[str, Callable[[dict[str, Any]], None]] = {
            "pool.create": self._create,
            "pool.remove": self._remove,
            "cache.attach": self._attach,
            "cache.detach": self._detach,
        }
        if verb == "op.abort":
            self.aborted.append(request["args"]["op"])
            return {}
        if verb not in effects:
            return super().__call__(request)
        if verb in self.before and (answer := self.before[verb](request)) is not None:
            return answer
        return self._operate(request, effects[verb])

    def facts(self) -> HostFacts:
        return make.facts(self.lv, *self.pools.values(), *self.more, pvs=self.pvs)

    def inventory(self, request: dict[str, Any]) -> dict[str, Any]:
        return make.inventory(self.facts())

    def op_get(self, request: dict[str, Any]) -> dict[str, Any]:
        outcome = super().op_get(request)
        if error := self.errors.get(request["args"]["op"]):
            outcome |= {"state": "failed", "error": error}
        return outcome

    def _operate(
        self, request: dict[str, Any], effect: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        op, verb = request["id"], request["verb"]
        if op in self.ops:
            return {"op": op}
        if request["fence"] <= self.fence:
            raise Refuse("stale_fence", f"{request['fence']} is not above {self.fence}")
        self.fence = request["fence"]
        self.ops[op] = request
        self.ran.append(verb)
        if self.failing.get(verb):
            self.errors[op] = self.failing[verb].pop(0)
        else:
            effect(request["args"])
        return {"op": op}

    def _create(self, args: dict[str, Any]) -> None:
        name = args["name"]
        self.pools[name] = make.pool(
            name,
            size_bytes=args["size_bytes"],
            tags=make.tags(args["volume_key"], made="pool"),
            pvs=tuple(args["pvs"]),
        )

    def _remove(self, args: dict[str, Any]) -> None:
        del self.pools[args["pool"]]

    def _attach(self, args: dict[str, Any]) -> None:
        pool = self.pools.pop(args["pool"])
        cache = make.dm_cache(f"{pool.name}_cpool", size_bytes=pool.size_bytes, pvs=pool.pvs)
        self.lv = dataclasses.replace(self.lv, cache=cache)

    def _detach(self, args: dict[str, Any]) -> None:
        self.lv = dataclasses.replace(self.lv, cache=None)


def managed(agent: CachingAgent, host: Host) -> Volume:
    """The agent's volume, tagged and read into the host's record."""
    volume = make.volume(managed=True)
    agent.lv = dataclasses.replace(agent.lv, tags=make.tags(volume.key))
    make.placement(volume, host, lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    host.facts = make.inventory(agent.facts())
    host.save(update_fields=["facts"])
    return volume
