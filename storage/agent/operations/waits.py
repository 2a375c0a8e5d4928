"""Conditions that take time: what a command is watched for, and what must hold after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable

from ..commands.command import Args, Command, device
from ..commands.growth import room_name
from ..commands.vacated_extents import held_name
from ..kernel import bcache, dm, mirror
from ..kernel.dm import SECTOR
from ..kernel.host import Host
from ..wire.errors import Refusal
from .pace import Fall, Others, Pace

UNFLUSHED = "flush for failed cache"
"""Of LVM's warning "Skippping flush for failed cache VG/LV.", however it spells its first word."""


@dataclass(frozen=True)
class Progress:
    """`total_bytes` 0 = unknown; `pace`, and what the `others` on the disks feel, where that is
    measured."""

    label: str
    done_bytes: int
    total_bytes: int
    met: bool
    pace: Pace | None = None
    others: Others | None = None

    def to_json(self) -> dict[str, object]:
        measured: dict[str, object] = {
            "label": self.label,
            "done_bytes": self.done_bytes,
            "total_bytes": self.total_bytes,
        }
        if self.pace is not None:
            measured.update(self.pace.to_json())
        if self.others is not None:
            measured["others"] = self.others.to_json()
        return measured


@dataclass(frozen=True)
class Wait:
    """`begin` makes the question, told once what to compare with. `seconds` after which a wait
    has failed; None = as long as it takes, and the lock on the VG is not held meanwhile."""

    begin: Callable[[Host, Args], Callable[[], Progress]]
    seconds: float | None


def kname(host: Host, args: Args) -> str:
    """dm-N of the verb's LV; "" when its node is gone."""
    return kname_at(host, device(args["vg"], args["lv"] if "lv" in args else args["name"]))


def kname_at(host: Host, path: str) -> str:
    real = host.real(path)
    return "" if real is None else real.rsplit("/", 1)[-1]


def _rising(host: Host, label: str, ask: Callable[[], tuple[int, int]]) -> Callable[[], Progress]:
    """Work whose rest only becomes less, of (done, total) bytes."""
    left: Fall | None = None

    def progress() -> Progress:
        nonlocal left
        done, total = ask()
        if not total:
            return Progress(label, done, total, False)
        at_ns = host.boottime_ns()
        left = left or Fall(at_ns, total - done)
        return Progress(label, done, total, done >= total, left.look(at_ns, total - done, 0))

    return progress


def _zeroed(host: Host, args: Args) -> Callable[[], Progress]:
    """Sectors written by dm-N since the start: field 7 of its stat file."""
    stat = f"/sys/block/{kname(host, args)}/stat"
    size = dm.text(host, f"/sys/block/{kname(host, args)}/size")
    total = args["size_bytes"] if "size_bytes" in args else int(size or 0) * SECTOR
    first = _written(host, stat)

    def ask() -> tuple[int, int]:
        return min(total, (_written(host, stat) - first) * SECTOR), total

    return _rising(host, "zeroed", ask)


def _written(host: Host, stat: str) -> int:
    words = dm.text(host, stat).split()
    return int(words[6]) if len(words) > 6 else 0


def _falling(host: Host, dirty: Callable[[], int | None], limit: int) -> Callable[[], Progress]:
    """Flushing from what is dirty now down to a limit; None dirty = the cache is gone."""
    first = dirty() or 0
    fall = Fall(host.boottime_ns(), first)

    def ask() -> Progress:
        now = dirty()
        if now is None:
            return Progress("flushed", fall.peak, fall.peak, True)
        pace = fall.look(host.boottime_ns(), now, max(0, limit))
        # Writes go on meanwhile, so what is dirty may rise above where it began.
        return Progress("flushed", fall.peak - now, fall.peak, now <= limit, pace)

    return ask


def _flushed(host: Host, args: Args) -> Callable[[], Progress]:
    name = dm.text(host, f"/sys/block/{kname(host, args)}/dm/name")

    def dirty() -> int | None:
        found = dm.caches(host)
        # With a classic snapshot the cache sits on the layer below the volume.
        status = found.get(name) or found.get(f"{name}-real")
        if status is not None and status.dirty_bytes is None:
            raise Refusal(
                "degraded",
                f"The cache of {args['vg']}/{args['lv']} has failed while it was flushed: nobody "
                "can tell how much of its data is not on the disk yet.",
                "Do not remove it: what it alone holds would be lost. Stop the guest and run: "
                "lvchange -an, lvconvert --repair, lvchange -ay.",
            )
        return None if status is None else status.dirty_bytes

    return _falling(host, dirty, args["dirty_limit_bytes"])


