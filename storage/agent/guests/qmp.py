"""QEMU's monitor: its socket, its disk on a device, and a new size for that disk."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from ..calls import names
from ..calls.names import MAX_BYTES
from ..calls.refusals import Refusal
from ..commands.command import Args, Command
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from ..kernel.paths import Paths
from . import guest_configs
from .users import of_devices

Answer = Any
REPLY_LIMIT = 4 * 1024 * 1024
PIECE = 64 * 1024
DIGITS_LIMIT = 20
NEXT_START = "the guest sees the new size at its next start"
BY_HAND = "it is not informed; resize it with its hypervisor"
AFTER_IT = "The volume has its new size. The guest is informed when this has ended."
# Informed through their QEMU monitor. libvirt informs its own guests (guests/virsh.py).
MONITOR_KINDS = ("qemu", "proxmox")
MIGRATING = ("setup", "active", "device", "pre-switchover", "postcopy-active", "postcopy-paused")
# QEMU's words for a disk that a job of its own keeps.
_BUSY = re.compile(r"in use|is busy|does not allow|is locked", re.I)


def talk(path: str, commands: Sequence[Mapping[str, Any]], timeout: float) -> list[Answer]:
    """Say commands to the monitor behind a Unix socket, one after the other, and return what each
    returned; the whole talk takes `timeout` seconds at most. Raises OSError, also where that is
    over, a command is refused or what comes is no QMP."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        monitor = _Talk(channel, time.monotonic() + timeout)
        monitor.connect(path)
        # QEMU flushes to us the events that the previous client did not read.
        while "QMP" not in (greeting := monitor.message()):
            if "event" not in greeting:
                raise OSError(f"{path} is no QMP monitor")
        answers = []
        for command in ({"execute": "qmp_capabilities"}, *commands):
            monitor.say(command)
            answers.append(_answer(monitor))
    return answers[1:]


class Silent(OSError):
    """The monitor is there and does not answer in time: another program may hold it."""


class _Talk:
    """Lines to and from a monitor until a moment of the monotonic clock. A guest that sends endless
    events, or an endless line, must not hold up the owner of the lock on the volume group."""

    def __init__(self, channel: socket.socket, end: float) -> None:
        self._channel = channel
        self._end = end
        self._come = b""

    def connect(self, path: str) -> None:
        self._hurry()
        self._channel.connect(path)

    def say(self, command: Mapping[str, Any]) -> None:
        self._hurry()
        try:
            self._channel.sendall(json.dumps(command).encode() + b"\n")
        except socket.timeout:
            raise Silent("timed out") from None

    def message(self) -> dict[str, Any]:
        """The next one. Raises OSError where none comes in time or what comes is no QMP."""
        pieces = [self._come]
        size = len(self._come)
        while b"\n" not in pieces[-1]:
            if size > REPLY_LIMIT:
                raise OSError("the monitor does not speak QMP")
            self._hurry()
            try:
                piece = self._channel.recv(PIECE)
            except socket.timeout:
                raise Silent("timed out") from None
            if not piece:
                raise OSError("the monitor hung up")
            pieces.append(piece)
            size += len(piece)
        line, _, self._come = b"".join(pieces).partition(b"\n")
        try:
            message = json.loads(line, parse_int=_whole)
        except (ValueError, RecursionError):
            raise OSError("the monitor does not speak QMP") from None
        if not isinstance(message, dict):
            raise OSError("the monitor does not speak QMP")
        return message

    def _hurry(self) -> None:
        left_seconds = self._end - time.monotonic()
        if left_seconds <= 0:
            raise Silent("timed out")
        self._channel.settimeout(left_seconds)


def _whole(digits: str) -> int:
    """Python takes minutes for a number of a million digits."""
    if len(digits) > DIGITS_LIMIT:
        raise ValueError("a number that is none")
    return int(digits)


def _answer(monitor: _Talk) -> Answer:
    while True:
        message = monitor.message()
        if "error" in message:
            error = message["error"]
            raise OSError(names.quoted(error.get("desc") if isinstance(error, dict) else error))
        if "return" in message:
            return message["return"]
        # Events may come at any time.


def sockets(words: Sequence[str]) -> tuple[str, ...]:
    """Paths of the QMP server sockets of a QEMU command line: `-qmp unix:PATH,…`, or a
    `-chardev socket,id=X,path=PATH` that a `-mon chardev=X,mode=control` uses."""
    paths: list[str] = []
    by_id: dict[str, str] = {}
    controls: list[str] = []
    for word, value in zip(words, words[1:]):
        option = word.lstrip("-")
        first, *rest = value.split(",")
        fields = dict(part.split("=", 1) for part in [first, *rest] if "=" in part)
        if option in ("qmp", "qmp-pretty") and first.startswith("unix:"):
            paths.append(first[len("unix:") :])
        elif option == "chardev" and first == "socket" and "path" in fields:
            by_id[fields.get("id", "")] = fields["path"]
        elif option == "mon" and fields.get("mode") == "control":
            controls.append(fields.get("chardev", first))
    paths += [by_id[name] for name in controls if name in by_id]
    return tuple(path for path in paths if path.startswith("/"))


def run_qmp(host: LocalHost, command: Command, args: Args, say: Callable[[str], None]) -> int:
    """Tell every QEMU that holds the volume its size (growth.guest_resize), and say what became of
    it. Raises Refusal(guest_busy) where a monitor does not answer or a job keeps the disk, and
    Refusal(cmd_failed) where it does not do it."""
    _, _, name, size = command.argv
    before = args.get("from_bytes", 0)
    for sentence in _resize_all(host, f"/dev/{name}", before, int(size)):
        say(sentence)
    return 0


