"""What a host says of a run beside fio's figures: run.json and conditions.json. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NoReturn

from msgspec import Meta

from storage.byte_sizes import MIB
from storage.host_data import BadHostData, Count, decoded, storable

MOST_BYTES: Final = MIB
KEPT_OF_RUN: Final = (
    "args",
    "begun_ns",
    "begun_boottime_ns",
    "ended_ns",
    "interval_ms",
    "state_before",
    "state_after",
    "left_out",
)
Pauses = Annotated[tuple[tuple[Count, Count], ...], Meta(max_length=100_000)]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """run.json, as far as it is judged. `pauses` are [from, to] in ms since the measured part
    began."""

    key: Annotated[str, Meta(max_length=26)]
    outcome: Literal["finished", "stopped", "failed"]
    message: str = ""
    correction: str = ""
    boot_id: Annotated[str, Meta(max_length=64)] = ""
    reached_seconds: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    pauses: Pauses = ()


def json_of(content: bytes, name: str, most_bytes: int = MOST_BYTES) -> Any:
    """JSON that a host wrote, without numbers that are none. Raises `BadHostData`."""
    if len(content) > most_bytes:
        raise BadHostData(f"{name}: {len(content)} bytes, and {most_bytes} are the most")
    try:
        # Not by msgspec: a disk's model may have bytes that are no text.
        return json.loads(content, parse_constant=_refuse)
    except (RecursionError, ValueError) as error:
        raise BadHostData(f"{name}: no JSON ({error})") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def facts_of(content: bytes) -> RunFacts:
    """Raises `BadHostData`."""
    return decoded(json_of(content, "run.json"), RunFacts, "run.json")


def conditions_of(files: Mapping[str, bytes]) -> dict[str, Any]:
    """What is kept of both files, as PostgreSQL can hold it. Raises `BadHostData`."""
    host_conditions = json_of(files.get("conditions.json", b"{}"), "conditions.json")
    run = json_of(files["run.json"], "run.json")
    if not isinstance(host_conditions, dict) or not isinstance(run, dict):
        raise BadHostData("conditions.json: no object")
    kept = {name: run[name] for name in KEPT_OF_RUN if name in run}
    conditions: dict[str, Any] = storable({**host_conditions, **kept})
    return conditions


def text_at(conditions: Mapping[str, Any], *path: str) -> str:
    """A text somewhere in it; "" where there is none."""
    value: Any = conditions
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""
