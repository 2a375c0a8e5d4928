"""Each verb is described once: the registry lists all descriptors, and nothing else is a table of
verbs."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from storage.agent import verbs
from storage.agent.operations.assess import PACKAGES
from storage.agent.verbs.registry import ABORTABLE, MARKS, VERBS, verbs_with
from storage.agent.verbs.verb import Frees, LongWork, Takes, Trait, Verb
from storage.agent.wire.reading_verbs import READING, ReadingVerb

ROOT = Path(__file__).parents[4]
NAME = re.compile(r"[a-z]+\.[a-z]+")
MOST_NAMES_TOGETHER = 2
"""A condition may ask for two verbs; whatever asks for more is a trait."""


def described() -> dict[str, Verb]:
    """Every descriptor that a module of verbs holds, by module and constant."""
    found = {}
    for module in pkgutil.iter_modules(verbs.__path__):
        loaded = importlib.import_module(f"{verbs.__name__}.{module.name}")
        for constant, value in vars(loaded).items():
            if isinstance(value, Verb):
                found[f"{module.name}.{constant}"] = value
    return found


def test_the_registry_lists_every_descriptor() -> None:
    listed = {id(verb) for verb in VERBS.values()}
    assert {id(verb) for verb in described().values()} == listed
    assert len(VERBS) == len(listed)


def test_no_verb_is_both_reading_and_changing() -> None:
    assert not VERBS.keys() & READING.keys()


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_descriptor_is_complete(verb: Verb) -> None:
    assert NAME.fullmatch(verb.name)
    assert re.fullmatch(r"[A-Z][^.]+", verb.title)
    assert "vg" in verb.arguments.required and "vg_uuid" in verb.arguments.expects
    assert set(verb.arguments.any_of) <= verb.arguments.optional.keys()
    assert not verb.arguments.required.keys() & verb.arguments.optional.keys()
    assert 0 <= verb.estimate.locked_seconds <= verb.estimate.seconds
    assert set(verb.programs) <= PACKAGES.keys()


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_estimate_and_traits_agree(verb: Verb) -> None:
    whole = set(LongWork) - {LongWork.FLUSH_REST, LongWork.FLUSH_FOR_MODE}
    if verb.estimate.work in whole:
        assert Trait.LASTING in verb.traits
    if Trait.FLUSHES in verb.traits:
        assert (
            verb.estimate.work is LongWork.FLUSH and "dirty_limit_bytes" in verb.arguments.required
        )
    if verb.estimate.takes in (Takes.POOL, Takes.CSET):
        assert verb.mark and verb.text_bytes and "size_bytes" in verb.arguments.required
    if verb.estimate.frees is Frees.NAMED:
        assert {"pool", "name"} & verb.arguments.required.keys()


@pytest.mark.parametrize("reading", READING.values(), ids=READING)
def test_a_reading_verb_has_a_title(reading: ReadingVerb) -> None:
    assert re.fullmatch(r"[A-Z][^.]+", reading.title)


def test_views_are_computed_from_the_descriptors() -> None:
    assert {name for name, verb in VERBS.items() if Trait.ABORTABLE in verb.traits} == ABORTABLE
    assert {name for name, verb in VERBS.items() if verb.mark} == MARKS.keys()
    for trait in Trait:
        assert verbs_with(trait), f"no verb has {trait}"


def tables(tree: ast.AST) -> list[int]:
    """Lines of dicts with a verb as key, and of collections of more than two verbs."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and any(_is_verb(key) for key in node.keys):
            lines.append(node.lineno)
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            count = sum(_is_verb(each) for each in node.elts)
            lines += [node.lineno] * (count > MOST_NAMES_TOGETHER)
    return lines


def _is_verb(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in VERBS


def test_no_second_table_of_verbs_is_in_the_source() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for package in ("storage", "jobs", "panel")
        for path in (ROOT / package).rglob("*.py")
        for line in tables(ast.parse(path.read_text()))
    ]
    assert found == []


def test_a_table_of_verbs_would_be_found() -> None:
    assert tables(ast.parse('SECONDS = {"cache.attach": 2}')) == [1]
    assert tables(ast.parse('A = frozenset(("cache.attach", "cache.set", "cache.flush"))')) == [1]
