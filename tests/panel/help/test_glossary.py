"""The glossary, and the "?" that leads to it."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from django.conf import settings
from django.template import Context, Template

from panel.help import glossary


def test_a_word_has_one_meaning() -> None:
    words = Counter(word.lower() for term in glossary.terms() for word in term.words)
    assert [word for word, n in words.items() if n > 1] == []
    anchors = Counter(term.anchor for term in glossary.terms())
    assert [anchor for anchor, n in anchors.items() if n > 1] == []
    assert len(words) > 80


def test_the_sections_of_customers_are_there() -> None:
    assert set(glossary.FOR_CUSTOMERS) < {term.section for term in glossary.terms()}


def test_the_mark_beside_a_figure_leads_to_its_row_and_says_its_meaning() -> None:
    html = Template('{% term "p95" %}').render(Context())
    assert 'href="/help/glossary/#p95"' in html
    assert "95 (or 99) of 100" in html
    assert "What is p95?" in html
    assert 'href="/help/glossary/#p50"' in Template('{% term "median" %}').render(Context())


def test_a_meaning_leads_to_the_page_of_a_document_and_never_to_a_file() -> None:
    html = "".join(term.html for term in glossary.terms())
    assert 'href="/help/' in html
    assert '.md"' not in html


def test_a_page_may_not_use_a_word_that_the_glossary_lacks() -> None:
    with pytest.raises(KeyError):
        Template('{% term "flux" %}').render(Context())


def test_every_mark_of_every_template_is_in_the_glossary() -> None:
    used = [
        (path.name, word)
        for path in (settings.BASE_DIR / "templates").rglob("*.html")
        for word in re.findall(r'{% term "([^"]+)"', path.read_text())
    ]
    for _, word in used:
        glossary.term(word)
