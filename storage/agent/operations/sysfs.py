"""A command that is one write to a file in sysfs."""

from __future__ import annotations

import errno
from typing import Callable

from ..calls.refusals import Refusal
from ..commands.command import Args, Command
from ..kernel.local_host import LocalHost
from .waits import kname

_MEANINGS = {
    errno.EINVAL: "the kernel does not accept it for this device (dmesg may say why)",
    errno.ENOENT: "the kernel does not know that cache set, or the data belongs to another one",
    errno.EBUSY: "the device is in use",
}


def run_sysfs(host: LocalHost, command: Command, args: Args, say: Callable[[str], None]) -> int:
    """Write, and return 0. Raises Refusal(cmd_failed | not_found)."""
    _, target, value = command.argv
    path = resolve_path(host, target, args)
    try:
        host.write(path, value)
    except OSError as error:
        meaning = _MEANINGS.get(error.errno or 0, str(error.strerror))
        say(f"{path}: {error.strerror}")
        raise Refusal(
            "cmd_failed",
            f"Writing {value} to {path} failed: {meaning}.",
            "Look at the last lines of `dmesg` on the host; then plan again.",
            argv=command.argv,
            rc=error.errno,
            stderr=str(error.strerror),
        ) from None
    return 0


def resolve_path(host: LocalHost, target: str, args: Args) -> str:
    """The real path of a symbolic `/sys/block/<VG/LV>/bcache/…`."""
    head, opening, rest = target.partition("<")
    if not opening:
        return target
    name = kname(host, args)
    if not name:
        raise Refusal(
            "not_found",
            f"{rest.partition('>')[0]} has no device node.",
            f"Activate it: lvchange -ay {rest.partition('>')[0]}",
        )
    return f"{head}{name}{rest.partition('>')[2]}"
