"""What the recipe of a page (docs/architecture.md) demands, for every page. Who may open it and
what it asks of a person have tables of their own (`test_permissions`, `test_protected_actions`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from django.urls import URLPattern, URLResolver, get_resolver

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "templates"
PARENT = re.compile(r'{% extends "([^"]+)" %}')
TITLE = re.compile(r"{% block (?:head_)?title %}\s*\S")
TABLES = {"test_permissions.py", "test_protected_actions.py", "permissions.py", Path(__file__).name}


def chain(template: Path) -> Iterator[str]:
    """The text of a template and of those that it extends, but for the frame of all pages."""
    text = template.read_text()
    yield text
    parent = PARENT.search(text)
    if parent is not None and (TEMPLATES / parent[1]).exists() and parent[1] != "base.html":
        yield from chain(TEMPLATES / parent[1])


def test_every_page_has_a_title() -> None:
    pages = [path for path in TEMPLATES.rglob("*.html") if PARENT.search(path.read_text())]
    assert len(pages) > 60
    frames = TEMPLATES / "allauth"
    own = (path for path in pages if not (path.is_relative_to(frames) or path.name[0] == "_"))
    untitled = [path for path in own if not any(map(TITLE.search, chain(path)))]
    assert [str(path.relative_to(TEMPLATES)) for path in untitled] == []


def routes(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    """Every route below these."""
    for each in patterns:
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns)
        else:
            yield each


def test_every_page_has_a_test_beside_the_tables() -> None:
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path.name not in TABLES]
    texts = "\n".join(path.read_text() for path in tests if path.name.startswith("test_"))
    named = {
        each.name: each.callback.__module__
        for each in routes(get_resolver().url_patterns)
        if each.name is not None and not each.name.startswith("api-")
    }
    ours = [name for name, module in named.items() if module.startswith("panel.")]
    assert len(ours) > 100
    assert [name for name in ours if f'"{name}"' not in texts] == []
