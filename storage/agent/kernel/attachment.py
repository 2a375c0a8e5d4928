"""How the disks below a device are attached, from sysfs: which of them fail together, and which of
them other machines may reach too."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from . import array_state, disks
from .dm import text
from .local_host import LocalHost

REDUNDANT_LEVELS = frozenset(("raid1", "raid4", "raid5", "raid6", "raid10"))
_DEPTH = 16
_NETWORKED = {
    r"drbd\d+": "DRBD",
    r"nbd\d+": "NBD",
    r"rbd\d+": "Ceph RBD",
    r"rnbd\d+": "RNBD",
    r"etherd!e\d+\.\d+": "ATA over Ethernet",
}
# A SCSI disk's place in sysfs names what leads to it.
_SCSI = (("/rport-", "Fibre Channel"), ("/session", "iSCSI"))
_LOCAL_NVME = frozenset(("pcie", "apple-nvme", "loop"))


def controllers(host: LocalHost, kname: str) -> frozenset[str]:
    """What the device rests on, down to things that fail as one: a disk, an NVMe controller with
    all its namespaces, a multipath disk with all its paths."""
    return frozenset(_controller(host, leaf) for leaf in _leaves(host, kname))


def redundancy(host: LocalHost, kname: str, depth: int = _DEPTH) -> tuple[bool, bool]:
    """(redundant, healthy) of a device. md decides; a dm device (LUKS, linear) is what all its
    parts are. Two paths of one multipath disk are not redundancy: neither path is."""
    base = disks.whole(host, kname)
    if disks.is_array(host, base):
        array = disks.array(host, base)
        # A spare holds nothing: a mirror of one place and a spare is no mirror.
        places = [member["name"] for member in array["members"] if not disks.is_spare(member)]
        under = [controllers(host, name) for name in places]
        redundant = array["level"] in REDUNDANT_LEVELS and _apart(array["level"], under)
        return redundant, array_state.is_well(array)
    parts = host.list(f"/sys/block/{base}/slaves")
    if not parts or depth == 0:
        return False, True
    results = [redundancy(host, part, depth - 1) for part in parts]
    return all(each for each, _ in results), all(each for _, each in results)


def _apart(level: str, under: Sequence[frozenset[str]]) -> bool:
    """Whether the members survive the loss of any one disk: of a mirror two that share none do, of
    any other array none may share one."""
    pairs = [not (one & two) for one, two in itertools.combinations(under, 2)]
    return any(pairs) if level == "raid1" else bool(pairs) and all(pairs)


def elsewhere(host: LocalHost, kname: str) -> str:
    """By what other machines may reach a disk under the device too; "" where all are local."""
    for leaf in _leaves(host, kname):
        for pattern, name in _NETWORKED.items():
            if re.fullmatch(pattern, leaf):
                return name
        if _is_multipath(host, leaf):
            return "multipath"
        real = host.real(f"/sys/block/{leaf}") or ""
        for sign, name in _SCSI:
            if sign in real:
                return name
        fabric = next(
            (each for each in _nvme_transports(host, leaf) if each not in _LOCAL_NVME), ""
        )
        if fabric:
            return f"NVMe over {fabric}"
    return ""


def _leaves(host: LocalHost, kname: str, depth: int = _DEPTH) -> Iterator[str]:
    base = disks.whole(host, kname)
    below = host.list(f"/sys/block/{base}/slaves")
    if not below or depth == 0 or _is_multipath(host, base):
        yield base
        return
    for each in below:
        yield from _leaves(host, each, depth - 1)


def _is_multipath(host: LocalHost, kname: str) -> bool:
    return kname.startswith("dm-") and text(host, f"/sys/block/{kname}/dm/uuid").startswith(
        "mpath-"
    )


def _controller(host: LocalHost, leaf: str) -> str:
    if leaf.startswith("nvme"):
        real = host.real(f"/sys/block/{leaf}/device")
        return leaf if real is None else real.rsplit("/", 1)[-1]
    return leaf


def _nvme_transports(host: LocalHost, leaf: str) -> Iterator[str]:
    """Of each controller that leads to the namespace."""
    if not leaf.startswith("nvme"):
        return
    here = f"/sys/block/{leaf}/device"
    paths = [f"{here}/{name}" for name in host.list(here) if re.fullmatch(r"nvme\d+", name)]
    for path in paths or [here]:
        transport = text(host, f"{path}/transport")
        if transport:
            yield transport
