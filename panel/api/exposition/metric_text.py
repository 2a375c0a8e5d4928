"""Prometheus' text format (0.0.4), written by hand: for the samples of 2,000 volumes
prometheus-client takes twice as long as reading and writing them here (`make bench-metrics`).
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A name, with what it means. Names end in their unit; counters in `_total`."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str


def labels_text(labels: Mapping[str, str]) -> str:
    """`{a="b"}`; "" for none. What people type is escaped."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items()) + "}"


def escaped(text: str) -> str:
    """The value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def head(family: MetricFamily) -> str:
    """The header of a family's samples."""
    return f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n"


def written(family: MetricFamily, samples: Iterable[tuple[str, float | None]]) -> str:
    """A family with its samples, each with the text of its labels; "" where none has a value."""
    name = family.name
    lines = [f"{name}{labels} {value}\n" for labels, value in samples if value is not None]
    return head(family) + "".join(lines) if lines else ""
