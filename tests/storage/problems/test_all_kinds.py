"""Every code that a problem can have is declared, and what is declared fits together."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs import problems
from panel.deliveries.notices.notice_texts import TROUBLES
from storage.agent.facts.program_versions import PROGRAMS
from storage.health.inventory_findings import LVM_RAID
from storage.problems.all_kinds import KINDS, PRECEDENCE, family_of, may_follow
from storage.problems.problem_kind import ProblemKind

ROOT = Path(__file__).parents[3]
MAKERS = frozenset({"problem", "_problem", "HealthFinding"})
OF_SEVERAL = frozenset({"Their", "They", "These", "Those", "Them"})


def strings(node: ast.AST) -> Iterator[str]:
    """The texts that an expression can be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from strings(node.body)
        yield from strings(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        yield from (f"{program}_old" for program in PROGRAMS)


def named(tree: ast.AST, name: str) -> Iterator[str]:
    """What is assigned to a name anywhere in a module, also as one of several."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == name:
                yield from strings(node.value)
            pair = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            if pair:
                for each, value in zip(target.elts, node.value.elts, strict=True):  # type: ignore[attr-defined]
                    if isinstance(each, ast.Name) and each.id == name:
                        yield from strings(value)


def made_in(path: Path) -> Iterator[str]:
    """The codes of problems that a module makes, but for those that only inform."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            maker = getattr(node.func, "id", getattr(node.func, "attr", ""))
            place = 7 if maker == "Cache" else 0 if maker in MAKERS else None
            if place is None or len(node.args) < place + 2:
                continue
            code, severity = node.args[place : place + 2]
            if [*strings(severity)] == ["info"]:
                continue
            yield from named(tree, code.id) if isinstance(code, ast.Name) else strings(code)
        elif isinstance(node, ast.ClassDef) and path.name == "errors.py":
            yield from named(node, "code")


def every_code() -> set[str]:
    paths = [
        *(ROOT / "storage/agent").rglob("*.py"),
        *(ROOT / "storage/health").glob("*.py"),
        *(ROOT / "storage/planner").rglob("*.py"),
        *(ROOT / "jobs/hosts").glob("*.py"),
        ROOT / "jobs/transport/errors.py",
    ]
    codes = {code for path in paths for code in made_in(path)}
    queries = " ".join((problems.STATE, problems.CONTACT, problems.SILENT, problems.UNSAMPLED))
    queries += problems.MISSING + problems.UNREAD + problems.UNDONE
    codes |= set(re.findall(r"(?:THEN|ELSE|SELECT \w+(?:\.\w+)?,) '(\w+)'", queries))
    codes |= {code for code, *_ in LVM_RAID.values()}
    arrays = ROOT / "storage/agent/kernel/array_state.py"
    codes |= set(re.findall(r'"(array_\w+)"', arrays.read_text()))
    return codes - {"error", "warning", ""}


def test_every_code_that_the_source_can_give_has_a_name() -> None:
    codes = every_code()
    seen = {"silent", "unreachable", "job_failed", "tunables_broken", "agent_old", "kernel_old"}
    assert seen | {"unfinished", "drift", "array_degraded", "cache_failed"} <= codes
    assert " ".join(sorted(codes - {*KINDS})) == ""


ALL = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@ALL
def test_a_kind_has_its_words(kind: ProblemKind) -> None:
    assert kind.name and kind.consequence
    assert kind.many.format(count=2)
    assert not kind.several or "2 volumes" in kind.several.format("2 volumes")


@ALL
def test_what_a_kind_follows_is_declared_and_comes_first(kind: ProblemKind) -> None:
    assert {*kind.follows} <= {*KINDS}
    assert {*kind.follows_late} <= {*kind.follows}
    for cause in KINDS:
        if may_follow(kind.code, cause):
            assert PRECEDENCE[family_of(cause)] < PRECEDENCE[family_of(kind.code)]


@ALL
def test_a_family_is_over_after_the_same_time_whichever_state_was_the_last(
    kind: ProblemKind,
) -> None:
    family = [each for each in KINDS.values() if kind.family and each.family == kind.family]
    assert {each.resolve_seconds for each in (*family, kind)} == {kind.resolve_seconds}
    assert {PRECEDENCE[family_of(each.code)] for each in family} <= {
        PRECEDENCE[family_of(kind.code)]
    }


@ALL
def test_what_is_listed_for_a_time_says_what_is_true_after_it(kind: ProblemKind) -> None:
    assert (kind.listed_for is not None) == bool(kind.once_unlisted)


def test_customers_are_notified_of_kinds_of_problems_of_volumes() -> None:
    assert {KINDS[code].about for code in TROUBLES} == {"volume"}


def test_a_consequence_is_right_for_one_and_for_several() -> None:
    first_words = {code: kind.consequence.split()[0] for code, kind in KINDS.items()}
    assert not {code: word for code, word in first_words.items() if word in OF_SEVERAL}
