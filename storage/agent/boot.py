"""`agent.pyz boot`: what a restart of the host takes away is brought back before guests start.

Root's unit runs it at boot; by hand it may run at any time, for it only adds what is missing. It
registers the bcache devices that this agent made (keep.py), writes their settings, renews the
stable paths and the latency histograms. Nothing of it writes to a volume.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from . import bcache, keep, links
from .command import OURS, REGISTER, device
from .dm import text
from .errors import Refusal
from .host import Host, LockBusy, MissingTool, TimedOut
from .inventory import storage
from .keep import Kept
from .policy import load
from .protocol import Call
from .retirement import is_retired
from .sample import sample
from .view import Facts, View

UNIT = "/etc/systemd/system/tiercel-boot.service"
REPORT = "/var/lib/tiercel/boot.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
ACTIVE_SECONDS = 60
REGISTERED_SECONDS = 30
LOCK_SECONDS = 120.0
# No VG has such a name: it orders the writers of the two files.
FILES = "@files"

_DEVICE = re.compile(r"(?m)^dev\.uuid\s+([0-9a-f-]{36})\s*$")
_CSET = re.compile(r"(?m)^cset\.uuid\s+([0-9a-f-]{36})\s*$")


def boot(host: Host) -> tuple[list[str], list[str]]:
    """(what was done, what failed), one sentence each; also saved for `hello`."""
    done: list[str] = []
    failed: list[str] = []
    try:
        kept = keep.load(host)
        facts = _active(host, kept)
        for each in sorted(kept, key=lambda each: each.kind != "cset"):
            _bring_back(host, facts, each, done, failed)
        with host.lock(FILES, LOCK_SECONDS):
            facts = storage(host, load(host))
            keep.note(host, facts)
            done += links.refresh(host, facts, keep.load(host))
        sample(host)
    except Refusal as refusal:
        failed.append(f"{refusal.message} {refusal.correction}")
    except LockBusy:
        failed.append("An operation is at work. Run this again when it has ended.")
    except OSError as error:
        failed.append(f"The agent could not finish: {error}.")
    report = {"boot_id": text(host, BOOT_ID), "failed": failed}
    host.save(REPORT, json.dumps(report).encode() + b"\n")
    return done, failed


def remember(view: View, call: Call) -> list[str]:
    """Note what the next boot has to bring back of an operation that ended well, or before its
    first command as far as that is known, and give a new volume its path. Returns what was run,
    as shell lines. Raises Refusal, LockBusy, OSError."""
    if call.verb not in keep.VERBS and not call.verb.startswith("volume."):
        return []
    with view.host.lock(FILES, LOCK_SECONDS):
        keep.after(view, call)
        return links.refresh(view.host, view.facts, keep.load(view.host))


def last(host: Host) -> dict[str, Any]:
    """What `hello` tells: `unit` (it runs at boot), `ran` (in this boot), `failed` (sentences)."""
    data = host.read(REPORT)
    ran, failed = False, []
    if data is not None:
        try:
            report = json.loads(data.decode("utf-8"))
            ran = report["boot_id"] == text(host, BOOT_ID)
            failed = [str(line) for line in report["failed"]] if ran else []
        except (ValueError, TypeError, LookupError, RecursionError):
            failed = [f"{REPORT} cannot be read."]
    return {"unit": host.exists(UNIT), "ran": ran, "failed": failed}


def _active(host: Host, kept: Sequence[Kept]) -> Facts:
    """The facts once every kept volume is active, or after ACTIVE_SECONDS."""
    wanted = {each.lv_uuid for each in kept}
    for _ in range(ACTIVE_SECONDS):
        facts = storage(host, load(host))
        if all(
            lv["active"] or lv["uuid"] not in wanted or is_retired(lv["tags"])
            for lv in facts["lvs"]
        ):
            return facts
        host.sleep(1.0)
    return storage(host, load(host))


def _bring_back(host: Host, facts: Facts, kept: Kept, done: list[str], failed: list[str]) -> None:
    lv = next((lv for lv in facts["lvs"] if lv["uuid"] == kept.lv_uuid), None)
    if lv is None or is_retired(lv["tags"]):
        return
    name = f"{lv['vg_name']}/{lv['name']}"
    allowed = next(vg["allowed"] for vg in facts["vgs"] if vg["uuid"] == lv["vg_uuid"])
    if not allowed or OURS not in lv["tags"]:
        why = "has lost its tag" if allowed else "is in a VG that root does not allow any more"
        done.append(f"{name} {why}: left alone.")
        return
    if not lv["active"]:
        failed.append(f"{name} is not active: lvchange -ay {name}, then run this again.")
        return
    try:
        with host.lock(lv["vg_name"], LOCK_SECONDS):
            _register(host, lv, kept, done)
            _set(host, lv, kept, done)
    except Refusal as refusal:
        failed.append(f"{name}: {refusal.message} {refusal.correction}")
    except LockBusy:
        failed.append(f"{name}: another operation holds its VG. Run this again when it has ended.")
    except OSError as error:
        failed.append(f"{name}: {error}. Look at the last lines of `dmesg`.")


def _register(host: Host, lv: Facts, kept: Kept, done: list[str]) -> None:
    if _registered(host, lv, kept):
        return
    path = device(lv["vg_name"], lv["name"])
    _run(host, ("modprobe", "bcache"))
    found = _run(host, ("bcache-super-show", path))
    match = (_CSET if kept.kind == "cset" else _DEVICE).search(found)
    if match is None or match.group(1) != kept.uuid:
        raise Refusal(
            "stale",
            f"it does not carry the bcache superblock {kept.uuid} that was made on it.",
            "It is not registered. Look at it with bcache-super-show before anything else.",
        )
    host.write(REGISTER, path)
    done.append(f"echo {path} > {REGISTER}")
    for _ in range(REGISTERED_SECONDS):
        if _registered(host, lv, kept):
            return
        host.sleep(1.0)
    raise Refusal(
        "timeout",
        f"not registered after {REGISTERED_SECONDS} seconds.",
        "Look at `dmesg`; its cache set may be missing.",
    )


def _registered(host: Host, lv: Facts, kept: Kept) -> bool:
    if kept.kind == "cset":
        return bcache.cache_set_of(host, lv["kname"]) == kept.uuid
    found = bcache.backing(host, lv["kname"])
    return found is not None and found.device is not None


def _set(host: Host, lv: Facts, kept: Kept, done: list[str]) -> None:
    here = bcache.folder(lv["kname"]) if kept.kind == "backing" else f"{bcache.FS}/{kept.uuid}"
    for name, value in sorted(kept.settings.items()):
        if str(bcache.human(text(host, f"{here}/{name}"))) != value:
            host.write(f"{here}/{name}", value)
            done.append(f"echo {value} > {here}/{name}")


def _run(host: Host, argv: tuple[str, ...]) -> str:
    try:
        result = host.run(argv, timeout=10.0)
    except MissingTool:
        raise Refusal(
            "missing_tool",
            f"{argv[0]} is not installed.",
            "Install the packages bcache-tools and kmod.",
        ) from None
    except TimedOut:
        raise Refusal(
            "timeout", f"{argv[0]} did not answer.", "A disk may hang: look at `dmesg`."
        ) from None
    if result.rc != 0:
        raise Refusal(
            "cmd_failed",
            f"{' '.join(argv)} failed: {(result.stderr or result.stdout).strip()[:200]}.",
            "Look at `dmesg`.",
        )
    return result.stdout
