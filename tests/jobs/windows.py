"""Windows that are open or closed now, and an agent whose flush runs until it is stopped."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

from django.utils import timezone

from storage.byte_sizes import GIB
from storage.planner.daily_window import DailyWindow
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.jobs.agent import running
from tests.jobs.cachingagent import POOL, CachingAgent

ABORTED = {"code": "aborted", "message": "It was stopped on request.", "correction": ""}
DIRTY = Wish(8 * GIB, cache=LvmCache(POOL, 2 * GIB, mode="writeback"))
FLUSHED = dataclasses.replace(DIRTY, flushed=True)


def open_window(zone: str = "UTC") -> DailyWindow:
    """From an hour ago to the next hour."""
    return _window(-1, 1, zone)


def closed_window(hours: int = 2, zone: str = "UTC") -> DailyWindow:
    """It opens in so many hours, for one."""
    return _window(hours, hours + 1, zone)


def _window(start: int, end: int, zone: str) -> DailyWindow:
    now = timezone.now().replace(second=0, microsecond=0)
    return DailyWindow(
        (now + timedelta(hours=start)).time(), (now + timedelta(hours=end)).time(), zone
    )


class RestingAgent(CachingAgent):
    """Its volume has a dirty cache, whose flush goes on until it is aborted, or `ends`."""

    def __init__(self) -> None:
        super().__init__()
        cache = make.dm_cache(POOL, mode="writeback", dirty_bytes=GIB)
        self.lv = make.lv("web12", cache=cache)
        self.ends = False

    def __call__(self, request: dict[str, Any]) -> object:
        verb, args = request.get("verb"), request.get("args", {})
        if verb in ("cache.flush", "cache.set"):
            self.ops[request["id"]] = request
            self.ran.append(verb)
            if verb == "cache.set":
                self._cache(policy=args["policy"])
            else:
                self._cache(policy="cleaner", **({"dirty_bytes": 0} if self.ends else {}))
            return {"op": request["id"]}
        if verb == "op.get" and self.ops[args["op"]]["verb"] == "cache.flush" and not self.ends:
            if args["op"] in self.aborted:
                return self.op_get(request) | {"state": "interrupted", "error": ABORTED}
            self.outcomes = [running()]
        return super().__call__(request)

    def _cache(self, **fields: Any) -> None:
        assert self.lv.cache is not None
        self.lv = dataclasses.replace(self.lv, cache=dataclasses.replace(self.lv.cache, **fields))
