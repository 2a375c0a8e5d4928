"""Whether root on a host lets the panel run benchmarks there, and has installed fio."""

from __future__ import annotations

from typing import Final

from storage.models import Host
from storage.naming import AGENT_PATH
from storage.planner import Refused

INSTALL: Final = "As root on the host: apt install fio (Debian, Ubuntu), or dnf install fio"


def permission_refusal(host: Host) -> Refused | None:
    """Why no benchmark may run on the host, by what its agent says of itself; None where one may.
    Whether the quota suffices for a run, the host says."""
    quota = host.benchmark_quota_bytes
    if quota is None:
        return Refused(
            "unsupported",
            f"The agent on {host} is older, and knows no benchmarks.",
            "Run a new enrolment command on the host. It upgrades the agent.",
        )
    if not quota:
        return Refused(
            "observe_only",
            f"Root on {host} has not allowed benchmarks.",
            f"As root on the host: {AGENT_PATH} allow-benchmarks",
        )
    if not host.fio_version:
        return Refused("unsupported", f"fio is not installed on {host}.", INSTALL)
    return None
