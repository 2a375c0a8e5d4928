"""The problems of a host as its page shows them: volumes by their names, those of one kind together
with the button that mends them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from storage.formatting import counted
from storage.health.host_problems import ORDER, HostProblem, Severity
from storage.health.inventory_findings import MADE_FROM_INVENTORY, InventoryFinding

PASSING_DURING_JOBS: Final = frozenset({"drift", "unfinished", "volume_inactive"})
TOGETHER: Final = {
    "writeback_degraded": "{} in writeback mode on a degraded SSD mirror",
    "drift": "{} not as recorded",
    "unfinished": "{} not finished",
    "volume_inactive": "{} not active",
    "ssd_lost": "{} with a missing cache SSD",
}
"""What several volumes have in common, by the code of the finding."""
CORRECTIONS: Final = {
    "writeback_degraded": "Replace the failed SSD, or set the volumes to writethrough. The preview "
    "says which ones only root on the host can change.",
}
EACH_ON_ITS_PAGE: Final = "Open each volume's page for the next steps."
Way = Literal["", "bulk", "refresh", "keys", "enrol", "missing", "disks", "volume"]
WAYS: Final[Mapping[str, Way]] = {
    "writeback_degraded": "bulk",
    "silent": "refresh",
    "unreachable": "refresh",
    "unsampled": "refresh",
    "quarantined": "keys",
    "twins": "keys",
    "machine_changed": "keys",
    "unverified": "keys",
    "pending": "enrol",
    "volumes_missing": "missing",
    "inventory_shrank": "missing",
    "array_degraded": "disks",
    "array_recovering": "disks",
    "pv_missing": "disks",
}
"""Where each kind is mended; that of a volume on its page, unless it is listed here."""


@dataclass(frozen=True, slots=True)
class TroubledVolume:
    """`name` is the volume's on the host (`group/name`); `text` what is wrong with this one."""

    key: str
    label: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """One problem, or several volumes that share one. `way` says which button mends it."""

    severity: Severity
    message: str
    correction: str
    way: Way
    since: datetime | None
    volumes: tuple[TroubledVolume, ...] = ()

    @property
    def count(self) -> int:
        """Problems that the row stands for."""
        return max(1, len(self.volumes))


def problem_rows(
    problems: Iterable[HostProblem],
    findings: Iterable[InventoryFinding],
    labels: Mapping[str, str],
    locked_volumes: Collection[str],
) -> tuple[ProblemRow, ...]:
    """The worst first. `labels` are what people call volumes, by key. What only informs is left
    out, and so are differences that a job on the volume (`locked_volumes`) is about to end."""
    rows = [
        ProblemRow(each.severity, each.message, each.correction, _way(each.code), each.since)
        for each in problems
        if each.severity != "info"
    ]
    by_code: dict[str, list[InventoryFinding]] = {}
    for each in findings:
        if not (each.code in PASSING_DURING_JOBS and each.volume in locked_volumes):
            by_code.setdefault(each.code, []).append(each)
    for code, those in by_code.items():
        of_volumes = [each for each in those if each.volume]
        rows += [
            ProblemRow(each.severity, each.message, each.correction, _way(code), each.began)
            for each in those
            if not each.volume
        ]
        if of_volumes:
            rows.append(_row(code, of_volumes, labels))
    return tuple(sorted(rows, key=lambda row: ORDER[row.severity]))


def shown_elsewhere(*, has_outline: bool) -> frozenset[str]:
    """Codes of the agent's problems that the findings of a younger inventory tell too."""
    return MADE_FROM_INVENTORY if has_outline else frozenset()


def _way(code: str) -> Way:
    return WAYS.get(code, "")


def _row(code: str, findings: Sequence[InventoryFinding], labels: Mapping[str, str]) -> ProblemRow:
    are_many = len(findings) > 1
    volumes = tuple(
        TroubledVolume(
            each.volume,
            labels.get(each.volume, each.subject),
            each.subject,
            _text(each).partition(": ")[2] or _text(each) if are_many else _text(each),
        )
        for each in findings
    )
    corrections = {each.correction for each in findings}
    shared = CORRECTIONS.get(code, EACH_ON_ITS_PAGE)
    dates = [each.began for each in findings if each.began is not None]
    what = TOGETHER.get(code, "{} with a problem")
    return ProblemRow(
        min((each.severity for each in findings), key=lambda severity: ORDER[severity]),
        what.format(counted(len(volumes), "volume")) if are_many else "",
        corrections.pop() if len(corrections) == 1 else shared,
        WAYS.get(code, "volume"),
        min(dates, default=None),
        volumes,
    )


def _text(finding: InventoryFinding) -> str:
    """Its sentence without the name that stands before it already."""
    rest = finding.message.removeprefix(f"{finding.subject} ")
    if rest != finding.message:
        return rest[:1].upper() + rest[1:]
    return finding.message.replace(f" of {finding.subject}", "")
