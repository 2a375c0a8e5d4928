"""A command, and the constructors for each kind of command. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..calls.refusals import Refusal

Args = Mapping[str, Any]

OURS = "tiercel"
ZEROING = "tiercel.zeroing"
# On a cache pool whose data part was zeroed before anything used it.
ZEROED = "tiercel.zeroed"
# On a volume that we are moving: any other pvmove was started by hand.
MOVING = "tiercel.moving"
FORMAT_BCACHE = "tiercel.format=bcache"
# What lvcreate made beside a volume; no verb gives these to an LV that is there already.
MADE_PREFIX = "tiercel.made="
MADE_POOL = f"{MADE_PREFIX}pool"
MADE_CSET = f"{MADE_PREFIX}cset"
MADE_ROOM = f"{MADE_PREFIX}room"
MADE_LEFT = f"{MADE_PREFIX}left"
# Zeroing rests between two of these only. To most disks the kernel writes it as one request.
ZERO_STEP = "1MiB"
DATA_OFFSET_SECTORS = 8192
# Clear signatures and the first 4 KiB.
WIPE = ("-Wy", "-Zy")
REGISTER = "/sys/fs/bcache/register_quiet"
# Stands for the host's clock, in seconds, at the moment when the command runs.
NOW = "<now>"
# How a command that takes long is made to rest: its program stands still, or the kernel's mirrors
# are throttled.
# Reads of the agent's own wait for their turn.
BY_STOPS, BY_MIRROR, BY_READS = "stops", "mirror", "reads"
# In place of a program: what the agent does by itself for a warm start.
COUNT_READS, WARM = "count", "warm"
# In place of a program: what the agent does by itself in a benchmark.
CHECK_CACHE, REMOVE_SCRATCH = "check-cache", "remove-scratch"
LOCKED = ("Resource temporarily unavailable", "Can't get lock")
NO_SPACE = ("nsufficient free space", "nsufficient suitable")
CONGESTION = ("congested_read_threshold_us", "congested_write_threshold_us")


@dataclass(frozen=True)
class Command:
    """One program or one sysfs write.

    `name` identifies a command within its verb, so that a resumed verb can leave out the finished
    ones. `watch` and `wait` name conditions of operations/waits.py: one whose progress is shown
    while the command runs, one that must hold after it. `locked` is False where the command runs
    without the agent's lock on the VG. `gives` names an LV that it removes and whose physical
    extents a later command takes. `reveals` is True where only its result shows which of the
    commands after it are still to be run: the others are then left out. `pace` says how its I/O
    rests, so that the other volumes on those disks keep their latency ("" = it does not). `noted`
    is True where it runs only once the host has noted what its next boot must bring back. `about`
    are arguments that its `watch`, its `wait` and its path see in place of those of the call.
    """

    name: str
    argv: tuple[str, ...]
    shell: str
    watch: str = ""
    wait: str = ""
    locked: bool = True
    gives: str = ""
    reveals: bool = False
    pace: str = ""
    noted: bool = False
    about: Args = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"argv": list(self.argv), "shell": self.shell}


def volume_tag(volume_key: str) -> str:
    return f"tiercel.volume={volume_key}"


def device(vg: str, lv: str) -> str:
    return f"/dev/{vg}/{lv}"


def lv_attribute(vg: str, lv: str, attribute: str) -> str:
    """Symbolic path of a bcache attribute of an LV: which dm-N it is, is known when it runs."""
    return f"/sys/block/<{vg}/{lv}>/bcache/{attribute}"


def run(name: str, *argv: str, watch: str = "", wait: str = "", locked: bool = True) -> Command:
    shell = " ".join(_quoted(word) for word in argv)
    return Command(name, argv, shell, watch, wait, locked)


def zero(path: str, watch: str = "zeroed") -> Command:
    """Zeros over all of a volume, without the agent's lock and at the others' pace."""
    argv = ("blkdiscard", "--zeroout", "--step", ZERO_STEP, path)
    return replace(run("zero", *argv, watch=watch, locked=False), pace=BY_STOPS)


def stamped(command: Command, wall_ns: int) -> list[str]:
    """The words to run, with the host's clock where the command asks for it."""
    return [word.replace(NOW, str(wall_ns // 1_000_000_000)) for word in command.argv]


def _quoted(word: str) -> str:
    head, clock, tail = word.partition(NOW)
    return f'"{head}$(date +%s){tail}"' if clock else shlex.quote(word)


def write(name: str, path: str, value: str, wait: str = "", shown: str = "") -> Command:
    shell = f"echo {shlex.quote(value)} > {shown or path}"
    return Command(name, ("write", path, value), shell, wait=wait)


def lv_write(args: Args, attribute: str, value: str, wait: str = "", name: str = "") -> Command:
    vg, lv = args["vg"], args["lv"]
    shown = f"/sys/block/$(basename $(realpath {device(vg, lv)}))/bcache/{attribute}"
    return write(name or attribute, lv_attribute(vg, lv, attribute), value, wait, shown)


def tags(*tags: str) -> list[str]:
    return [word for tag in tags for word in ("--addtag", tag)]


def lvcreate(
    args: Args, kind: Sequence[str], *, settings: Sequence[str] = (), marks: Sequence[str] = ()
) -> Command:
    """`kind` and `settings` around the name and the size; the PVs to lie on are always given."""
    words = ["lvcreate", "-y", *kind, "-n", args["name"], "-L", f"{args['size_bytes']}b"]
    words += [*settings, *tags(OURS, volume_tag(args["volume_key"]), *marks), args["vg"]]
    return run("create", *words, *(f"/dev/{pv}" for pv in args["pvs"]))


def refusal_of(command: Command, rc: int, stderr: str) -> Refusal:
    """The refusal for a command that ended with exit code `rc`."""
    code = "cmd_failed"
    correction = "Read the command's output, fix the cause on the host, then plan again."
    if any(sign in stderr for sign in LOCKED):
        code, correction = "busy", "Another LVM command holds the VG. Try again when it has ended."
    elif any(sign in stderr for sign in NO_SPACE):
        code, correction = "no_space", "Request less space, or add a device to the VG."
    stderr_lines = stderr.strip().splitlines()
    last = f": {stderr_lines[-1].strip()}" if stderr_lines else "."
    return Refusal(
        code,
        f"{command.argv[0]} failed with exit code {rc}{last}",
        correction,
        argv=command.argv,
        rc=rc,
        stderr=stderr,
    )