def demand_flushed(command: Command, said: str) -> None:
    """Raises Refusal(data_lost) where LVM took a cache off without flushing it: a cache that fails
    during the detach is only warned of, with exit code 0. A lost cache that is dropped is another
    matter: it was proven beforehand that nothing was in it."""
    if command.name == "detach" and UNFLUSHED in said.lower():
        raise Refusal(
            "data_lost",
            f"The cache of {command.argv[-1]} failed, and LVM removed it without writing it back: "
            "whatever it alone held is lost.",
            "Stop the guest, check its file systems, and restore from a backup what is damaged.",
            argv=command.argv,
            rc=0,
            stderr=said,
        )


def _detached(host: Host, args: Args) -> Callable[[], Progress]:
    """The kernel writes dirty data back and then lets the cache go by itself."""

    def dirty() -> int | None:
        found = bcache.backing(host, kname(host, args))
        if found is None or found.state == "no cache":
            return None
        return found.dirty_bytes

    return _falling(host, dirty, -1)


def _bcache_flushed(host: Host, args: Args) -> Callable[[], Progress]:
    def dirty() -> int | None:
        found = bcache.backing(host, kname(host, args))
        return None if found is None else found.dirty_bytes

    return _falling(host, dirty, args["dirty_limit_bytes"])


def _once(label: str, met: Callable[[Host, Args], bool]) -> Callable[..., Callable[[], Progress]]:
    def begin(host: Host, args: Args) -> Callable[[], Progress]:
        return lambda: Progress(label, 0, 0, met(host, args))

    return begin


def _attached(host: Host, args: Args) -> bool:
    found = bcache.backing(host, kname(host, args))
    return found is not None and bool(found.cset_uuid == args["cset_uuid"])


def _backing_registered(host: Host, args: Args) -> bool:
    found = bcache.backing(host, kname(host, args))
    return found is not None and found.device is not None


def _cset_registered(host: Host, args: Args) -> bool:
    return bool(bcache.cache_set_of(host, kname(host, args)) == args["cset_uuid"])


def _cset_gone(host: Host, args: Args) -> bool:
    """Gone as a set and let go of its device: until then LVM could not remove the volume."""
    held = host.exists(bcache.folder(kname(host, args)))
    return not held and not host.exists(f"{bcache.FS}/{args['cset_uuid']}")


def _stopped(host: Host, args: Args) -> bool:
    """No bcache device any more, and the kernel has let go of the volume below it."""
    held = host.exists(bcache.folder(kname(host, args)))
    return not held and host.exclusive(device(args["vg"], args["lv"]))


def _room_zeroed(host: Host, args: Args) -> Callable[[], Progress]:
    more = args["size_bytes"] - args["from_bytes"]
    return _zeroed(host, {**args, "lv": room_name(args), "size_bytes": more})


def _left_zeroed(host: Host, args: Args) -> Callable[[], Progress]:
    return _zeroed(host, {"vg": args["vg"], "lv": held_name(args)})


def _moved(host: Host, args: Args) -> Callable[[], Progress]:
    return _rising(host, "moved", mirror.follow(host, lambda: kname(host, args)))


WAITS: Mapping[str, Wait] = {
    "zeroed": Wait(_zeroed, None),
    "room_zeroed": Wait(_room_zeroed, None),
    "left_zeroed": Wait(_left_zeroed, None),
    "moved": Wait(_moved, None),
    "flushed": Wait(_flushed, None),
    "bcache_flushed": Wait(_bcache_flushed, None),
    "detached": Wait(_detached, None),
    "attached": Wait(_once("attached", _attached), 60.0),
    "backing_registered": Wait(_once("registered", _backing_registered), 60.0),
    "cset_registered": Wait(_once("registered", _cset_registered), 60.0),
    "cset_gone": Wait(_once("unregistered", _cset_gone), 60.0),
    "stopped": Wait(_once("stopped", _stopped), 60.0),
}
