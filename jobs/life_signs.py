"""Signs of life that the panel's processes leave in PostgreSQL (`jobs.models.LifeSign`).

A thread of each process signs every few seconds for all of its slots, in one statement, so that
neither a task nor a job waits for it. For an idle slot it signs only while the process can still
hand it something: its main loop turns, and a thread of its pool answers. For a busy one it says
what the slot does since when; whether that progresses, the job's lease shows (`jobs.standstill`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from celery.signals import task_postrun, task_prerun, worker_ready, worker_shutdown
from django.db import DatabaseError, InterfaceError, connection

from jobs.worker_identity import process_name

log = logging.getLogger(__name__)

SIGN_SECONDS: Final = 5.0
HEARD_SECONDS: Final = 20.0
"""Within this time the main loop must have run, and the pool answered."""
DOING_LIMIT: Final = 100
KINDS: Final = {"collect.": "collector", "jobs": "worker", "hosts": "worker", "": "housekeeping"}
"""What a process is (`jobs.models.PartKind`), by how its queues begin."""

SIGN: Final = """
INSERT INTO jobs_lifesign AS sign
    (kind, node, process, slot, queues, seen_at, doing, busy_since, took_at, is_stopped)
SELECT %(kind)s, %(node)s, %(process)s, slot, %(queues)s,
    CASE WHEN is_seen THEN statement_timestamp() ELSE 'epoch' END, doing,
    statement_timestamp() - seconds * interval '1 second',
    statement_timestamp() - %(took)s::float8 * interval '1 second', false
FROM unnest(%(slots)s::int[], %(seen)s::bool[], %(doing)s::text[], %(seconds)s::float8[])
    AS t(slot, is_seen, doing, seconds)
ON CONFLICT (process, slot) DO UPDATE SET seen_at = greatest(sign.seen_at, excluded.seen_at),
    doing = excluded.doing, busy_since = excluded.busy_since, took_at = excluded.took_at
"""
STOP: Final = "UPDATE jobs_lifesign SET is_stopped = true WHERE process = %(process)s"
# The last lost one of a kind stays: without its row it would not be missed.
PRUNE: Final = """
DELETE FROM jobs_lifesign WHERE kind = %(kind)s AND process <> %(process)s AND (is_stopped
    OR seen_at < statement_timestamp() - interval '1 hour' OR %(is_first)s AND node = %(node)s)
"""


@dataclass(frozen=True, slots=True)
class Occupation:
    """What a slot does, since when by the monotonic clock."""

    doing: str = ""
    since: float = 0.0


IDLE: Final = Occupation()


class Pool:
    """Whether the threads of a worker's pool still accept work: one of them is asked now and then.
    While all are busy the question waits."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self._executor = executor
        self._asked: Future[float] | None = None
        self._answered = time.monotonic()

    def answers(self) -> bool:
        """Whether one answered lately."""
        if self._asked is not None and self._asked.done():
            self._answered, self._asked = self._asked.result(), None
        if self._asked is None:
            try:
                self._asked = self._executor.submit(time.monotonic)
            except RuntimeError:
                # It is being shut down.
                return False
        return time.monotonic() - self._answered < HEARD_SECONDS


