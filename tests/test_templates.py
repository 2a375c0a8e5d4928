"""Templates that can be read: no long line, no deep logic; and scripts of a size to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.test_shape import ROOT

LINE_CHARACTERS: Final = 160
DEPTH: Final = 2
"""Of conditions, loops and names inside each other."""
SCRIPT_LINES: Final = 250
LOGIC: Final = re.compile(r"\{%-?\s*(end)?(?:if|for|with|ifchanged)\b")


def templates() -> Iterator[tuple[str, str]]:
    """The path and the text of each template."""
    for path in sorted((ROOT / "templates").rglob("*")):
        if path.is_file():
            yield name_of(path), path.read_text()


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines_too_deep(text: str) -> list[int]:
    """The numbers of the lines on which logic opens that is deeper than allowed."""
    depth, deep = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        for ends in LOGIC.findall(line):
            depth += -1 if ends else 1
            if not ends and depth > DEPTH:
                deep.append(number)
    return deep


def test_no_line_of_a_template_is_longer_than_160_characters() -> None:
    too_long = {
        name: numbers
        for name, text in templates()
        if (
            numbers := [
                number
                for number, line in enumerate(text.splitlines(), 1)
                if len(line) > LINE_CHARACTERS
            ]
        )
    }
    assert too_long == {}, "A line break in a text goes between words, in a tag between attributes."


def test_no_logic_of_a_template_is_three_deep() -> None:
    too_deep = {name: lines for name, text in templates() if (lines := lines_too_deep(text))}
    assert too_deep == {}, "Make what is inside a part with parameters, or decide it in the view."


def test_logic_counts_where_it_opens() -> None:
    shallow = "{% if a %}{% for b in c %}{{ b }}{% endfor %}{% elif d %}{% with e=d %}{% endwith %}"
    assert lines_too_deep(shallow) == []
    deep = "{% if a %}\n{% for b in c %}\n{% if b %}x{% endif %}{% endfor %}{% endif %}"
    assert lines_too_deep(deep) == [3]


def test_no_script_is_longer_than_250_lines() -> None:
    too_long = {
        name_of(path): lines
        for path in sorted((ROOT / "static").rglob("*.js"))
        if (lines := len(path.read_text().splitlines())) > SCRIPT_LINES
    }
    assert too_long == {}
