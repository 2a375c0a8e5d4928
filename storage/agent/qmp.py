"""QEMU's monitor: its socket, its disk on a device, and a new size for that disk."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from .command import Command
from .dm import text
from .errors import Refusal
from .host import Host
from .paths import Paths
from .users import of_devices

Answer = Any
REPLY_LIMIT = 4 * 1024 * 1024
PIECE = 64 * 1024
NEXT_START = "the guest sees the new size at its next start"


def talk(path: str, commands: Sequence[Mapping[str, Any]], timeout: float) -> list[Answer]:
    """Say commands to the monitor behind a Unix socket, one after the other, and return what each
    returned; the whole talk takes `timeout` seconds at most. Raises OSError, also where that is
    over, a command is refused or what comes is no QMP."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        monitor = _Talk(channel, time.monotonic() + timeout)
        monitor.connect(path)
        if "QMP" not in monitor.message():
            raise OSError(f"{path} is no QMP monitor")
        answers = []
        for command in ({"execute": "qmp_capabilities"}, *commands):
            monitor.say(command)
            answers.append(_answer(monitor))
    return answers[1:]


class _Talk:
    """Lines to and from a monitor until a moment of the monotonic clock. A guest that makes events
    without end, or a line, must not keep whoever holds the volume group."""

    def __init__(self, channel: socket.socket, end: float) -> None:
        self._channel = channel
        self._end = end
        self._come = b""

    def connect(self, path: str) -> None:
        self._hurry()
        self._channel.connect(path)

    def say(self, command: Mapping[str, Any]) -> None:
        self._hurry()
        self._channel.sendall(json.dumps(command).encode() + b"\n")

    def message(self) -> dict[str, Any]:
        """The next one. Raises OSError where none comes in time or what comes is no QMP."""
        pieces = [self._come]
        size = len(self._come)
        while b"\n" not in pieces[-1]:
            if size > REPLY_LIMIT:
                raise OSError("the monitor does not speak QMP")
            self._hurry()
            piece = self._channel.recv(PIECE)
            if not piece:
                raise OSError("the monitor hung up")
            pieces.append(piece)
            size += len(piece)
        line, _, self._come = b"".join(pieces).partition(b"\n")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise OSError("the monitor does not speak QMP") from None
        if not isinstance(message, dict):
            raise OSError("the monitor does not speak QMP")
        return message

    def _hurry(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise OSError("timed out")
        self._channel.settimeout(left)


def _answer(monitor: _Talk) -> Answer:
    while True:
        message = monitor.message()
        if "error" in message:
            error = message["error"]
            raise OSError(str(error.get("desc") if isinstance(error, dict) else error))
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


def run(host: Host, command: Command, say: Callable[[str], None]) -> int:
    """Tell every QEMU that holds the volume its size (growth.guest_resize), and say what became of
    it. Raises Refusal(cmd_failed) where a monitor is there and does not do it."""
    _, _, name, size = command.argv
    for sentence in _resize_all(host, f"/dev/{name}", int(size)):
        say(sentence)
    return 0


def _resize_all(host: Host, path: str, size_bytes: int) -> list[str]:
    device = host.rdev(path)
    users = of_devices(host, [device])[device] if device else []
    said = []
    for pid in dict.fromkeys(user["pid"] for user in users if user["pid"] is not None):
        words = text(host, f"/proc/{pid}/cmdline").split("\0")
        paths = sockets(words)
        if not paths:
            said.append(f"Process {pid} has no monitor for programs: {NEXT_START}.")
        for monitor in paths[:1]:
            said.append(_resize(host, monitor, str(device), size_bytes))
    return said or [f"No guest holds the volume: {NEXT_START}."]


def _resize(host: Host, path: str, device: str, size_bytes: int) -> str:
    try:
        (blocks,) = host.qmp(path, [{"execute": "query-block"}])
        paths = Paths(host)
        disks = [disk for disk in _disks(blocks) if paths.device(disk[1]) == device]
        for arguments, _, size in disks:
            if size != size_bytes:
                sized = {**arguments, "size": size_bytes}
                host.qmp(path, [{"execute": "block_resize", "arguments": sized}])
    except OSError as error:
        raise Refusal(
            "cmd_failed",
            f"The guest was not told its new size: its monitor {path} says: {error}.",
            "Another program may hold the monitor: try again, or restart the guest. The volume "
            "itself has its new size.",
        ) from None
    if not disks:
        return f"The monitor {path} shows no disk on this volume: {NEXT_START}."
    return f"The guest behind {path} sees {size_bytes} bytes."


def _disks(blocks: Answer) -> list[tuple[dict[str, str], str, int]]:
    """(which disk, its file, the size its guest sees) of each disk of `query-block`."""
    found = []
    for block in blocks if isinstance(blocks, list) else ():
        inserted = block.get("inserted") if isinstance(block, dict) else None
        image = inserted.get("image") if isinstance(inserted, dict) else None
        if not isinstance(inserted, dict) or not isinstance(image, dict):
            continue
        name, node = block.get("device"), inserted.get("node-name")
        which = {"device": name} if name else {"node-name": node} if node else None
        path, size = image.get("filename"), image.get("virtual-size")
        if which and isinstance(path, str) and type(size) is int:
            found.append(({key: str(value) for key, value in which.items()}, path, size))
    return found
