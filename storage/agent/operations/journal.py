"""The journal of operations: marks that are written once, and how long records are kept."""

from __future__ import annotations

from ..calls.refusals import Refusal
from ..kernel.dm import text
from ..kernel.local_host import LocalHost

# Marks beside a record. The process that makes the first may run the operation, or declare it dead.
BEGUN = "begun"
ABORT = "abort"
# It lowers the kernel's throttle of mirrors and raises it; if it dies, the finder raises it again.
THROTTLED = "throttled"

KEEP_NS = 30 * 24 * 3600 * 1_000_000_000
KEEP_LEAST = 200


def unwritable(error: OSError) -> Refusal:
    """The refusal for a journal that takes no entry: what is not written down is not run."""
    return Refusal(
        "journal_unwritable",
        f"The agent's journal cannot be written: {error.strerror or error}.",
        "Make room on the file system of /var/lib/tiercel on the host (df -h, df -i), or mount it "
        "writable; then try again.",
    )


def prune_journal(host: LocalHost) -> None:
    """Remove records that ended over 30 days ago, but keep the newest 200, and what began in this
    boot by the boot clock: an id that is forgotten could run again. Raises OSError."""
    ops = host.op_ids()
    if len(ops) <= KEEP_LEAST:
        return
    before_ns = host.wall_ns() - KEEP_NS
    boot = text(host, "/proc/sys/kernel/random/boot_id")
    since_ns = host.boottime_ns() - KEEP_NS
    old = []
    for op in ops:
        record = host.op_load(op)
        if record is not None and record["state"] != "running":
            ended_ns = record.get("ended_ns") or record["started_ns"]
            here = record["boot_id"] == boot and record["started_boottime_ns"] > since_ns
            if ended_ns < before_ns and not here:
                old.append((ended_ns, op))
    for _, op in sorted(old)[: len(ops) - KEEP_LEAST]:
        host.op_remove(op)
