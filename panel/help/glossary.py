"""The terms of `docs/glossary.md`, by the words that pages use, and those for customers in other
languages (`docs/de/glossary.md`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from panel.help.documents import GLOSSARY, anchor_of, folder, parser, plain_text, retarget

FOR_CUSTOMERS: Final = ("Figures", "Caches", "Plans and orders")
"""Sections that mention no machine and no technology."""
ROW = re.compile(r"^\| (.+?) \| (.+) \|$")
BRACKETS = re.compile(r"\s*\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Term:
    """`name` is how the glossary heads it, several words with commas; `text` its meaning without
    markup, `html` with it."""

    name: str
    section: str
    text: str
    html: SafeString

    @property
    def words(self) -> list[str]:
        """Each of its names, without what is in brackets."""
        return [word.strip() for word in BRACKETS.sub("", self.name).split(",")]

    @property
    def anchor(self) -> str:
        return anchor_of(self.words[0])

    @property
    def url(self) -> str:
        return f"{reverse('glossary')}#{self.anchor}"


def terms() -> tuple[Term, ...]:
    """Every term, in the order of the file; read once for each version of it."""
    path = folder() / f"{GLOSSARY}.md"
    return _terms(path, path.stat().st_mtime_ns)


def terms_for(*, staff: bool) -> tuple[Term, ...]:
    """Those that concern the person: all of them for staff, for customers those of their pages, in
    the language spoken now where it has a file."""
    if staff:
        return terms()
    path = folder() / (get_language() or "") / f"{GLOSSARY}.md"
    if path.parent != folder() and path.exists():
        return _terms(path, path.stat().st_mtime_ns)
    return tuple(term for term in terms() if term.section in FOR_CUSTOMERS)


@lru_cache(maxsize=4)
def _terms(path: Path, mtime_ns: int) -> tuple[Term, ...]:
    return tuple(_rows(path.read_text()))


def _rows(text: str) -> Iterator[Term]:
    markdown = parser()
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        row = ROW.match(line)
        if row is None or row[1] in ("term", "Begriff", "---"):
            continue
        name, meaning = markdown.parseInline(row[1])[0], row[2]
        parsed = markdown.parseInline(meaning)
        retarget(parsed[0])
        rendered = markdown.renderer.render(parsed, markdown.options, {})
        html = mark_safe(rendered)  # noqa: S308 (raw HTML is off)
        yield Term(plain_text(name), section, plain_text(parsed[0]), html)


@lru_cache(maxsize=2)
def _by_word(every: tuple[Term, ...]) -> dict[str, Term]:
    return {word.lower(): term for term in every for word in term.words}


def term(word: str) -> Term:
    """The term that has this name; raises `KeyError`, since a page may only use words that the
    glossary has."""
    return _by_word(terms())[word.lower()]
