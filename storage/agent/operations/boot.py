"""`agent.pyz boot`: restores what a restart of the host removed, before guests start.

Root's unit runs it at boot; it may also run at any time by hand, because it only adds what is
missing. It registers the bcache devices that this agent made (state/boot_state.py), writes their
settings, renews the stable paths, and resets the throttle that a killed move left. It never writes
to a volume, and waits for no I/O of one: the first sample makes the latency histograms.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..benchmark import cleanup, kept_results
from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..commands import provenance
from ..commands.command import OURS, REGISTER, device
from ..commands.retirement import is_retired
from ..facts.inventory import storage
from ..facts.view import Facts, View
from ..kernel import bcache_sysfs
from ..kernel.dm import text
from ..kernel.local_host import LocalHost, LockBusy, MissingTool, TimedOut
from ..state import bcache_by_hand, boot_state, policy, udev_links, undo_window
from ..state.boot_state import BOOT_ID, FILES, FILES_SECONDS, REPORT, BootNote, Kept
from ..verbs.registry import MARKS, VERBS
from . import ops, pacer

# Guests wait for the first run after a start. What has not come by then comes with a later run: the
# unit's timer repeats it until nothing is missing.
ACTIVE_SECONDS = 60.0
REGISTERED_SECONDS = 30.0
ROUND_SECONDS = 3.0
# While all disks are busy with a start, a report takes longer than it ever may in a request.
REPORT_SECONDS = 30.0
REPORTED_SECONDS = 240.0
LOCK_SECONDS = 10.0
# How long after a start the unit is waited for; then what is missing counts as missing.
STARTING_SECONDS = 300.0
PASSING = frozenset(("timeout", "stuck", "busy", "cmd_failed"))

_DEVICE = re.compile(r"(?m)^dev\.uuid\s+([0-9a-f-]{36})\s*$")
_CSET = re.compile(r"(?m)^cset\.uuid\s+([0-9a-f-]{36})\s*$")


@dataclass(frozen=True)
class Missing:
    """What is not back: why, and for how long after the first report it may yet come."""

    why: str
    patience_seconds: float = 0.0


def boot(host: LocalHost) -> tuple[list[str], list[str]]:
    """(what was done, what failed), one sentence each; also saved for `hello`."""
    done: list[str] = []
    failed: list[str] = []
    try:
        done += ops.end_throttles(host)
        with host.lock(FILES, FILES_SECONDS):
            done += udev_links.scrub(host)
        failed += _all_back(host, boot_state.load_boot_state(host), done)
        failed += _mark(host, done)
        with host.lock(FILES, FILES_SECONDS):
            facts = _facts(host)
            done += _note_groups(host, facts)
            boot_state.note_boot_state(host, facts)
            bcache_by_hand.note_bcache_by_hand(host, facts)
            done += undo_window.note_all(host, facts)
            if policy.load_policy(host).knows_groups:
                done += udev_links.refresh(host, facts, boot_state.load_boot_state(host))
            else:
                failed.append(f"{policy.PATH} cannot be used: udev's rules stay as they are.")
        if cleanup.leftovers(facts) or kept_results.has_unfinished(host):
            removed, left = cleanup.clean_up(host, 0.0)
            done, failed = [*done, *removed], [*failed, *left]
        is_moving = any(lv["work"] is not None and lv["work"]["ours"] for lv in facts["lvs"])
        if is_moving and not boot_state.last(host)["ran"]:
            done += pacer.slow_down_resumed(host)
    except Refusal as refusal:
        failed.append(f"{refusal.message} {refusal.correction}")
    except LockBusy:
        failed.append("An operation is running. Run this again when it has ended.")
    except OSError as error:
        failed.append(f"The agent could not finish: {error}.")
    report = {"boot_id": text(host, BOOT_ID), "failed": failed}
    host.save(REPORT, json.dumps(report).encode() + b"\n")
    return done, failed


def note_for_boot(view: View, call: VerbCall) -> None:
    """Note what the next boot has to bring back of an operation, as far as it is there or asked
    for. Raises Refusal, LockBusy, OSError."""
    with view.host.lock(FILES, FILES_SECONDS):
        _note(view, call)


def remember(view: View, call: VerbCall) -> list[str]:
    """Note what the next boot has to bring back of an operation that ended well, and give a new
    volume its path. Returns what was run, as shell lines. Raises Refusal, LockBusy, OSError."""
    if VERBS[call.verb].boot_note is BootNote.NOTHING:
        return []
    with view.host.lock(FILES, FILES_SECONDS):
        _note(view, call)
        return udev_links.refresh(view.host, view.facts, boot_state.load_boot_state(view.host))


def _note(view: View, call: VerbCall) -> None:
    boot_note = VERBS[call.verb].boot_note
    boot_state.after(view, call, boot_note)
    if boot_note is BootNote.TAGGED:
        bcache_by_hand.note_bcache_by_hand(view.host, view.facts)


def demand_started(host: LocalHost) -> None:
    """Raises Refusal(busy) as long as the unit of this start has not ended: a cache that is not
    started yet would look lost, and a job would be planned, or fail, by that."""
    if host.boottime_ns() >= STARTING_SECONDS * 1e9:
        return
    booted = boot_state.last(host)
    if booted["unit"] and not booted["ran"]:
        raise Refusal(
            "busy",
            "The host has just started, and its boot unit is still starting caches.",
            "Wait: the panel asks again. For its state: systemctl status tiercel-boot",
        )


def _mark(host: LocalHost, done: list[str]) -> list[str]:
    """What an older agent made gets the marks of this one; sentences about what could not be."""
    failed = []
    for vg, command in provenance.unmarked(host, _facts(host), MARKS):
        try:
            with host.lock(vg, LOCK_SECONDS):
                result = host.run(command.argv, timeout=None)
        except (LockBusy, MissingTool) as problem:
            failed.append(f"{command.shell} could not run: {problem}. Run this again.")
            continue
        if result.rc == 0:
            done.append(command.shell)
        else:
            failed.append(f"{command.shell} failed: {result.stderr.strip()[:200]}")
    return failed


def _note_groups(host: LocalHost, facts: Facts) -> list[str]:
    """The uuids of the groups that root allowed while an older agent noted their names alone."""
    before = policy.load_policy(host)
    named = [(vg["name"], vg["uuid"]) for vg in facts["vgs"] if vg["uuid"] in facts["named"]]
    counts = Counter(name for name, _ in named)
    # Of two with one name it is unknown which one root meant.
    uuids = {name: uuid for name, uuid in named if counts[name] == 1}
    after = policy.with_uuids(before, uuids)
    if before.broken or after == before:
        return []
    policy.save(host, after)
    return [f"noted the uuids of the groups that {policy.PATH} names"]


def _all_back(host: LocalHost, kept: Sequence[Kept], done: list[str]) -> list[str]:
    """Rounds over all that is missing, so that nothing waits for another's device; then the
    sentences about what stays away. A run that is repeated waits for nothing: it comes again."""
    patient = not boot_state.last(host)["ran"]
    began_ns: int | None = None
    while True:
        facts = _facts(host)
        began_ns = host.boottime_ns() if began_ns is None else began_ns
        missing = _round(host, facts, kept, done)
        waited_seconds = (host.boottime_ns() - began_ns) / 1e9
        if not patient or all(each.patience_seconds <= waited_seconds for each in missing):
            return [each.why for each in missing]
        host.sleep(ROUND_SECONDS)


def _facts(host: LocalHost) -> Facts:
    """A report that fails in a passing way is asked for again. Raises Refusal."""
    local = _policy(host)
    end_ns = host.boottime_ns() + int(REPORTED_SECONDS * 1e9)
    while True:
        try:
            return storage(host, local, timeout=REPORT_SECONDS)
        except Refusal as refusal:
            if refusal.code not in PASSING or host.boottime_ns() >= end_ns:
                raise
        host.sleep(ROUND_SECONDS)


def _policy(host: LocalHost) -> policy.Policy:
    """While the file cannot be read, the notes count: root allowed the groups that they are of."""
    local = policy.load_policy(host)
    if local.knows_groups:
        return local
    noted = {each.vg_uuid: each.vg_uuid for each in boot_state.load_boot_state(host)}
    return replace(local, vg_uuids=noted)


def _round(host: LocalHost, facts: Facts, kept: Sequence[Kept], done: list[str]) -> list[Missing]:
    """Bring back once what can be. Sets go first: a volume whose set is there has its device at
    once. A VG is locked only while something is written."""
    lvs = {lv["uuid"]: lv for lv in facts["lvs"]}
    missing: list[Missing] = []
    ready: dict[str, list[tuple[Facts, Kept]]] = {}
    for each in sorted(kept, key=lambda each: each.kind != "cset"):
        lv = lvs.get(each.lv_uuid)
        if lv is None or is_retired(lv["tags"]) or _left_alone(facts, lv, each, done):
            continue
        obstacle = _obstacle(lv)
        if obstacle is None:
            ready.setdefault(lv["vg_name"], []).append((lv, each))
        else:
            missing.append(obstacle)
    for vg, pairs in ready.items():
        missing += _bring_back(host, vg, pairs, done)
    return missing


def _left_alone(facts: Facts, lv: Facts, kept: Kept, done: list[str]) -> bool:
    named = lv["vg_uuid"] in facts["named"]
    if named and OURS in lv["tags"]:
        return False
    if kept.by_hand:
        # Of a VG that is not named, and of what is switched off, root takes care.
        return not named or not lv["active"]
    why = "has lost its tag" if named else "is in a VG that root never allowed"
    line = f"{lv['vg_name']}/{lv['name']} {why}: left alone."
    if line not in done:
        done.append(line)
    return True


def _obstacle(lv: Facts) -> Missing | None:
    name = f"{lv['vg_name']}/{lv['name']}"
    if lv["active"]:
        return None
    if "partial" in lv["health"]:
        return Missing(f"{name} is on a missing disk. Reconnect the disk.")
    return Missing(
        f"{name} is not active: lvchange -ay {name}, then run this again.", ACTIVE_SECONDS
    )


def _bring_back(
    host: LocalHost, vg: str, pairs: Sequence[tuple[Facts, Kept]], done: list[str]
) -> list[Missing]:
    """Those of one VG, in their order: registered, and with their settings."""
    missing: list[Missing] = []
    todo = [(lv, kept) for lv, kept in pairs if not _is_back(host, lv, kept)]
    if not todo:
        return []
    try:
        with host.lock(vg, LOCK_SECONDS):
            _run(host, ("modprobe", "bcache"))
            for lv, kept in todo:
                missing += _try(host, lv, kept, done)
    except Refusal as refusal:
        return [Missing(f"{vg}: {refusal.message} {refusal.correction}")]
    except LockBusy:
        why = f"{vg}: another operation holds the VG. Run this again when it has ended."
        return [Missing(why, REGISTERED_SECONDS)]
    return missing


def _try(host: LocalHost, lv: Facts, kept: Kept, done: list[str]) -> Iterable[Missing]:
    name = f"{lv['vg_name']}/{lv['name']}"
    try:
        _register(host, lv, kept, done)
        if _registered(host, lv, kept):
            _set(host, lv, kept, done)
            return
        yield Missing(
            f"{name} is not registered yet. Check `dmesg`; its cache set may be missing.",
            REGISTERED_SECONDS,
        )
    except Refusal as refusal:
        if refusal.code == "stale" and kept.by_hand and OURS not in lv["tags"]:
            # Root made something else of it.
            return
        patience_seconds = REGISTERED_SECONDS if refusal.code in PASSING else 0.0
        yield Missing(f"{name}: {refusal.message} {refusal.correction}", patience_seconds)
    except OSError as error:
        yield Missing(f"{name}: {error}. Look at the last lines of `dmesg`.")


def _register(host: LocalHost, lv: Facts, kept: Kept, done: list[str]) -> None:
    """Nothing where the kernel knows the device: one that waits for its set needs no more."""
    if _known(host, lv, kept):
        return
    path = device(lv["vg_name"], lv["name"])
    superblock = _run(host, ("bcache-super-show", path))
    match = (_CSET if kept.kind == "cset" else _DEVICE).search(superblock)
    if match is None or match.group(1) != kept.uuid:
        raise Refusal(
            "stale",
            f"it does not carry the bcache superblock {kept.uuid} that was made on it.",
            "It is not registered. Look at it with bcache-super-show before anything else.",
        )
    host.write(REGISTER, path)
    done.append(f"echo {path} > {REGISTER}")


def _is_back(host: LocalHost, lv: Facts, kept: Kept) -> bool:
    return _registered(host, lv, kept) and not tuple(_unset(host, lv, kept))


def _known(host: LocalHost, lv: Facts, kept: Kept) -> bool:
    if kept.kind == "cset":
        return _registered(host, lv, kept)
    return bcache_sysfs.backing(host, lv["kname"]) is not None


def _registered(host: LocalHost, lv: Facts, kept: Kept) -> bool:
    if kept.kind == "cset":
        return bcache_sysfs.cache_set_of(host, lv["kname"]) == kept.uuid
    backing = bcache_sysfs.backing(host, lv["kname"])
    return backing is not None and backing.device is not None


def _set(host: LocalHost, lv: Facts, kept: Kept, done: list[str]) -> None:
    for path, value in _unset(host, lv, kept):
        host.write(path, value)
        done.append(f"echo {value} > {path}")


def _unset(host: LocalHost, lv: Facts, kept: Kept) -> Iterable[tuple[str, str]]:
    """Files of settings that differ from what was noted, with the noted values."""
    here = (
        bcache_sysfs.folder(lv["kname"])
        if kept.kind == "backing"
        else f"{bcache_sysfs.FS}/{kept.uuid}"
    )
    for name, value in sorted(kept.settings.items()):
        if str(bcache_sysfs.human(text(host, f"{here}/{name}"))) != value:
            yield f"{here}/{name}", value


def _run(host: LocalHost, argv: tuple[str, ...]) -> str:
    try:
        result = host.run(argv, timeout=10.0)
    except MissingTool:
        raise Refusal(
            "missing_tool",
            f"{argv[0]} is not installed.",
            "Install the packages bcache-tools and kmod.",
        ) from None
    except TimedOut:
        raise Refusal("timeout", f"{argv[0]} did not answer.", TimedOut.correction) from None
    if result.rc != 0:
        raise Refusal(
            "cmd_failed",
            f"{' '.join(argv)} failed: {(result.stderr or result.stdout).strip()[:200]}.",
            "Look at `dmesg`.",
        )
    return result.stdout
