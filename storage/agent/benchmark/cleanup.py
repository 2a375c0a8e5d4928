"""Removes what runs left: their scratch volumes, and the caches in front of them.

A run does it at its end, systemd after an operation that was killed, the boot unit after a crash of
the host, and the next run. Only volumes that are scratch by name and tag are touched, and each is
named to LVM by its uuid too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..calls.refusals import Refusal
from ..commands.command import device
from ..facts.inventory import storage
from ..kernel import bcache_sysfs
from ..kernel.local_host import LocalHost, LockBusy, MissingTool, TimedOut
from ..state.policy import load_policy
from . import kept_results, scratch

VG_SECONDS = 120.0
# What a run measured is not to be lost because others are at work in the VG.
PATIENT_SECONDS = 3600.0
LOCK_SECONDS = 30.0
# The kernel lets go of a bcache's devices behind the write that stops it.
RELEASE_SECONDS = 30.0
POLL_SECONDS = 0.2

Facts = Mapping[str, Any]


def leftovers(facts: Facts) -> list[Facts]:
    """Scratch volumes in the groups that root allows or once allowed, data before caches: LVM
    removes a cache with its volume."""
    named = set(facts["named"])
    scratch_lvs = [
        lv
        for lv in facts["lvs"]
        if lv["vg_uuid"] in named and scratch.key_of(lv) is not None and scratch.is_visible(lv)
    ]
    return sorted(scratch_lvs, key=lambda lv: lv["name"].endswith("-cache"))


def clean_up(host: LocalHost, wait_seconds: float = LOCK_SECONDS) -> tuple[list[str], list[str]]:
    """Of every run that is not at work: (what was done, what failed), one sentence each. A run at
    work is left alone."""
    try:
        with host.lock(kept_results.LOCK, wait_seconds):
            done, failed = remove_scratch(host)
            killed = kept_results.finish_killed(host)
    except LockBusy:
        return [], []
    except (Refusal, OSError) as problem:
        return [], [f"What benchmark runs left could not be removed: {problem}"]
    return [*done, *(f"the benchmark run {key} was stopped" for key in killed)], failed


def remove_scratch(
    host: LocalHost, wait_seconds: float = VG_SECONDS
) -> tuple[list[str], list[str]]:
    """Every scratch volume; the caller holds LOCK, and no group. Raises Refusal."""
    done: list[str] = []
    failed: list[str] = []
    for vg in sorted({lv["vg_name"] for lv in leftovers(_facts(host))}):
        try:
            with host.lock(vg, wait_seconds):
                _remove_all_of(host, vg, done)
        except LockBusy:
            failed.append(f"{vg}: another operation holds the VG. Run this again later.")
        except (Refusal, OSError) as problem:
            failed.append(f"{vg}: {problem}")
    return done, failed


def _facts(host: LocalHost) -> Facts:
    return storage(host, load_policy(host))


def _remove_all_of(host: LocalHost, vg: str, done: list[str]) -> None:
    """Looks again after each: what one was in front of has gone with it, or shows only now. Raises
    Refusal or OSError."""
    tried: set[str] = set()
    while mine := [lv for lv in leftovers(_facts(host)) if lv["vg_name"] == vg]:
        if mine[0]["uuid"] in tried:
            raise Refusal("cmd_failed", f"LVM does not remove {mine[0]['name']}.", "")
        tried.add(mine[0]["uuid"])
        _remove(host, mine[0], done)


def _remove(host: LocalHost, lv: Facts, done: list[str]) -> None:
    kname = lv["kname"]
    if kname is not None and host.exists(bcache_sysfs.folder(kname)):
        _stop_bcache(host, lv, done)
    if lv["active"] and lv["layout"] == ["linear"]:
        # A later volume on the same extents is not to be taken for a bcache device.
        wipe = ("wipefs", "-a", "-t", "bcache", device(lv["vg_name"], lv["name"]))
        _run(host, wipe, done)
    name = f"{lv['vg_name']}/{lv['name']}"
    _run(host, ("lvremove", "-y", "-S", f"lv_uuid={lv['uuid']}", name), done)


def _stop_bcache(host: LocalHost, lv: Facts, done: list[str]) -> None:
    """A backing device, or a cache set: neither is flushed. A set that serves another volume too,
    as root may have had it, is left as it is."""
    here = bcache_sysfs.folder(lv["kname"])
    cset = bcache_sysfs.cache_set_of(host, lv["kname"])
    if cset is None:
        _write(host, f"{here}/stop", done)
    else:
        users = bcache_sysfs.cache_set(host, cset).backing
        if users:
            raise Refusal(
                "in_use",
                f"The cache set on {lv['vg_name']}/{lv['name']} serves {', '.join(users)} too.",
                "Detach them from it on the host.",
            )
        _write(host, f"{bcache_sysfs.FS}/{cset}/unregister", done)
    end_ns = host.boottime_ns() + int(RELEASE_SECONDS * 1e9)
    path = device(lv["vg_name"], lv["name"])
    while host.exists(here) or not host.exclusive(path):
        if host.boottime_ns() >= end_ns:
            raise Refusal(
                "timeout",
                f"The kernel does not let go of {path}.",
                "Look at the last lines of `dmesg` on the host.",
            )
        host.sleep(POLL_SECONDS)


def _write(host: LocalHost, path: str, done: list[str]) -> None:
    host.write(path, "1")
    done.append(f"echo 1 > {path}")


def _run(host: LocalHost, argv: tuple[str, ...], done: list[str]) -> None:
    try:
        result = host.run(argv, timeout=None)
    except (MissingTool, TimedOut) as problem:
        raise Refusal("cmd_failed", f"{argv[0]} could not run: {problem}.", "") from None
    if result.rc != 0:
        raise Refusal(
            "cmd_failed",
            f"{' '.join(argv)} failed: {(result.stderr or result.stdout).strip()[:200]}.",
            "Look at what uses the volume.",
            argv=argv,
            rc=result.rc,
            stderr=result.stderr,
        )
    done.append(" ".join(argv))
