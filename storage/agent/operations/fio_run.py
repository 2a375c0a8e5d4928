"""A run of fio within an operation: what it may begin with, the load itself under guard, what is
recorded beside it, and its result whatever became of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Callable

from ..benchmark import (
    cache_state,
    cleanup,
    fio_jobs,
    host_conditions,
    kept_results,
    profiles,
    scratch,
)
from ..benchmark.cache_legs import LegsSampler, RunLegs, find_legs
from ..calls.refusals import Refusal
from ..commands.command import (
    CHECK_CACHE,
    OURS,
    REMOVE_SCRATCH,
    Args,
    Command,
    refusal_of,
)
from ..facts.view import View
from ..guests import hiding
from ..kernel.dm import text
from ..kernel.local_host import CommandResult, LocalHost, LockBusy
from ..verbs.bench import JUNK, MEASURE, WARM
from .neighbour_guard import BASELINE_SECONDS, NeighbourGuard, NeighbourLoad
from .pacer import Neighbours, device_stack, leaves
from .waits import WorkProgress

LOCK_SECONDS = 5.0
LOOK_SECONDS = 5.0
AFTER_SECONDS = 5.0
# How often the rows that were taken are written down.
WRITE_NS = 5_000_000_000
# A cache that fills is asked so often; it is given up once it has stood still for so long.
FILL_LOOK_NS = 2_000_000_000
FILL_PATIENCE_NS = 300_000_000_000
SECOND_NS = 1_000_000_000


class FioRun:
    """`say` and `show` are for people; `stopping` says that the operation is to end."""

    def __init__(
        self,
        host: LocalHost,
        op: str,
        args: Args,
        allowed_percent: Callable[[], int],
        say: Callable[[str], None],
        show: Callable[[WorkProgress], None],
        stopping: Callable[[], bool],
    ) -> None:
        self._host = host
        self._op = op
        self._args = args
        self._key: str = args["key"]
        self._allowed = allowed_percent
        self._say = say
        self._show = show
        self._stopping = stopping
        self._held = ExitStack()
        self._is_begun = False
        self.is_over = False
        self._baseline_ns: dict[str, float] = {}
        self._before: dict[str, Any] = {}
        self._conditions: dict[str, Any] = {}
        self._run: dict[str, Any] = {}
        self._measured_ns: int | None = None
        self._rows: list[dict[str, Any]] = []
        self._written_ns = 0

    # Before and after all commands.

    def enter(self) -> None:
        """The one run of this host, without what earlier ones left. Nothing is locked besides.
        Raises Refusal(busy)."""
        try:
            self._held.enter_context(self._host.lock(kept_results.LOCK, LOCK_SECONDS))
        except LockBusy:
            raise Refusal(
                "busy",
                "Another benchmark runs on this host.",
                "Only one runs at a time: try again when it has ended.",
            ) from None
        self._clean()
        try:
            kept_results.finish_killed(self._host)
        except OSError as error:
            raise _unwritable(error) from None
        if not kept_results.has_ended(self._host, self._key):
            self._measure_neighbours()

    def _clean(self, wait_seconds: float = cleanup.VG_SECONDS) -> list[str]:
        """What could not be removed."""
        done, failed = cleanup.remove_scratch(self._host, wait_seconds)
        for line in (*done, *failed):
            self._say(f"$ {line}" if line in done else line)
        return failed

    def _measure_neighbours(self) -> None:
        """Without any load of ours. The first look only makes the histograms."""
        under = self._under()
        Neighbours(self._host, under, frozenset()).look()
        self._host.sleep(1.0)
        load = self._load_of(under, frozenset())
        end_ns = self._host.boottime_ns() + int(BASELINE_SECONDS * 1e9)
        while self._host.boottime_ns() < end_ns and not self._stopping():
            self._host.sleep(1.0)
        load.add()
        self._baseline_ns, self._before = load.p95_ns(), load.to_json()

    def begin(self) -> None:
        """Before the first command: from here on there is a result. Raises
        Refusal(journal_unwritable)."""
        self._run = {
            "args": dict(self._args),
            "begun_ns": self._host.wall_ns(),
            "begun_boottime_ns": self._host.boottime_ns(),
            "boot_id": text(self._host, "/proc/sys/kernel/random/boot_id"),
            "op": self._op,
            "interval_ms": fio_jobs.log_ms(self._args),
            "pauses": [],
            "state_before": {},
            "reached_seconds": 0,
        }
        tiers = {
            tier: sorted(self._leaves(f"{tier}_pvs"))
            for tier in ("slow", "fast")
            if self._args.get(f"{tier}_pvs")
        }
        try:
            kept_results.begin_result(self._host, self._key, self._run)
            self._is_begun = True
            self._conditions = host_conditions.gather_conditions(self._host, self._args, tiers)
            self._conditions["neighbours"] = {"before": self._before}
            self._save_conditions()
        except OSError as error:
            raise _unwritable(error) from None
        try:
            self._host.op_clean_up(self._op)
        except OSError as error:
            self._say(f"Were this killed, the next run or start would remove its volumes: {error}")

    def end(self, error: Refusal | None) -> None:
        """Whatever happened: nothing is left, and the result says so. The caller holds no group."""
        if not self._is_begun or self.is_over:
            return
        try:
            self._clean(cleanup.PATIENT_SECONDS)
        except Refusal as refusal:
            self._say(refusal.message)
        try:
            self._finish(kept_results.STOPPED if self._stopping() else kept_results.FAILED, error)
        except OSError as problem:
            self._say(f"The result could not be written: {problem}")

    def _finish(self, how: str, error: Refusal | None) -> None:
        message, correction = ("", "") if error is None else (error.message, error.correction)
        kept_results.finish_result(self._host, self._key, how, message, correction, **self._run)

    def release(self) -> None:
        """Another run may begin."""
        self._held.close()

    # Commands.

    def does(self, command: Command) -> bool:
        """Whether it is for `do`; the other commands are as those of any verb."""
        is_load = command.argv[0] in fio_jobs.LOADS and not command.pace
        return is_load or command.argv[0] in (CHECK_CACHE, REMOVE_SCRATCH)

    def do(self, command: Command) -> int:
        """Its exit code. Raises Refusal."""
        if command.argv[0] == CHECK_CACHE:
            self._check()
        elif command.argv[0] == REMOVE_SCRATCH:
            self._remove()
        else:
            self._load(command)
        return 0

    def _check(self) -> None:
        """The cache is as the run wants it. Raises Refusal."""
        state = cache_state.cache_fill(self._host, self._args)
        if self._args["state"] == profiles.JUNK and "used_chunks" in state:
            # Nothing else was ever read through it.
            state = {**state, "junk_chunks": state["used_chunks"]}
        self._run["state_before"] = {**self._run["state_before"], **state}
        self._conditions["cache"] = {
            **state,
            **host_conditions.cache_settings(self._host, self._args),
        }
        self._save_conditions()
        self._say(f"The cache before the run: {state}")
        cache_state.demand_state(state, self._args)

    def _remove(self) -> None:
        """Its scratch volumes; no group is held. With that the run is over. Raises
        Refusal(cmd_failed | journal_unwritable)."""
        failed = self._clean(cleanup.PATIENT_SECONDS)
        if failed:
            raise Refusal("cmd_failed", failed[0], "Remove what uses the volumes of the run.")
        try:
            if self._is_begun:
                self._finish(kept_results.FINISHED, None)
        except OSError as error:
            raise _unwritable(error) from None
        self.is_over = True

    def words(self, argv: Sequence[str]) -> list[str]:
        """With the device that is known only now. Raises Refusal(stale)."""
        if not any(fio_jobs.BCACHE_OF in word for word in argv):
            return list(argv)
        return resolved(argv, self._legs())

    def _legs(self) -> RunLegs:
        legs = find_legs(self._host, self._args)
        if legs is None:
            raise Refusal(
                "stale",
                "The run's device is not there any more.",
                "Look at the last lines of `dmesg` on the host, then order the run once more.",
            )
        return legs

    def _load(self, command: Command) -> None:
        """Run fio under guard. Raises Refusal."""
        legs = self._legs()
        own = device_stack(self._host, legs.top)
        guard = NeighbourGuard(
            self._host,
            Neighbours(self._host, self._under(), own).look,
            self._allowed,
            self._baseline_ns,
        )
        words = resolved(command.argv, legs)
        if command.name == MEASURE:
            result = self._measure(words, guard, legs, own)
        else:
            result = self._prepare(command, words, guard)
        if self._stopping():
            raise _stopped()
        if guard.has_waited_too_long:
            raise _others_need_the_disks()
        is_enough = command.name == JUNK
        if result.rc != 0 and not is_enough:
            raise refusal_of(command, result.rc, result.stderr or result.stdout)

    def _prepare(
        self, command: Command, words: Sequence[str], guard: NeighbourGuard
    ) -> CommandResult:
        """Warm the cache by the profile, or fill it with junk."""
        begun_ns = self._host.boottime_ns()
        filling = _Filling(self._host, self._args) if command.name == JUNK else None
        seconds = int(self._args.get("warm_seconds", 0))

        def tick() -> None:
            if filling is not None:
                filling.look()
                self._show(WorkProgress("junk", filling.percent, 100, False))
            else:
                passed = (self._host.boottime_ns() - begun_ns) // SECOND_NS
                self._show(WorkProgress("warmed", min(seconds, passed), seconds, False))

        def stop() -> bool:
            is_done = filling is not None and filling.is_over
            return is_done or self._stopping() or guard.has_waited_too_long

        result = self._host.run(words, timeout=None, tick=tick, stop=stop, rest=guard.beat)
        guard.end()
        if command.name == WARM:
            self._run["state_before"]["warmed_seconds"] = seconds
        return result

    def _measure(
        self, words: Sequence[str], guard: NeighbourGuard, legs: RunLegs, own: frozenset[str]
    ) -> CommandResult:
        sampler = LegsSampler(self._host, self._args, legs)
        during = self._load_of(self._under(), own)
        seconds, every_ms = int(self._args["seconds"]), fio_jobs.log_ms(self._args)
        self._measured_ns = looked_ns = self._written_ns = self._host.boottime_ns()
        self._run["measured_begun_ns"] = self._host.wall_ns()
        self._run["measured_begun_boottime_ns"] = self._measured_ns
        guard.restart()
        self._rows = [sampler.row(0)]
        next_ms = every_ms

        def tick() -> None:
            nonlocal looked_ns, next_ms
            ms = self._ms()
            # It is asked twice a second, roughly.
            if ms >= next_ms - 100:
                self._rows.append(sampler.row(ms))
                next_ms = max(next_ms + every_ms, ms)
            if self._host.boottime_ns() - looked_ns >= LOOK_SECONDS * 1e9:
                looked_ns = self._host.boottime_ns()
                during.add()
                self._show(WorkProgress("measured", min(seconds, ms // 1000), seconds, False))
            if self._host.boottime_ns() - self._written_ns >= WRITE_NS:
                self._write_rows()

        def stop() -> bool:
            return self._stopping() or guard.has_waited_too_long

        result = self._host.run(words, timeout=None, tick=tick, stop=stop, rest=guard.beat)
        guard.end()
        self._rows.append(sampler.row(self._ms()))
        self._write_rows()
        during.add()
        self._run["pauses"] = guard.pauses_ms
        self._run["reached_seconds"] = min(seconds, self._ms() // 1000)
        self._conditions["neighbours"]["during"] = during.to_json()
        self._run["state_after"] = self._state_after()
        if not self._stopping():
            after = self._load_of(self._under(), own)
            self._host.sleep(AFTER_SECONDS)
            after.add()
            self._conditions["neighbours"]["after"] = after.to_json()
        self._save_conditions()
        return result

    def _state_after(self) -> dict[str, Any]:
        try:
            return cache_state.cache_fill(self._host, self._args)
        except Refusal as refusal:
            return {"unknown": refusal.message}

    def _ms(self) -> int:
        begun_ns = self._host.boottime_ns() if self._measured_ns is None else self._measured_ns
        return (self._host.boottime_ns() - begun_ns) // 1_000_000

    def _write_rows(self) -> None:
        """What cannot be written is lost, and said."""
        self._written_ns = self._host.boottime_ns()
        try:
            kept_results.append_legs(self._host, self._key, self._rows)
        except OSError as error:
            self._say(f"Counters could not be written down: {error}")
        self._rows = []

    def _save_conditions(self) -> None:
        try:
            kept_results.save_document(
                self._host, self._key, kept_results.CONDITIONS, self._conditions
            )
        except OSError as error:
            raise _unwritable(error) from None

    def _load_of(self, under: frozenset[str], own: frozenset[str]) -> NeighbourLoad:
        return NeighbourLoad(self._host, Neighbours(self._host, under, own).look, under)

    def _under(self) -> frozenset[str]:
        return self._leaves("slow_pvs") | self._leaves("fast_pvs")

    def _leaves(self, pvs: str) -> frozenset[str]:
        names = self._args.get(pvs, ())
        return frozenset(leaf for pv in names for leaf in leaves(self._host, pv))


class _Filling:
    """How far a cache is filled, and whether that is enough, or no more comes."""

    def __init__(self, host: LocalHost, args: Args) -> None:
        self._host = host
        self._args = args
        self._looked_ns = self._risen_ns = host.boottime_ns()
        self.percent = 0
        self.is_over = False

    def look(self) -> None:
        now_ns = self._host.boottime_ns()
        if now_ns - self._looked_ns < FILL_LOOK_NS:
            return
        self._looked_ns = now_ns
        try:
            state = cache_state.cache_fill(self._host, self._args)
        except Refusal:
            # The check that follows says so.
            return
        if state["used_percent"] > self.percent:
            self.percent, self._risen_ns = state["used_percent"], now_ns
        has_stopped = now_ns - self._risen_ns > FILL_PATIENCE_NS
        self.is_over = cache_state.is_full_of_junk(state, self._args) or has_stopped


def demand_scratch(view: View, args: Args) -> None:
    """The path that fio writes to leads to the volume that this run made, and to nothing else.
    Raises Refusal(stale | not_ours | not_found)."""
    name = scratch.data_name(args["key"])
    lv = view.lv(args["vg"], name)
    if scratch.key_of(lv) != args["key"] or OURS not in lv["tags"] or "public" not in lv["role"]:
        raise Refusal(
            "not_ours",
            f"{args['vg']}/{name} is not the volume that this run made.",
            "Nothing is written to it. Look at its tags (lvs -o +tags).",
        )
    path = f"/dev/{args['vg']}/{name}"
    real = view.host.real(path)
    kname = "" if real is None else real.rsplit("/", 1)[-1]
    dm_uuid = text(view.host, f"/sys/block/{kname}/dm/uuid") if kname else ""
    if dm_uuid != hiding.dm_uuid(lv):
        raise Refusal(
            "stale",
            f"{path} leads to {kname or 'nothing'}, which is not {args['vg']}/{name}.",
            "Let udev renew its links on the host (udevadm trigger --subsystem-match=block; "
            "udevadm settle), then order the run once more.",
        )


def resolved(argv: Sequence[str], legs: RunLegs) -> list[str]:
    """The words to run, with the bcacheN of the run's own volume."""
    return [word.replace(fio_jobs.BCACHE_OF, f"/dev/{legs.top}") for word in argv]


def _stopped() -> Refusal:
    return Refusal(
        "aborted",
        "The run was stopped before its end.",
        "Its result says how far it came.",
    )


def _others_need_the_disks() -> Refusal:
    return Refusal(
        "occupied",
        "The other volumes on these disks need them: fio stood still for half an hour.",
        "Order the run for a quieter time, or for other disks.",
    )


def _unwritable(error: OSError) -> Refusal:
    return Refusal(
        "journal_unwritable",
        f"The result of a benchmark cannot be written: {error.strerror or error}.",
        f"Make room on the file system of {kept_results.FOLDER} on the host.",
    )
