"""Retiring, restoring and destroying a volume: its marks on the LV, and the commands. Pure.

All that an undo needs stands in LVM's tags on the volume itself, so that it survives the panel.
`layout` is what the kernel has made of the volume: "cset" where its guest wrote a cache set into it
and the host registered that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Callable

from ..calls.names import lv_name
from .command import NOW, REGISTER, Args, Command, device, lv_write, run, tags, write, zero

RETIRED_PREFIX = "tiercel.retired="
NAME_PREFIX = "tiercel.name="
# The first of its data may be gone: from here on there is no way back.
WIPING = "tiercel.wiping"


@dataclass(frozen=True)
class Retired:
    """Since when (seconds of the host's wall clock), and what the volume was called before."""

    at: int
    name: str


def is_retired(tags: Sequence[str]) -> bool:
    """Also where the tag cannot be understood: what is said to be off is left alone."""
    return any(tag.startswith(RETIRED_PREFIX) for tag in tags)


def retired(tags: Sequence[str]) -> Retired | None:
    """What the tags say; None unless both marks are there, each once, and can be read."""
    times = [tag[len(RETIRED_PREFIX) :] for tag in tags if tag.startswith(RETIRED_PREFIX)]
    names = [tag[len(NAME_PREFIX) :] for tag in tags if tag.startswith(NAME_PREFIX)]
    if len(times) != 1 or len(names) != 1 or not times[0].isdecimal():
        return None
    try:
        return Retired(int(times[0]), lv_name(names[0]))
    except ValueError:
        return None


def _retire(args: Args) -> tuple[Command, ...]:
    """The mark comes first: whatever happens after it, the next look sees what was begun. A volume
    that is skipped at activation stays off over a reboot."""
    vg, lv = args["vg"], args["lv"]
    marks = tags(f"{NAME_PREFIX}{lv}", f"{RETIRED_PREFIX}{NOW}")
    return (
        run("mark", "lvchange", *marks, "--setactivationskip", "y", f"{vg}/{lv}"),
        *_let_go(args),
        run("deactivate", "lvchange", "-an", f"{vg}/{lv}"),
        run("rename", "lvrename", vg, lv, args["retired_name"]),
    )


def _restore(args: Args) -> tuple[Command, ...]:
    """The marks go last: until then the volume counts as retired, and a broken restore goes on."""
    vg, lv = args["vg"], args["lv"]
    marks = (f"{NAME_PREFIX}{lv}", f"{RETIRED_PREFIX}{args['retired_at']}")
    unmark = [word for mark in marks for word in ("--deltag", mark)]
    return (
        run("rename", "lvrename", vg, args["retired_name"], lv),
        run("activate", "lvchange", "-ay", "-K", f"{vg}/{lv}"),
        *_registered(args),
        run("unmark", "lvchange", *unmark, "--setactivationskip", "n", f"{vg}/{lv}"),
    )


def _destroy(args: Args) -> tuple[Command, ...]:
    """Zeros over all of it, then the removal of what has this uuid and nothing else. A udev rule
    may register a bcache superblock as soon as the volume is active: it is registered on purpose,
    stopped, and the superblock cleared, so that nothing holds the volume any more. Whether an
    earlier try has cleared it already can only be seen once the volume is active."""
    vg, lv = args["vg"], args["lv"]
    path = device(vg, lv)
    opened: tuple[Command, ...] = ()
    if args["layout"] != "plain":
        unsign = run("unsign", "wipefs", "-a", "-t", "bcache", path)
        opened = (*_registered(args), *_let_go(args), unsign)
    return (
        run("doom", "lvchange", *tags(WIPING), f"{vg}/{lv}"),
        replace(run("activate", "lvchange", "-ay", "-K", f"{vg}/{lv}"), reveals=bool(opened)),
        *opened,
        zero(path),
        run("remove", "lvremove", "-y", "-S", f"lv_uuid={args['lv_uuid']}", f"{vg}/{lv}"),
    )


def _let_go(args: Args) -> tuple[Command, ...]:
    """bcache gives the volume back. A set is not named: its uuid is what a guest wrote."""
    if args["layout"] == "bcache":
        return (lv_write(args, "stop", "1", wait="stopped"),)
    if args["layout"] == "cset":
        return (lv_write(args, "set/unregister", "1", wait="stopped", name="unregister"),)
    return ()


def _registered(args: Args) -> tuple[Command, ...]:
    if args["layout"] != "bcache":
        return ()
    path = device(args["vg"], args["lv"])
    return (
        run("module", "modprobe", "bcache"),
        write("register", REGISTER, path, wait="backing_registered"),
    )


BUILDERS: Mapping[str, Callable[[Args], tuple[Command, ...]]] = {
    "volume.retire": _retire,
    "volume.restore": _restore,
    "volume.destroy": _destroy,
}
