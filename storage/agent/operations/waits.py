"""Conditions that take time: the progress of a command, and the state that must hold after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable

from ..benchmark import scratch
from ..calls.refusals import Refusal
from ..commands.command import Args, Command, device
from ..commands.vacated_extents import held_name
from ..kernel import bcache_sysfs, disks, dm, mirror
from ..kernel.dm import SECTOR
from ..kernel.local_host import LocalHost
from ..verbs.extend import room_name
from .pace import Others, Pace, RemainingWork

# How long an array may rest before it begins to fill a disk.
IDLE_SECONDS = 60.0
UNFLUSHED = "flush for failed cache"
"""Of LVM's warning "Skippping flush for failed cache VG/LV.", however it spells its first word."""


@dataclass(frozen=True)
class WorkProgress:
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
class WaitCondition:
    """`begin` reads once what to compare with, and returns the question. `seconds` after which a
    wait has failed; None = as long as it takes, and the lock on the VG is not held meanwhile."""

    begin: Callable[[LocalHost, Args], Callable[[], WorkProgress]]
    seconds: float | None


def kname(host: LocalHost, args: Args) -> str:
    """dm-N of the verb's LV; "" when its node is gone."""
    return dm.kname(host, args["vg"], args["lv"] if "lv" in args else args["name"])


def kname_at(host: LocalHost, path: str) -> str:
    """Of a volume by its path, /dev/VG/LV."""
    vg, lv = path.split("/")[2:4]
    return dm.kname(host, vg, lv)


def _rising(
    host: LocalHost, label: str, ask: Callable[[], tuple[int, int]]
) -> Callable[[], WorkProgress]:
    """Work whose rest only becomes less, of (done, total) bytes."""
    remaining: RemainingWork | None = None

    def progress() -> WorkProgress:
        nonlocal remaining
        done, total = ask()
        if not total:
            return WorkProgress(label, done, total, False)
        at_ns = host.boottime_ns()
        remaining = remaining or RemainingWork(at_ns, total - done)
        pace = remaining.update(at_ns, total - done, 0)
        return WorkProgress(label, done, total, done >= total, pace)

    return progress