def _resize_all(host: LocalHost, path: str, from_bytes: int, size_bytes: int) -> list[str]:
    device = host.rdev(path)
    users = of_devices(host, [device])[device] if device else []
    # libvirt holds the monitors of its own guests.
    pids = [user["pid"] for user in users if user["pid"] and user["kind"] in MONITOR_KINDS]
    sentences = []
    for pid in dict.fromkeys(pids):
        words = text(host, f"/proc/{pid}/cmdline").split("\0")
        paths = sockets(words)
        if not paths:
            sentences.append(f"Process {pid} has no monitor for programs: {NEXT_START}.")
        for monitor in paths[:1]:
            sentences += resize(host, monitor, str(device), from_bytes, size_bytes)
    return sentences or [f"No guest holds the volume: {NEXT_START}."]


def resize(host: LocalHost, path: str, device: str, from_bytes: int, size_bytes: int) -> list[str]:
    """Resize the disks of the QEMU behind a monitor; a sentence for each disk on the device. Only a
    raw image that is as large as the device was is resized: any other would be cut, or grow over
    its own metadata."""
    paths = Paths(host)
    sentences = []
    try:
        (blocks,) = host.qmp(path, [{"execute": "query-block"}])
        for disk in _disks(blocks):
            if paths.device(disk.path) != device:
                continue
            if disk.format != "raw":
                sentences.append(f"Its image is {disk.format or 'of no known format'}: {BY_HAND}.")
            elif disk.size_bytes == size_bytes:
                sentences.append(f"The guest behind {path} sees {size_bytes} bytes.")
            elif disk.size_bytes != from_bytes:
                what = "which is not what the volume had"
                sentences.append(f"Its disk has {disk.size_bytes} bytes, {what}: {BY_HAND}.")
            else:
                sized = {**disk.which, "size": size_bytes}
                host.qmp(path, [{"execute": "block_resize", "arguments": sized}])
                sentences.append(f"The guest behind {path} sees {size_bytes} bytes.")
    except OSError as error:
        raise _refusal(host, path, error) from None
    return sentences or [f"The monitor {path} shows no disk on this volume: {NEXT_START}."]


def _refusal(host: LocalHost, path: str, error: OSError) -> Refusal:
    why = names.quoted(error)
    if isinstance(error, Silent):
        return Refusal(
            "guest_busy",
            f"The guest is busy: its monitor {path} does not answer.",
            f"Another program may hold the monitor. {AFTER_IT}",
        )
    if _BUSY.search(why):
        job = _job(host, path)
        return Refusal(
            "guest_busy",
            f"The guest is busy: {job} running." if job else f"The guest is busy: {why}.",
            f"Wait until it has ended. {AFTER_IT}",
        )
    return Refusal(
        "cmd_failed",
        f"The guest was not informed of its new size. Its monitor {path} answered: {why}.",
        "Try again, or restart the guest. The volume itself has its new size.",
    )


def _job(host: LocalHost, path: str) -> str:
    """The job that keeps a disk of the guest: a backup, a mirror, a migration; "" where QEMU does
    not tell."""
    try:
        jobs, migration = host.qmp(
            path, [{"execute": "query-block-jobs"}, {"execute": "query-migrate"}]
        )
    except OSError:
        return ""
    kinds = [job.get("type") for job in jobs if isinstance(job, dict)] if _is_list(jobs) else []
    if isinstance(migration, dict) and migration.get("status") in MIGRATING:
        kinds.append("migration")
    return ", ".join(names.quoted(kind) for kind in kinds[:4] if isinstance(kind, str))


def _is_list(value: Answer) -> bool:
    return isinstance(value, list)


@dataclass(frozen=True)
class _Disk:
    """A disk as query-block shows it; `which` names it to QEMU, `size_bytes` is what the guest
    sees, `format` "" where that is odd."""

    which: Mapping[str, str]
    path: str
    size_bytes: int
    format: str


def _disks(blocks: Answer) -> list[_Disk]:
    disks = []
    for block in blocks if isinstance(blocks, list) else ():
        inserted = block.get("inserted") if isinstance(block, dict) else None
        image = inserted.get("image") if isinstance(inserted, dict) else None
        if not isinstance(inserted, dict) or not isinstance(image, dict):
            continue
        name, node = block.get("device"), inserted.get("node-name")
        which = {"device": name} if name else {"node-name": node} if node else None
        path, size = image.get("filename"), image.get("virtual-size")
        if which and isinstance(path, str) and type(size) is int and 0 <= size <= MAX_BYTES:
            path, image_format = _image(image)
            named = {key: str(value) for key, value in which.items()}
            disks.append(_Disk(named, path, size, image_format))
    return disks


def _image(image: Mapping[str, Any]) -> tuple[str, str]:
    """Path and format of an image. QEMU says "json:{…}" for the name of one that options change,
    and puts what a filter stands on below it: while a backup runs there is one."""
    filename = image["filename"]
    if filename.startswith("json:"):
        drive = guest_configs.node(filename[len("json:") :])
        return drive.path, drive.format
    below: Answer = image
    try:
        while names.image_format(below["format"]) in guest_configs.FILTERS:
            below = below["backing-image"]
        image_format: str = below["format"]
    except (ValueError, LookupError, TypeError):
        return filename, ""
    return filename, "raw" if image_format in guest_configs.PROTOCOLS else image_format