@dataclass
class Signer:
    """What one process knows of its slots. `turned` is when its main loop last went round, `took`
    when it last took a job, both by the monotonic clock; `pool` has the threads of a worker."""

    kind: str
    node: str
    slots: int
    queues: Sequence[str]
    pool: Pool | None = None
    turned: float = field(default_factory=time.monotonic)
    process: str = field(default_factory=process_name)
    took: float | None = None
    _slots: dict[int, int] = field(default_factory=dict)
    _occupations: dict[int, Occupation] = field(default_factory=dict)
    _end: threading.Event = field(default_factory=threading.Event)
    _is_first: bool = True
    _is_away: bool = False

    def start(self) -> None:
        """Start signing, in a separate thread."""
        threading.Thread(target=self._run, name="life-signs", daemon=True).start()

    def stop(self) -> None:
        """Record an orderly end of the process."""
        self._end.set()
        self._execute(STOP)
        connection.close()

    def turn(self) -> None:
        """Record a turn of the main loop."""
        self.turned = time.monotonic()

    def is_heard(self) -> bool:
        """Whether something to do would reach an idle slot."""
        is_turning = time.monotonic() - self.turned < HEARD_SECONDS
        return is_turning and (self.pool is None or self.pool.answers())

    def begin(self, doing: str) -> Occupation:
        """This thread's slot begins something; returns what it did before. A thread that executes
        no tasks has no slot."""
        thread = threading.get_ident()
        before = self._occupations.get(thread, IDLE)
        if thread in self._slots:
            self._occupations[thread] = Occupation(doing[:DOING_LIMIT], time.monotonic())
        return before

    def begin_task(self, name: str) -> None:
        """As `begin`; the thread executes tasks, so it is a slot."""
        self._slots.setdefault(threading.get_ident(), len(self._slots))
        self.begin(name)

    def resume(self, before: Occupation) -> None:
        """Restore what this thread's slot did before."""
        thread = threading.get_ident()
        if thread in self._slots:
            self._occupations[thread] = before

    def sign(self) -> None:
        """Sign once, now. While PostgreSQL is unreachable nothing is signed, and nothing waits."""
        now = time.monotonic()
        busy = {
            self._slots[thread]: each for thread, each in [*self._occupations.items()] if each.doing
        }
        is_heard = self.is_heard()
        slots = range(self.slots)
        occupations = [busy.get(slot, IDLE) for slot in slots]
        self._execute(
            SIGN,
            slots=[*slots],
            seen=[is_heard or slot in busy for slot in slots],
            doing=[each.doing for each in occupations],
            seconds=[now - each.since if each.doing else None for each in occupations],
            took=None if self.took is None else now - self.took,
        )

    def _run(self) -> None:
        while not self._end.is_set():
            self.sign()
            self._execute(PRUNE, is_first=self._is_first)
            self._is_first = False
            self._end.wait(SIGN_SECONDS)
        connection.close()

    def _execute(self, statement: str, **values: Any) -> None:
        own = {"kind": self.kind, "node": self.node, "process": self.process}
        queues = ",".join(self.queues)
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement, {**own, "queues": queues, **values})
        except (DatabaseError, InterfaceError) as error:
            if not self._is_away:
                log.warning("no sign of life can be left: %s", error)
            self._is_away = True
            connection.close()
        else:
            self._is_away = False


_signer: Signer | None = None


@worker_ready.connect
def begin(sender: Any, **given: object) -> None:
    """A worker or collector takes messages now. `sender` is its consumer."""
    global _signer
    queues = sorted(sender.app.amqp.queues.consume_from)
    kind = next(kind for prefix, kind in KINDS.items() if queues[0].startswith(prefix))
    pool = Pool(sender.pool.executor)
    _signer = Signer(kind, sender.hostname, sender.pool.limit, queues, pool)
    sender.timer.call_repeatedly(SIGN_SECONDS, _signer.turn)
    _signer.start()


@worker_shutdown.connect
def end(**given: object) -> None:
    """Record an orderly end."""
    global _signer
    if _signer is not None:
        _signer.stop()
        _signer = None


@task_prerun.connect
def begin_task(sender: Any = None, **given: object) -> None:
    """A slot begins a task."""
    if _signer is not None and sender is not None:
        _signer.begin_task(sender.name)


@task_postrun.connect
def end_task(**given: object) -> None:
    """A slot is idle again."""
    if _signer is not None:
        _signer.resume(IDLE)


def turn() -> None:
    """This worker looks for jobs itself while its broker is away."""
    if _signer is not None:
        _signer.turn()


@contextmanager
def at_job(key: str) -> Iterator[None]:
    """While this thread runs the job that it has taken."""
    signer = _signer
    if signer is None:
        yield
        return
    signer.took = time.monotonic()
    before = signer.begin(key)
    try:
        yield
    finally:
        signer.resume(before)
