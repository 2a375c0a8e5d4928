"""What a change most likely breaks, in a minute: `make quick` (BASE=revision: all changes since).

By default the change is what is not committed yet, else the last commit. Django connects by names
what does not import each other, and nearly every module imports the models: what a change can reach
is nearly everything. So tests run by how near they stand to the change, the nearest first: the
tests that changed; those that mirror a changed module, or name a changed file; those that import
it; those that import what imports it. When the minute is over, the rest is left to `make test`,
and the last line says how much that is. The lab is always left to it; browsers and the panel's
processes are, unless their own test changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import grimp
import pytest

from tests.durations import recorded

ROOT = Path(__file__).resolve().parent.parent
BUDGET_SECONDS = 60
UNKNOWN_SECONDS = 2.0
"""What a file of tests takes that never ran here: the mean of all but the slowest."""
MIRRORS = 1
"""How near the test of a changed module stands. Whatever is as near runs, however long it takes."""
TEXTS = (".py", ".html", ".js", ".css", ".md", ".toml", ".yaml", ".yml", ".po", ".json", ".sql")
ALWAYS = ("tests/test_shape.py", "tests/test_templates.py")


def nearness(
    changed: Iterable[str], texts: Mapping[str, str], importers: Callable[[str], Iterable[str]]
) -> dict[str, int]:
    """How many steps each file of tests is from the changed files."""
    mirrors = {Path(path).name: path for path in texts if is_test(path)}
    near = {path: 0 for path in changed}
    frontier = list(near)
    while frontier:
        reached = []
        for path in frontier:
            beyond = set(importers(path))
            if near[path] == 0 or not path.endswith(".py"):
                beyond |= {other for other, text in texts.items() if name_of(path) in text}
            for other in beyond - near.keys():
                near[other] = max(near[path] + 1, MIRRORS + 1)
                reached.append(other)
            mirror = mirrors.get(f"test_{Path(path).name}")
            if near[path] == 0 and mirror and near.get(mirror, MIRRORS + 1) > MIRRORS:
                near[mirror] = MIRRORS
                reached.append(mirror)
        frontier = reached
    return {path: steps for path, steps in near.items() if is_test(path)}


def is_test(path: str) -> bool:
    """A file of which pytest collects tests."""
    return path.startswith("tests/") and Path(path).name.startswith("test_")


def name_of(path: str) -> str:
    """What other files call this one."""
    if path.endswith(".py"):
        return Path(path).stem if "migrations" in path else module_of(path)
    return path.removeprefix("templates/") if path.startswith("templates/") else Path(path).name


def module_of(path: str) -> str:
    """The module that this file is."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def chosen(near: Mapping[str, int], seconds: Mapping[str, float]) -> list[str]:
    """The files of tests for which there is time, the nearest first."""
    files, left = [], float(BUDGET_SECONDS)
    for path in sorted(near, key=lambda path: (near[path], seconds.get(path, UNKNOWN_SECONDS))):
        takes = seconds.get(path, UNKNOWN_SECONDS)
        if near[path] <= MIRRORS or takes <= left:
            files.append(path)
            left -= takes
    return files


class Budget:
    """A plugin of pytest: the nearest first, and nothing farther once the time is over."""

    def __init__(self, near: Mapping[str, int], end: float) -> None:
        self._near, self._end = near, end
        self.left = 0

    def _steps(self, item: pytest.Item) -> int:
        return self._near[item.path.relative_to(ROOT).as_posix()]

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what is slow of its kind."""
        left = [
            item
            for item in items
            if item.get_closest_marker("lab")
            or (self._steps(item) and (item.get_closest_marker("browser") or _is_process(item)))
        ]
        self.left += len(left)
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Pass over what is farther than a mirror, once the time is over."""
        if self._steps(item) <= MIRRORS or time.monotonic() < self._end:
            return None
        self.left += 1
        return True


def _is_process(item: pytest.Item) -> bool:
    """Starts the panel's processes."""
    return "installation" in getattr(item, "fixturenames", ()) or "integration" in item.path.parts


def changes(base: str | None) -> list[str]:
    """The files that differ from a revision, and those that git does not have yet."""
    new = _git("ls-files", "--others", "--exclude-standard")
    if base is None:
        base = "HEAD" if new or _git("diff", "--name-only", "HEAD") else "HEAD~1"
    return sorted({*new, *_git("diff", "--name-only", base)})


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.splitlines()


def gates(changed: list[str]) -> Iterator[list[str]]:
    """The gates that take no time, of these files."""
    there = [path for path in changed if (ROOT / path).exists()]
    tools = Path(sys.executable).parent
    if python := [path for path in there if path.endswith(".py")]:
        yield [str(tools / "ruff"), "check", "--force-exclude", *python]
        yield [str(tools / "ruff"), "format", "--check", "--quiet", "--force-exclude", *python]
    if pages := [path for path in there if path.startswith("templates/")]:
        yield [str(tools / "djade"), "--target-version", "5.2", "--check", *pages]


def main() -> int:
    """Run them; returns the exit code."""
    end = time.monotonic() + BUDGET_SECONDS
    changed = changes(os.environ.get("BASE"))
    for gate in gates(changed):
        if subprocess.run(gate, cwd=ROOT, check=False).returncode:
            return 1
    types = subprocess.Popen([Path(sys.executable).with_name("mypy")], cwd=ROOT)
    tracked = _git("ls-files", "--cached", "--others", "--exclude-standard")
    texts = {
        path: (ROOT / path).read_text()
        for path in tracked
        if path.endswith(TEXTS) and (ROOT / path).is_file()
    }
    near = nearness(changed, texts, importers_in(texts))
    for path in ALWAYS:
        near.setdefault(path, MIRRORS)
    seconds = recorded()
    files = chosen(near, seconds)
    budget = Budget(near, end)
    code = pytest.main(["-q", *files], plugins=[budget])
    far = sum(1 for path in texts if is_test(path)) - len(files)
    print(f"Left to make test: {budget.left} tests of these files, and {far} other files of tests.")
    return types.wait() or int(code)


def importers_in(texts: Iterable[str]) -> Callable[[str], set[str]]:
    """Who imports a file's module, as files."""
    graph = grimp.build_graph("panel", "jobs", "storage", "tests", cache_dir=None)
    files = {module_of(path): path for path in texts if path.endswith(".py")}

    def importers(path: str) -> set[str]:
        module = module_of(path)
        if module not in graph.modules:
            return set()
        return {
            files[each] for each in graph.find_modules_that_directly_import(module) if each in files
        }

    return importers


if __name__ == "__main__":
    sys.exit(main())
