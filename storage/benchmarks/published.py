"""The published comparison of Linux block caches beside which those of hosts stand. Pure."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

PLACE: Final = Path(__file__).with_name("published.json")


@cache
def published_document() -> dict[str, Any]:
    """All that was published, as the file has it."""
    document: dict[str, Any] = msgspec.json.decode(PLACE.read_bytes())
    return document


def published_runs() -> dict[str, dict[str, Any]]:
    """The six runs, by their ids."""
    return {run["id"]: run for run in published_document()["runs"]}
