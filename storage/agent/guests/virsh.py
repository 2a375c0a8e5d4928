"""Informs a libvirt domain of its disk's new size. libvirt may hang, so the agent never waits for
it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Callable

from ..calls import names
from ..calls.refusals import Refusal
from ..commands.command import Args, Command, refusal_of
from ..kernel.local_host import LocalHost, MissingTool, TimedOut

VIRSH = ("virsh", "-q", "-c", "qemu:///system")
# libvirt itself gives up after 30 s where something else holds the domain.
SECONDS = 40.0
AFTER_IT = "The volume has its new size. The guest is informed when this has ended."
NEXT_START = "the guest sees the new size at its next start"
# libvirt's and QEMU's words for another job on the domain or on its disk.
_BUSY = re.compile(
    r"state change lock|in use|is busy|block job|does not allow|another job|permission conflict",
    re.I,
)
_AWAY = re.compile(
    r"failed to connect|socket is closed|end of file while reading|disconnected from|keepalive",
    re.I,
)
# The guest does not run any more, or uses another image now.
_GONE = re.compile(r"failed to get domain|not assigned to domain|not found in domain", re.I)


def blockresize(disk: Mapping[str, str], size_bytes: int) -> tuple[str, ...]:
    return (*VIRSH, "blockresize", disk["uuid"], disk["path"], f"{size_bytes}B")


def run_virsh(host: LocalHost, command: Command, args: Args, say: Callable[[str], None]) -> int:
    """Tell one domain the size that blockresize names. A disk that the domain sees with any
    other size than the volume's own before is left alone. Raises Refusal(guest_busy) while libvirt
    does not answer or the domain has a job at work, and what `refusal_of` says."""
    *_, uuid, path, _ = command.argv
    job = _job(host, uuid, path)
    if job:
        raise busy(uuid, f"{job} is running", "Wait until it has ended.")
    seen, wanted_bytes = _seen(host, command, uuid, path), args["size_bytes"]
    if seen == wanted_bytes:
        say(f"The domain {uuid} sees {wanted_bytes} bytes already.")
        return 0
    if seen is None or seen != args.get("from_bytes"):
        what = "no size" if seen is None else f"{seen} bytes, which is not what the volume had"
        say(f"The domain {uuid} sees {what}, so it is not informed: {NEXT_START}.")
        return 0
    rc, stdout, stderr = _ask(host, uuid, *command.argv[len(VIRSH) :])
    for line in (stdout + stderr).splitlines():
        say(names.quoted(line))
    if rc != 0:
        raise refusal_of(command, rc, stderr)
    return 0


def busy(who: str, why: str, correction: str) -> Refusal:
    return Refusal("guest_busy", f"The guest {who} is busy: {why}.", f"{correction} {AFTER_IT}")


def _job(host: LocalHost, uuid: str, path: str) -> str:
    """A backup, migration or copy of the domain or its disk that is at work; "" for none."""
    _, stdout, _ = _ask(host, uuid, "domjobinfo", uuid)
    operation = re.search(r"(?m)^Operation:\s*(\S.*?)\s*$", stdout)
    if operation:
        return names.quoted(operation.group(1)).lower()
    _, stdout, _ = _ask(host, uuid, "blockjob", uuid, path, "--raw")
    kind = re.search(r"(?m)^\s*type=(\S.*?)\s*$", stdout)
    return names.quoted(kind.group(1)).lower() if kind else ""


def _seen(host: LocalHost, command: Command, uuid: str, path: str) -> int | None:
    """The size that the guest sees, in bytes."""
    rc, stdout, stderr = _ask(host, uuid, "domblkinfo", uuid, path)
    if rc != 0 and not _GONE.search(stderr):
        raise refusal_of(command, rc, stderr)
    capacity = re.search(r"(?m)^Capacity:\s*(\d{1,19})\s*$", stdout)
    return int(capacity.group(1)) if capacity else None


def _ask(host: LocalHost, uuid: str, *words: str) -> tuple[int, str, str]:
    """virsh may be killed at any time: what it asked for is done by libvirt or not at all. Raises
    Refusal(guest_busy) where libvirt cannot be asked now, or something else holds the domain."""
    try:
        result = host.run([*VIRSH, *words], timeout=SECONDS)
    except MissingTool:
        raise Refusal(
            "missing_tool", "virsh is not installed on this host.", "Install libvirt-clients."
        ) from None
    except TimedOut:
        why = f"libvirt did not answer within {SECONDS:.0f} s"
        raise busy(uuid, why, "Look at libvirtd or virtqemud on the host.") from None
    if result.rc != 0 and _AWAY.search(result.stderr):
        raise busy(uuid, "libvirt does not answer", "Start libvirtd or virtqemud on the host.")
    if result.rc != 0 and _BUSY.search(result.stderr):
        why = names.quoted(result.stderr.strip())
        raise busy(uuid, why, "Wait until what holds it has ended.")
    return result.rc, result.stdout, result.stderr
