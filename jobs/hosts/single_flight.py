"""Single flight: callers of this process who want an inventory of the same host share one request.

A caller gets an inventory that was begun after the call, never one that was already in progress, so
it contains the effect of the caller's last step. Many jobs on one host cost it two inventories, not
one each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from jobs.transport.errors import TransportError
from storage.inventory.facts import HostFacts

PATIENCE_SECONDS = 10.0
"""So long one waits for others before he reads by himself: a lease outlasts that and a call."""

Read = Callable[[], HostFacts]


class Flight:
    """One reading: who `led` it has set `facts` or `error` once it is `over`; neither of them where
    it came to no answer of the host's."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.facts: HostFacts | None = None
        self.error: TransportError | None = None


class SingleFlight:
    """By host: the round that is under way, and the one that begins after it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._now: dict[int, Flight] = {}
        self._next: dict[int, Flight] = {}

    def read(self, host_id: int, read: Read) -> HostFacts:
        """What `read` gives, called now by this thread or by another one in its place. Raises what
        it raises."""
        with self._guard:
            mine = self._next.get(host_id)
            before = self._now.get(host_id)
            leads = mine is None
            if mine is None:
                mine = Flight()
                (self._next if before is not None else self._now)[host_id] = mine
        if leads:
            return self._lead(host_id, mine, before, read)
        # Its leader may first wait as long for the round before, and only then reads.
        mine.over.wait(2 * PATIENCE_SECONDS)
        if mine.error is not None:
            raise mine.error
        return mine.facts if mine.facts is not None else read()

    def _lead(self, host_id: int, mine: Flight, before: Flight | None, read: Read) -> HostFacts:
        try:
            if before is not None:
                before.over.wait(PATIENCE_SECONDS)
                with self._guard:
                    # From here on nobody joins.
                    del self._next[host_id]
                    self._now[host_id] = mine
            mine.facts = read()
            return mine.facts
        except TransportError as error:
            mine.error = error
            raise
        finally:
            with self._guard:
                for rounds in (self._now, self._next):
                    if rounds.get(host_id) is mine:
                        del rounds[host_id]
            mine.over.set()
