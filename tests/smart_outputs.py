"""What is made of real outputs of `smartctl --json`, none of which are in this repository:

    python -m tests.smart_outputs FOLDER

One line for each SSD, and how many units are known. Where a disk has two counters of what was
written, the amounts must agree: a unit that they contradict is wrong, and the status is 1.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from storage.agent.kernel import smartctl
from storage.health.smart_endurance import counter_of, wear_of
from storage.health.smart_reading import SmartHealth
from storage.host_data import decoded

MIB = 1 << 20
SECOND = {
    "Host_Writes_32MiB": 32 * MIB,
    "Lifetime_Writes_GiB": 1024 * MIB,
    "Host_Program_Page_Count": 16 * 1024,
}
"""Attributes that count the same amount in a unit of their own."""
AGREES = 0.25
"""A page that is not yet full is counted by one of them only: fresh disks differ most."""


def others(health: SmartHealth) -> Iterator[tuple[str, int]]:
    """What the disk's other counters say was written, in bytes."""
    for row in health.attributes:
        if row.name in SECOND:
            yield row.name, row.raw * SECOND[row.name]
    sectors = health.statistic(1, 24)
    if sectors is not None and health.logical_block_bytes:
        yield "ATA device statistics", sectors * health.logical_block_bytes


def main(folder: Path) -> int:
    kinds: Counter[tuple[str, str]] = Counter()
    models: set[str] = set()
    wrong = checked = 0
    for path in sorted(folder.rglob("*.json")):
        health = decoded(smartctl.health(json.loads(path.read_text())), SmartHealth, path.name)
        counter, wear = counter_of(health), wear_of(health)
        kind = "SSD" if health.is_ssd else "other"
        kinds[kind, "no counter" if counter is None else counter.standing] += 1
        models.add(health.model)
        written = None if counter is None else counter.written_bytes
        if counter is None or written is None:
            continue
        for name, amount in others(health):
            if name not in counter.source:
                checked += 1
                if abs(amount - written) > AGREES * max(amount, written):
                    wrong += 1
                    print(f"WRONG {health.model}: {counter.source} {written}, {name} {amount}")
        if health.is_ssd:
            percent = "-" if wear is None else f"{wear.percent} %"
            print(f"{health.model:40} {written / 1e12:9.2f} TB {percent:>6}  {counter.source}")
    print(f"{len(models)} models, {checked} units checked by a second counter, {wrong} wrong")
    for (kind, standing), number in sorted(kinds.items()):
        print(f"{kind:6} {standing:12} {number}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
