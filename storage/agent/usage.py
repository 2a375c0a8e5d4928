"""Whether a volume is held by anybody: what writes data demands that it is not."""

from __future__ import annotations

from typing import Any

from . import bcache
from .errors import Refusal
from .protocol import Call
from .users import of_devices
from .view import Check, Facts, View, lv_subject

UDEV_TRIES = 4
UDEV_SECONDS = 0.5


def unused(view: View, call: Call) -> Check:
    """Nobody holds the volume: no open descriptor, mount, swap, holder, guest configuration. An
    open device without a known user gets a few tries: udev looks at what has just changed."""

    def check() -> None:
        vg_name, lv = call.args["vg"], call.args["lv"]
        found: list[dict[str, Any]] = []
        opened = False
        for attempt in range(UDEV_TRIES):
            if attempt:
                view.host.sleep(UDEV_SECONDS)
                view.refresh()
            found, opened = _use(view, view.lv(vg_name, lv), call.args.get("layout") == "cset")
            if not found and not opened:
                return
            if found:
                break
        names = ", ".join(
            f"{user['kind']} {user['name']}" + (f" (pid {user['pid']})" if user["pid"] else "")
            for user in found
        )
        raise Refusal(
            "in_use",
            f"{vg_name}/{lv} is in use: {names or 'something holds the device open'}.",
            "Stop the guest, unmount it, or take it out of the guest's configuration.",
            subject=lv_subject(vg_name, lv),
        )

    return check


def _use(view: View, lv: Facts, as_cset: bool) -> tuple[list[dict[str, Any]], bool]:
    """Its users, and whether it is open without one. A cache set that is to be let go of
    (`as_cset`) holds its device itself, with every bcache that uses it."""
    device = lv["bcache"]["device"] if lv["bcache"] else None
    if lv["bcache"] and device is None:
        return [], False
    dev = lv["dev"]
    path = f"/dev/{lv['vg_name']}/{lv['name']}"
    if device is not None:
        path = f"/dev/{device}"
        dev = (view.host.read(f"/sys/block/{device}/dev") or b"").decode().strip()
    users = of_devices(view.host, [dev])[dev] if dev else []
    if as_cset and bcache.cache_set_of(view.host, lv["kname"] or "") is not None:
        return [user for user in users if user["kind"] != "holder"], False
    opened = device is None and lv["open_count"] > 0
    return users, opened or (not users and not view.host.exclusive(path))
