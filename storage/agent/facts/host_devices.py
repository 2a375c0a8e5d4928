"""The devices of the host itself: its root, /boot, /usr, /var, swap and the like, and everything
below them.
They are never changed: a host that cannot start takes all its guests with it."""

from __future__ import annotations

import re

from ..kernel import disks
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from ..kernel.paths import Paths, mounted

# What is mounted there, or below it, the host needs to start and to run.
_OWN = re.compile(
    r"/|/(?:bin|boot|efi|etc|lib|lib32|lib64|nix|ostree|root|sbin|sysroot|usr|var)(?:/.*)?"
)
_DEPTH = 16


def is_own(mount_point: str) -> bool:
    """Whether the host needs what is mounted there; the point as mountinfo has it."""
    return _OWN.fullmatch(mount_point) is not None


def host_uses(host: LocalHost) -> dict[str, str]:
    """Kernel name of each device that holds a part of the host itself, with what it holds."""
    use_by_kname: dict[str, str] = {}
    mounts = [
        (each.device, f"mounted at {each.point}") for each in mounted(host) if is_own(each.point)
    ]
    for device, use in [*mounts, *_swaps(host)]:
        kname = disks.kname_of(host, device)
        if kname is not None:
            _below(host, kname, use, use_by_kname)
    return use_by_kname


def _swaps(host: LocalHost) -> list[tuple[str, str]]:
    swaps = []
    paths = Paths(host)
    for line in text(host, "/proc/swaps").splitlines()[1:]:
        words = line.split()
        device = paths.device(words[0]) if words and words[0].startswith("/dev/") else None
        if device is not None:
            swaps.append((device, "swap"))
    return swaps


def _below(
    host: LocalHost, kname: str, use: str, use_by_kname: dict[str, str], depth: int = _DEPTH
) -> None:
    """The device itself, and whatever it stands on."""
    if kname in use_by_kname or depth == 0:
        return
    use_by_kname[kname] = use
    for lower in host.list(f"/sys/class/block/{kname}/slaves"):
        _below(host, lower, use, use_by_kname, depth - 1)
    whole = disks.whole(host, kname)
    if whole != kname:
        _below(host, whole, use, use_by_kname, depth - 1)
