"""Whether root on a host lets the panel run benchmarks there, and has installed fio."""

from __future__ import annotations

from typing import Final

from storage.byte_sizes import GIB
from storage.formatting import size
from storage.models import Host
from storage.naming import AGENT_PATH
from storage.planner import Refused

INSTALL: Final = "As root on the host: apt install fio (Debian, Ubuntu), or dnf install fio"


def demand_allowed(host: Host, needed_bytes: int) -> None:
    """Raises `Refused` where no benchmark may run, or none that takes so much."""
    if (refusal := permission_refusal(host)) is not None:
        raise refusal
    quota = host.benchmark_quota_bytes or 0
    if needed_bytes > quota:
        raise Refused(
            "observe_only",
            f"The largest run needs {size(needed_bytes)}, and root on {host} allows {size(quota)} "
            "to benchmarks.",
            f"Choose smaller sizes; or as root on the host: {AGENT_PATH} allow-benchmarks "
            f"{-(-needed_bytes // GIB)}",
        )


def permission_refusal(host: Host) -> Refused | None:
    """Why no benchmark may run on the host, by what its agent says of itself; None where one
    may."""
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
