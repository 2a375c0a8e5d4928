"""What documents tell people to type is there, and the release has one version everywhere.
`tests/test_shape.py` looks after the paths, and `tests/panel/help` after the links."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from django.core.management import get_commands

from panel import VERSION
from storage.agent import VERSION as AGENT_VERSION
from storage.agent import __main__ as agent

ROOT = Path(__file__).resolve().parent.parent
MAKEFILE = (ROOT / "Makefile").read_text()
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "README.md"]
CODE = re.compile(r"(?ms)^```.*?^```|^    (?:make|git|\.venv|/usr)\b.*?$|`[^`\n]+`")
"""Blocks, indented commands and words in monospace."""


def _typed(pattern: str) -> dict[str, set[str]]:
    """What `pattern` finds in the code of documents, with the documents' names."""
    found: dict[str, set[str]] = {}
    for path in DOCUMENTS:
        for code in CODE.findall(path.read_text()):
            for name in re.findall(pattern, code):
                found.setdefault(name, set()).add(path.name)
    return found


def _targets() -> Iterable[str]:
    return " ".join(re.findall(r"(?m)^([a-z-]+(?: [a-z-]+)*):(?!=)", MAKEFILE)).split()


@pytest.mark.parametrize(
    ("pattern", "known"),
    [
        (
            r"\bmake ([a-z][\w-]*\w)\b(?!-)",
            _targets,
        ),
        (r"manage\.py ([a-z]\w*)", get_commands),
        (
            r"agent\.pyz ([a-z][\w-]*)",
            lambda: {*agent.OUTCOMES, *agent.OF_HOST, *agent.OF_NAME, "heat", "benchmark-load"},
        ),
    ],
)
def test_each_command_that_a_document_names_is_there(
    pattern: str, known: Callable[[], Iterable[str]]
) -> None:
    named = _typed(pattern)
    assert len(named) > 5
    commands = set(known())
    assert {name: where for name, where in named.items() if name not in commands} == {}


def test_make_help_names_each_target_that_people_type() -> None:
    helped = set(re.findall(r"\bmake ([a-z-]+)", MAKEFILE.split("\nhelp:")[1].split("\n# ---")[0]))
    phony = re.search(r"(?s)\.PHONY: (.*?)\n\n", MAKEFILE)
    assert phony
    needed_by_others = {"help", "venv", "node", "debian", "requirements", "secrets", "static"}
    assert set(phony[1].replace("\\", "").split()) - needed_by_others == helped


def test_the_release_has_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    released = re.findall(r"(?m)^## (\S+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text())
    assert project["version"] == released[0] == VERSION


def test_the_release_notes_name_the_version_of_the_agent() -> None:
    notes = ROOT / "docs" / f"release-{VERSION.rpartition('.')[0]}.md"
    assert f"agent {AGENT_VERSION}" in notes.read_text()


def test_the_architecture_has_a_row_for_each_folder_of_a_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    folders = [
        folder.relative_to(ROOT).as_posix()
        for package in ("storage", "jobs", "panel")
        for folder in (ROOT / package).iterdir()
        if (folder / "__init__.py").exists()
        and folder.name not in ("management", "migrations", "templatetags")
    ]
    assert len(folders) > 35
    assert [folder for folder in folders if f"`{folder}`" not in text] == []


def test_the_architecture_has_the_layers_that_imports_are_checked_by() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    block = text.split("down this list and never up:\n\n")[1].split("\n\n")[0]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (
        each["layers"] for each in contracts["contracts"] if each.get("containers") == ["panel"]
    )
    assert [set(re.findall(r"\w+", line)) for line in block.splitlines()] == [
        set(re.findall(r"\w+", layer)) for layer in layers
    ]
