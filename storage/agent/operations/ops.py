"""Operations: accepted by a request, run in a process of their own, looked up by id.

A record: op, call (verb, args, expect), fence, panel (the sender), state (running, done, failed,
interrupted), boot_id, started_ns and ended_ns (wall clock), started_boottime_ns, commands (argv,
shell, rc, started_ns, ended_ns), progress, error; lost_lines if output could not be kept. An
operation that was asked for but never arrived has the verb TOMBSTONE, and neither args nor expect.
`JournalEntry` keeps the record of a running one on disk, before and after each command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..commands.command import Command
from ..facts.view import View
from ..kernel.dm import text
from ..kernel.local_host import LocalHost, LockBusy
from ..state import fence as fences
from ..state.owner import PanelIdentity
from ..verbs.registry import ABORTABLE, VERBS
from . import journal, pacer
from .assess import assess
from .pacer import FULL, THROTTLE, throttle
from .waits import WorkProgress

# A unit that was only just asked for may not show up in systemd's list yet.
GRACE_NS = 15_000_000_000
LINES_LIMIT = 2000
# In place of a verb, in the record of an id that was looked up before its request arrived. The
# reply was that the operation never started, so a delayed request must not start it.
TOMBSTONE = "barred"
TOMBSTONES_LIMIT = 1000
# No request reaches the host so long after it was sent.
UNDER_WAY_NS = 3600 * 1_000_000_000
FENCE_SECONDS = 10.0

Record = dict[str, Any]


def boot_id(host: LocalHost) -> str:
    return text(host, "/proc/sys/kernel/random/boot_id")


def accept(
    host: LocalHost,
    op: str,
    call: VerbCall,
    fence: int | None = None,
    panel: PanelIdentity | None = None,
) -> dict[str, str]:
    """Check the request and start it. The same request again answers with the recorded operation;
    another request under the same id is refused (op_conflict), and so is one that was asked for
    before it came."""
    known = host.op_load(op) or _begin(host, op, call, fence, panel)
    if known is None:
        return {"op": op}
    if _is_tombstone(known):
        raise Refusal(
            "op_conflict",
            f"The operation {op} was reported as unknown before its request arrived.",
            "Read the host's facts, then plan again under a new id.",
        )
    if known["call"] != _plain(call):
        raise Refusal("op_conflict", f"The operation {op} was another request.", "Use a new id.")
    return {"op": op}


def _begin(
    host: LocalHost, op: str, call: VerbCall, fence: int | None, panel: PanelIdentity | None
) -> Record | None:
    """Check the request and start it; the record instead where the same id came in meanwhile."""
    try:
        fences.check_fence(host, call.expect["vg_uuid"], fence, op, panel)
        remaining = assess(View(host, vg=call.args["vg"]), call)
    except Refusal:
        # What is in the way may be what the same request, sent twice, has done meanwhile.
        known = host.op_load(op)
        if known is None:
            raise
        return known
    record = _record(host, op, call, remaining, fence)
    record["panel"] = None if panel is None else panel.to_json()
    if not _enter(host, op, record, panel):
        return host.op_load(op) or record
    if remaining:
        _start(host, op, record)
    return None


def get(host: LocalHost, op: str, after: int) -> dict[str, Any]:
    """State of an operation and its lines beyond number `after`, the newest LINES_LIMIT of them.
    Raises Refusal(not_found | journal_unwritable), as `load` does."""
    record = load(host, op)
    lines = [
        {"n": number, "text": line}
        for number, line in enumerate(host.op_lines(op), start=1)
        if number > after
    ]
    return {
        "op": op,
        "verb": record["call"]["verb"],
        "state": record["state"],
        "commands": record["commands"],
        "lines": lines[-LINES_LIMIT:],
        "progress": record["progress"],
        "error": record["error"],
    }


def load(host: LocalHost, op: str) -> Record:
    """The record of an operation, as it stands now. Raises Refusal(not_found) where there is none,
    and then there will be none; Refusal(journal_unwritable) where that cannot be made sure."""
    record = host.op_load(op) or _write_tombstone(host, op)
    if _is_tombstone(record):
        raise Refusal(
            "not_found",
            f"This host knows no operation {op}.",
            "The operation can no longer start here. Read the host's facts, then plan again.",
        )
    return _judge(host, op, record)


def listing(host: LocalHost) -> dict[str, Any]:
    """Every operation this host has a record of, newest first."""
    listed = []
    for op in host.op_ids():
        record = host.op_load(op)
        if record is not None and not _is_tombstone(record):
            record = _judge(host, op, record)
            listed.append(
                {
                    "op": op,
                    "verb": record["call"]["verb"],
                    "state": record["state"],
                    "started_ns": record["started_ns"],
                }
            )
    return {"ops": sorted(listed, key=lambda each: -int(each["started_ns"]))}


def end_throttles(host: LocalHost) -> list[str]:
    """Judge every operation that lowers and raises the throttle of the kernel's mirrors, also where
    the panel does not ask for it: one that was killed may have left it down. Returns what was
    written, as shell lines. A throttle that no dead operation left was set by hand, and stays."""
    before = text(host, THROTTLE)
    for op in host.op_ids():
        if host.op_marked(op, journal.THROTTLED):
            record = host.op_load(op)
            if record is not None and not _is_tombstone(record):
                _judge(host, op, record)
    ended = before != FULL and text(host, THROTTLE) == FULL
    return [f"echo {FULL} > {THROTTLE}"] if ended else []


def _plain(call: VerbCall) -> dict[str, Any]:
    """The call as JSON gives it back: tuples are lists."""
    document = call.to_json()
    document["args"] = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in document["args"].items()
    }
    return document


def _write_tombstone(host: LocalHost, op: str) -> Record:
    """Let no request be accepted under this id; the record that is there now, of one that was
    accepted in this very moment or of this."""
    _make_room(host)
    entry = _entry(host, op, {"verb": TOMBSTONE, "args": {}, "expect": {}})
    record = {**entry, "state": "failed", "ended_ns": entry["started_ns"]}
    try:
        if host.op_create(op, record):
            return record
    except OSError as error:
        raise journal.unwritable(error) from None
    return host.op_load(op) or record


def _make_room(host: LocalHost) -> None:
    """A client with a key may ask for made-up ids. Of those that were answered as unknown, the
    oldest is forgotten once no request from then can be under way any more. Raises
    Refusal(journal_unwritable)."""
    ids = host.op_ids()
    if len(ids) < TOMBSTONES_LIMIT:
        return
    boot = boot_id(host)
    stones = []
    for op in ids:
        record = host.op_load(op)
        if record is not None and _is_tombstone(record):
            is_of_now = record["boot_id"] == boot
            stones.append((record["started_boottime_ns"] if is_of_now else -1, op))
    if len(stones) < TOMBSTONES_LIMIT:
        return
    oldest_ns, oldest = min(stones)
    if oldest_ns > host.boottime_ns() - UNDER_WAY_NS:
        raise Refusal(
            "journal_unwritable",
            f"{TOMBSTONES_LIMIT} operations that this host does not know were asked for within an "
            "hour.",
            "Find out who asks for them (journalctl -u ssh); ask again in an hour.",
        )
    try:
        host.op_remove(oldest)
    except OSError as error:
        raise journal.unwritable(error) from None


def _is_tombstone(record: Record) -> bool:
    return bool(record["call"]["verb"] == TOMBSTONE)


def _record(
    host: LocalHost, op: str, call: VerbCall, remaining: Sequence[Command], fence: int | None
) -> Record:
    entry = _entry(host, op, _plain(call))
    return {
        **entry,
        "fence": fence,
        "state": "running" if remaining else "done",
        "ended_ns": None if remaining else entry["started_ns"],
        "commands": [planned(command) for command in remaining],
    }


def _entry(host: LocalHost, op: str, call: Mapping[str, Any]) -> Record:
    return {
        "op": op,
        "call": call,
        "fence": None,
        "boot_id": boot_id(host),
        "started_ns": host.wall_ns(),
        "started_boottime_ns": host.boottime_ns(),
        "commands": [],
        "progress": None,
        "error": None,
    }


def planned(command: Command) -> dict[str, Any]:
    """A command of a record: argv, shell, exit code, and when it began and ended (wall clock)."""
    return {**command.to_json(), "rc": None, "started_ns": None, "ended_ns": None}


def _enter(host: LocalHost, op: str, record: Record, panel: PanelIdentity | None) -> bool:
    """Keep a new record, with its fence; False where one is there already."""
    vg_uuid = record["call"]["expect"]["vg_uuid"]
    try:
        with host.lock(fences.lock_name(vg_uuid), FENCE_SECONDS):
            fences.put_up(host, vg_uuid, record["fence"], op, panel)
            journal.prune_journal(host)
            return host.op_create(op, record)
    except LockBusy:
        raise Refusal(
            "busy", "Another request to this VG is being accepted.", "Try again in a moment."
        ) from None
    except OSError as error:
        raise journal.unwritable(error) from None


def _start(host: LocalHost, op: str, record: Record) -> None:
    try:
        host.start_op(op)
    except OSError as error:
        refusal = Refusal(
            "internal",
            f"The operation could not be started: {error}.",
            "The agent needs systemd (busctl); repeat with a new id once it works.",
        )
        try:
            # The maker of this mark runs it: a unit that systemd began all the same goes on.
            if not host.op_mark(op, journal.BEGUN):
                return
            host.op_save(op, {**record, "state": "failed", "error": refusal.to_json()})
        except OSError as unwritable:
            raise journal.unwritable(unwritable) from None
        raise refusal from None


def _judge(host: LocalHost, op: str, record: Record) -> Record:
    """A running operation whose host was restarted, or whose unit is gone without a result, was
    interrupted; one that had not begun never will."""
    if record["state"] != "running":
        return record
    same_boot = record["boot_id"] == boot_id(host)
    if same_boot and host.boottime_ns() - record["started_boottime_ns"] < GRACE_NS:
        return record
    begun = host.op_marked(op, journal.BEGUN)
    if same_boot and host.op_alive(op):
        return record
    # It may have ended between the two looks.
    record = host.op_load(op) or record
    if record["state"] != "running":
        return record
    if host.op_marked(op, journal.THROTTLED):
        throttle(host, FULL)
    error = aborted() if host.op_marked(op, journal.ABORT) else interrupted()
    dead = {**record, "state": "interrupted", "error": error.to_json()}
    try:
        # The maker of this mark runs the operation: a unit that starts late finds it made.
        if not begun and not host.op_mark(op, journal.BEGUN):
            return record
        host.op_save(op, {**dead, "ended_ns": host.wall_ns()})
    except OSError:
        # It is judged again when it is next asked for; without the mark it may yet begin.
        return dead if begun else record
    return dead


def interrupted() -> Refusal:
    return Refusal(
        "interrupted",
        "The operation was interrupted before it ended.",
        "Read the host's facts. The remaining steps are planned again.",
    )


def aborted() -> Refusal:
    return Refusal(
        "aborted",
        "The operation was stopped on request before it ended.",
        "Read the host's facts: what is done stays done, and the rest can be planned anew.",
    )


def _title(verb: str) -> str:
    """What people call it; an operation of another release may have any verb."""
    known = VERBS.get(verb)
    return "This step" if known is None else f"“{known.title}”"


def abort(host: LocalHost, op: str) -> dict[str, Any]:
    """Ask a running operation to stop; its state as far as it is known. The mark is made once and
    seen by the unit within a second: it sends one SIGINT to a command that is watched because it
    takes long, lets any other end, and starts no further one. Asking again changes nothing.
    Raises Refusal(not_found | not_abortable | journal_unwritable)."""
    record = load(host, op)
    verb = record["call"]["verb"]
    if record["state"] == "running":
        if verb not in ABORTABLE:
            raise Refusal(
                "not_abortable",
                f"{_title(verb)} cannot be interrupted: the volume would be left between two "
                "states.",
                "Wait until the step has finished. You can then undo it with another change.",
            )
        try:
            host.op_mark(op, journal.ABORT)
        except OSError as error:
            raise journal.unwritable(error) from None
    return {"op": op, "state": record["state"]}


def pace(host: LocalHost, op: str, rise_percent: int) -> dict[str, Any]:
    """Let a running operation take more of the time: the p95 of the other volumes may rise by so
    many percent. Asking again changes nothing, and what has ended is left alone. Raises
    Refusal(not_found | journal_unwritable)."""
    record = load(host, op)
    if record["state"] == "running":
        pacer.allow(host, op, rise_percent)
    return {"op": op, "state": record["state"]}


SAVE_NS = 2_000_000_000
# op.get gives 2000 lines at most: they must fit into one reply.
LINE_LIMIT = 300


class JournalEntry:
    """Nothing is run that is not written down: `begin` refuses where the journal takes no entry.
    Output and progress are only for people: what cannot be kept of them is lost."""

    def __init__(self, host: LocalHost, op: str, record: Record) -> None:
        self._host = host
        self._op = op
        self._record = record
        self._saved_ns = 0

    def plan(self, commands: Sequence[Command]) -> None:
        self._record["commands"] = [planned(command) for command in commands]

    def replan(self, number: int, commands: Sequence[Command]) -> None:
        """From `number` on these commands follow; on disk with the next one that begins."""
        self._record["commands"][number:] = [planned(command) for command in commands[number:]]

    def begin(self, number: int) -> None:
        """The command runs next. Raises Refusal(journal_unwritable)."""
        self._record["commands"][number]["started_ns"] = self._host.wall_ns()
        self.save()

    def end(self, number: int, rc: int | None) -> None:
        """The command ended. Raises Refusal(journal_unwritable)."""
        self._record["commands"][number].update(rc=rc, ended_ns=self._host.wall_ns())
        self.save()

    def close(self, state: str, error: Refusal | None) -> None:
        """Raises Refusal(journal_unwritable): the entry then stays as it was, and counts as
        interrupted once the unit is gone."""
        document = None if error is None else error.to_json()
        self.save(state=state, error=document, ended_ns=self._host.wall_ns())

    def save(self, **changes: Any) -> None:
        self._record.update(changes)
        try:
            self._host.op_save(self._op, self._record)
        except OSError as error:
            raise journal.unwritable(error) from None
        self._saved_ns = self._host.boottime_ns()

    def show(self, progress: WorkProgress, force: bool = False) -> None:
        if progress.total_bytes or progress.label != "flushed":
            self._record["progress"] = progress.to_json()
        if force or self._host.boottime_ns() - self._saved_ns >= SAVE_NS:
            try:
                self.save()
            except Refusal as refusal:
                self.say(refusal.message)

    def say(self, line: str) -> None:
        try:
            self._host.op_log(self._op, line[:LINE_LIMIT])
        except OSError:
            self._record["lost_lines"] = self._record.get("lost_lines", 0) + 1
