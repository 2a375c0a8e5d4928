"""A search in the documents and the glossary: sections in which every word is, headings first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from panel.help import documents, glossary
from panel.help.documents import Section

MOST_PASSAGES: Final = 30
AROUND: Final = 120
WORD = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True)
class Passage:
    """`where` is the document; `excerpt` has the words marked."""

    title: str
    where: str
    url: str
    excerpt: SafeString
    weight: int


def search(query: str, *, for_customers: bool) -> list[Passage]:
    """The best passages; none for a query without a word."""
    words = [word.lower() for word in WORD.findall(query)]
    if not words:
        return []
    passages = list(_in_glossary(words, for_customers=for_customers))
    if not for_customers:
        passages += _in_documents(words)
    return sorted(passages, key=lambda passage: -passage.weight)[:MOST_PASSAGES]


def _in_glossary(words: list[str], *, for_customers: bool) -> Iterator[Passage]:
    for term in glossary.terms_for(staff=not for_customers):
        if weight := _weight(words, term.name, term.text):
            where, excerpt = gettext("Glossary"), _excerpt(term.text, words)
            yield Passage(term.name, where, term.url, excerpt, weight + 3)


def _in_documents(words: list[str]) -> Iterator[Passage]:
    for name in documents.names():
        document = documents.document(name)
        page = reverse("help-document", args=[name])
        for section in document.sections:
            if weight := _weight(words, section.title, section.text):
                yield Passage(
                    section.title,
                    document.title,
                    f"{page}#{section.anchor}",
                    _excerpt(section.text, words),
                    weight + _depth(section),
                )


def _depth(section: Section) -> int:
    """A chapter before its parts, where all else is equal."""
    return max(0, 3 - section.level)


def _weight(words: list[str], title: str, text: str) -> int:
    """0 where a word is missing; a word in the title counts for ten."""
    title, text = title.lower(), text.lower()
    if not all(word in title or word in text for word in words):
        return 0
    return sum(10 if word in title else min(5, text.count(word)) for word in words)


def _excerpt(text: str, words: list[str]) -> SafeString:
    """The text around the first match, with each word marked."""
    any_word = re.compile("|".join(re.escape(word) for word in words), re.IGNORECASE)
    first = any_word.search(text)
    begin = max(0, (first.start() if first else 0) - AROUND // 2)
    cut = text[begin : begin + 2 * AROUND]
    parts: list[tuple[str, str]] = []
    end = 0
    for match in any_word.finditer(cut):
        parts.append((cut[end : match.start()], match[0]))
        end = match.end()
    marked = format_html_join("", "{}<mark>{}</mark>", parts)
    rest = cut[end:]
    before, after = "…" if begin else "", "…" if begin + len(cut) < len(text) else ""
    return format_html("{}{}{}{}", before, marked, rest, after)
