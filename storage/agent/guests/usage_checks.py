"""Checks that a volume is unused, required before data is written."""

from __future__ import annotations

from typing import Any

from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..facts.view import Check, Facts, View, lv_subject
from ..kernel import bcache_sysfs
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from .users import of_devices, of_inactive

UDEV_TRIES = 4
UDEV_SECONDS = 0.5
# How long a device without a known user is watched for I/O.
QUIET_SECONDS = 0.5


def unused(view: View, call: VerbCall) -> Check:
    """The volume is unused: no open descriptor, mount, swap, holder, guest configuration, and
    nothing reads or writes it. A device in use without a known user gets a few tries: udev looks at
    what has just changed."""

    def check() -> None:
        vg_name, lv = call.args["vg"], call.args["lv"]
        obstacles: list[dict[str, Any]] = []
        sign = ""
        for attempt in range(UDEV_TRIES):
            if attempt:
                view.host.sleep(UDEV_SECONDS)
                view.refresh()
            obstacles, sign = _use(view, view.lv(vg_name, lv), call.args.get("layout") == "cset")
            if not obstacles and not sign:
                return
            if obstacles:
                break
        names = ", ".join(
            f"{user['kind']} {user['name']}" + (f" (pid {user['pid']})" if user["pid"] else "")
            for user in obstacles
        )
        raise Refusal(
            "in_use",
            f"{vg_name}/{lv} is in use: {names or sign}.",
            "Stop the guest, unmount it, or take it out of the guest's configuration.",
            subject=lv_subject(vg_name, lv),
        )

    return check


def is_at_work(host: LocalHost, dev: str) -> bool:
    """Whether the device "MAJOR:MINOR" does I/O now. A server in the kernel, or a guest in another
    root, may use one without a sign that this host's files show."""
    before = _counters(host, dev)
    host.sleep(QUIET_SECONDS)
    after = _counters(host, dev)
    return before[0] != after[0] or after[1] > 0


def _counters(host: LocalHost, dev: str) -> tuple[list[int], int]:
    """Reads, writes, discards and what they moved, and how many are under way now."""
    major, minor = dev.split(":")
    for line in text(host, "/proc/diskstats").splitlines():
        words = line.split()
        if words[:2] == [major, minor] and len(words) >= 14:
            counts = [int(word) for word in words[3:] if word.isdecimal()]
            return [counts[0], counts[2], counts[4], counts[6], *counts[11:12]], counts[8]
    return [], 0


def _use(view: View, lv: Facts, as_cset: bool) -> tuple[list[dict[str, Any]], str]:
    """Its users, and where there is none a sign of use, in words. A cache set that is to be
    released (`as_cset`) holds its device itself, with every bcache that uses it."""
    device = lv["bcache"]["device"] if lv["bcache"] else None
    if lv["bcache"] and device is None:
        return [], ""
    dev = lv["dev"]
    path = f"/dev/{lv['vg_name']}/{lv['name']}"
    if device is not None:
        path = f"/dev/{device}"
        dev = (view.host.read(f"/sys/block/{device}/dev") or b"").decode().strip()
    if not dev:
        return of_inactive(view.host, [lv])[lv["uuid"]], ""
    users = of_devices(view.host, [dev])[dev]
    if as_cset and bcache_sysfs.cache_set_of(view.host, lv["kname"] or "") is not None:
        return [user for user in users if user["kind"] != "holder"], ""
    opened = device is None and lv["open_count"] > 0
    if opened or (not users and not view.host.exclusive(path)):
        return users, "something holds the device open"
    at_work = not users and is_at_work(view.host, dev)
    return users, "something reads or writes it" if at_work else ""
