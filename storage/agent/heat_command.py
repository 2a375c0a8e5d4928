"""`agent.pyz heat` and `agent.pyz clean-heat`, which systemd runs. The service stays in memory: it
loads nothing of the agent that it does not need."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .heat.service import clean_heat, serve_heat
from .realhost import RealHost


def heat_command(arguments: Sequence[str]) -> int:
    """The exit code."""
    host = RealHost()
    try:
        lines = [serve_heat(host)] if list(arguments) == ["heat"] else clean_heat(host)
    except OSError as error:
        print(f"{error}.", file=sys.stderr)
        return 1
    for line in lines:
        print(line)
    return 0