def _zeroed(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
    """Sectors written by dm-N since the start: field 7 of its stat file."""
    stat = f"/sys/block/{kname(host, args)}/stat"
    size = dm.text(host, f"/sys/block/{kname(host, args)}/size")
    total = args["size_bytes"] if "size_bytes" in args else int(size or 0) * SECTOR
    first = _written(host, stat)

    def ask() -> tuple[int, int]:
        return min(total, (_written(host, stat) - first) * SECTOR), total

    return _rising(host, "zeroed", ask)


def _laid_out(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
    """The data of a benchmark, by what its volume has written since the start."""
    stat = f"/sys/block/{dm.kname(host, args['vg'], scratch.data_name(args['key']))}/stat"
    total = args["data_bytes"] + scratch.junk_bytes(args)
    first = _written(host, stat)

    def ask() -> tuple[int, int]:
        return min(total, (_written(host, stat) - first) * SECTOR), total

    return _rising(host, "laid_out", ask)


def _written(host: LocalHost, stat: str) -> int:
    words = dm.text(host, stat).split()
    return int(words[6]) if len(words) > 6 else 0


def _falling(
    host: LocalHost, dirty: Callable[[], int | None], limit: int
) -> Callable[[], WorkProgress]:
    """Flushing from what is dirty now down to a limit; None dirty = the cache is gone."""
    first = dirty() or 0
    remaining = RemainingWork(host.boottime_ns(), first)

    def ask() -> WorkProgress:
        dirty_bytes = dirty()
        if dirty_bytes is None:
            return WorkProgress("flushed", remaining.peak, remaining.peak, True)
        pace = remaining.update(host.boottime_ns(), dirty_bytes, max(0, limit))
        # Writes go on meanwhile, so what is dirty may rise above where it began.
        return WorkProgress(
            "flushed", remaining.peak - dirty_bytes, remaining.peak, dirty_bytes <= limit, pace
        )

    return ask


def _flushed(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
    name = dm.text(host, f"/sys/block/{kname(host, args)}/dm/name")

    def dirty() -> int | None:
        statuses = dm.caches(host)
        # With a classic snapshot the cache sits on the layer below the volume.
        status = statuses.get(name) or statuses.get(f"{name}-real")
        if status is not None and status.dirty_bytes is None:
            raise Refusal(
                "degraded",
                f"The cache of {args['vg']}/{args['lv']} has failed while it was flushed: it is "
                "unknown how much of its data is not on the disk yet.",
                "Do not remove it: what it alone holds would be lost. Stop the guest and run: "
                "lvchange -an, lvconvert --repair, lvchange -ay.",
            )
        return None if status is None else status.dirty_bytes

    return _falling(host, dirty, args["dirty_limit_bytes"])


def demand_flushed(command: Command, output: str) -> None:
    """Raises Refusal(data_lost) where LVM took a cache off without flushing it: a cache that fails
    during the detach is only warned of, with exit code 0. A lost cache that is dropped is another
    matter: it was proven beforehand that nothing was in it."""
    if command.name == "detach" and UNFLUSHED in output.lower():
        raise Refusal(
            "data_lost",
            f"The cache of {command.argv[-1]} failed, and LVM removed it without writing it back: "
            "whatever it alone held is lost.",
            "Stop the guest, check its file systems, and restore from a backup what is damaged.",
            argv=command.argv,
            rc=0,
            stderr=output,
        )


def _detached(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
    """The kernel writes dirty data back and then lets the cache go by itself."""

    def dirty() -> int | None:
        backing = bcache_sysfs.backing(host, kname(host, args))
        if backing is None or backing.state == "no cache":
            return None
        return backing.dirty_bytes

    return _falling(host, dirty, -1)


def _bcache_flushed(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
    def dirty() -> int | None:
        backing = bcache_sysfs.backing(host, kname(host, args))
        return None if backing is None else backing.dirty_bytes

    return _falling(host, dirty, args["dirty_limit_bytes"])


def _once(
    label: str, met: Callable[[LocalHost, Args], bool]
) -> Callable[..., Callable[[], WorkProgress]]:
    def begin(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
        return lambda: WorkProgress(label, 0, 0, met(host, args))

    return begin


def _attached(host: LocalHost, args: Args) -> bool:
    backing = bcache_sysfs.backing(host, kname(host, args))
    return backing is not None and bool(backing.cset_uuid == args["cset_uuid"])


def _backing_registered(host: LocalHost, args: Args) -> bool:
    backing = bcache_sysfs.backing(host, kname(host, args))
    return backing is not None and backing.device is not None


def _cset_registered(host: LocalHost, args: Args) -> bool:
    return bool(bcache_sysfs.cache_set_of(host, kname(host, args)) == args["cset_uuid"])


def _cset_gone(host: LocalHost, args: Args) -> bool:
    """Gone as a set, and its device is released: until then LVM could not remove the volume."""
    is_held = host.exists(bcache_sysfs.folder(kname(host, args)))
    return not is_held and not host.exists(f"{bcache_sysfs.FS}/{args['cset_uuid']}")


def _stopped(host: LocalHost, args: Args) -> bool:
    """No bcache device any more, and the kernel has released the volume below it."""
    is_held = host.exists(bcache_sysfs.folder(kname(host, args)))
    return not is_held and host.exclusive(device(args["vg"], args["lv"]))


def _room_zeroed(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
    more = args["size_bytes"] - args["from_bytes"]
    return _zeroed(host, {**args, "lv": room_name(args), "size_bytes": more})


def _left_zeroed(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
    return _zeroed(host, {"vg": args["vg"], "lv": held_name(args)})


def _moved(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
    return _rising(host, "moved", mirror.follow_mirror(host, lambda: kname(host, args)))


def _rebuilt(host: LocalHost, args: Args) -> Callable[[], WorkProgress]:
    """A disk gets all data of its array: as much as the kernel has copied, until it is a member
    like the others."""
    name, device = args["array"], args["device"]
    remaining: RemainingWork | None = None
    idle_since_ns: int | None = None

    def ask() -> WorkProgress:
        nonlocal remaining, idle_since_ns
        array, at_ns = disks.array(host, name), host.boottime_ns()
        member = next((each for each in array["members"] if each["name"] == device), None)
        if member is None or disks.has_failed(member):
            raise Refusal(
                "degraded",
                f"{device} failed while {name} was rebuilt onto it.",
                "Look at `dmesg` on the host, and use another disk.",
            )
        done, total = (
            (array[key] or 0) * SECTOR for key in ("sync_done_sectors", "sync_total_sectors")
        )
        if disks.is_in_place(member):
            return WorkProgress("rebuilt", total, total, True)
        if array["sync_action"] == "idle":
            idle_since_ns = at_ns if idle_since_ns is None else idle_since_ns
            if at_ns - idle_since_ns > IDLE_SECONDS * 1e9:
                raise Refusal(
                    "timeout",
                    f"The kernel does not rebuild {name}.",
                    "Look at the last lines of `dmesg` on the host, then plan again.",
                )
            return WorkProgress("rebuilt", 0, 0, False)
        idle_since_ns = None
        if not total:
            return WorkProgress("rebuilt", 0, 0, False)
        remaining = remaining or RemainingWork(at_ns, total - done)
        pace = remaining.update(at_ns, total - done, 0)
        return WorkProgress("rebuilt", done, total, False, pace)

    return ask


WAITS: Mapping[str, WaitCondition] = {
    "zeroed": WaitCondition(_zeroed, None),
    "laid_out": WaitCondition(_laid_out, None),
    "room_zeroed": WaitCondition(_room_zeroed, None),
    "left_zeroed": WaitCondition(_left_zeroed, None),
    "moved": WaitCondition(_moved, None),
    "rebuilt": WaitCondition(_rebuilt, None),
    "flushed": WaitCondition(_flushed, None),
    "bcache_flushed": WaitCondition(_bcache_flushed, None),
    "detached": WaitCondition(_detached, None),
    "attached": WaitCondition(_once("attached", _attached), 60.0),
    "backing_registered": WaitCondition(_once("registered", _backing_registered), 60.0),
    "cset_registered": WaitCondition(_once("registered", _cset_registered), 60.0),
    "cset_gone": WaitCondition(_once("unregistered", _cset_gone), 60.0),
    "stopped": WaitCondition(_once("stopped", _stopped), 60.0),
}
