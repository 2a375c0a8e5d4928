"""How many lines each room of the source may have (`tests/budgets.toml`). A room is a folder
directly under `panel`, `storage` or `jobs`; the modules beside these folders are a room too.

`make budgets` writes the lines of today where they are fewer than the budget. Nothing writes more:
to raise a budget, edit the file and give the reason in a comment above the line.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "budgets.toml"
SOURCES = ("panel", "storage", "jobs")
SOFT_LINES = 350
SLACK_LINES, SLACK_SHARE = 100, 0.05


def source_files() -> Iterator[Path]:
    """The modules of the source, without migrations."""
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def lines_of(path: Path) -> int:
    """As an editor counts them."""
    return len(path.read_text().splitlines())


def lines_by_room() -> dict[str, int]:
    """The lines of every room as it is now."""
    lines: Counter[str] = Counter()
    for path in source_files():
        parts = path.relative_to(ROOT).parts
        lines["/".join(parts[:2] if len(parts) > 2 else parts[:1])] += lines_of(path)
    return dict(sorted(lines.items()))


def budgets() -> dict[str, int]:
    """The lines that every room may have."""
    rooms: dict[str, int] = tomllib.loads(FILE.read_text())["rooms"]
    return rooms


def is_too_wide(budget: int, lines: int) -> bool:
    """Whether a room has shrunk and its budget has not."""
    return budget - lines > max(SLACK_LINES, SLACK_SHARE * budget)


def lowered(text: str, lines: Mapping[str, int]) -> str:
    """The file with lower budgets where a room has fewer lines, and without rooms that are gone."""

    def lower(row: re.Match[str]) -> str:
        now = lines.get(row["room"])
        return "" if now is None else f'"{row["room"]}" = {min(now, int(row["budget"]))}\n'

    return re.sub(r'(?m)^"(?P<room>[\w/]+)" = (?P<budget>\d+)\n', lower, text)


def main() -> int:
    """Lower what can be lowered; name what is over, and files that ask to be divided."""
    lines = lines_by_room()
    FILE.write_text(lowered(FILE.read_text(), lines))
    limits = budgets()
    over = {room: count for room, count in lines.items() if count > limits.get(room, 0)}
    for room, count in over.items():
        print(f"{room}: {count} lines, of {limits.get(room, 0)}")
    for path in source_files():
        if lines_of(path) > SOFT_LINES:
            print(f"{path.relative_to(ROOT)}: {lines_of(path)} lines; more than {SOFT_LINES}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
