"""What a person reads or hears of a page: its texts, and those of attributes and of charts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

SILENT = ("script", "style", "code", "kbd", "pre")
"""Elements whose text is no language's."""
SPOKEN = ("title", "aria-label", "placeholder", "alt", "data-label", "data-copied")
SPOKEN += ("data-copy-by-hand", "data-auto", "data-light", "data-dark")
BEGIN, END = "⟦", "⟧"
WORD = re.compile(r"\w*[^\W\d_]{2}\w*")
KEY = re.compile(r"[a-z0-9]{16}|user\d+")
"""Random keys of records, and the names of people whom a test did not name."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.attributes: list[str] = []
        self.texts: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in SILENT
        for name, value in attrs:
            if name in SPOKEN and value:
                self.attributes.append(value)
            if name in ("data-panel", "data-texts") and value:
                self.attributes += _strings(json.loads(value))

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in SILENT

    def handle_data(self, data: str) -> None:
        if not self.silent and data.strip():
            self.texts.append(" ".join(data.split()))


def words_in(page: str) -> int:
    """How many words stand on a page, also those that only a screen reader says."""
    reader = _Reader()
    reader.feed(page)
    return len(" ".join(reader.texts).split())


def texts_of(page: str) -> list[str]:
    """Every text of the page, and then those of its attributes."""
    reader = _Reader()
    reader.feed(page)
    return reader.texts + reader.attributes


def _strings(part: Any) -> Iterator[str]:
    """Those of a chart's panel and of the script's texts that are for people."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name in ("name", "colour", "dash", "scale"):
                continue
            yield from _strings(value)
    elif isinstance(part, list):
        for value in part:
            yield from _strings(value)
    elif isinstance(part, str) and part:
        yield part


def marked(text: str) -> str:
    """As a translation that is distinguishable from untranslated text."""
    return f"{BEGIN}{text}{END}"


def unmarked(page: str) -> list[str]:
    """The words of a page that stand outside of translations; a translation may begin in one
    element and end in another."""
    depth, outside = 0, ""
    for sign in "\n".join(texts_of(page)):
        depth += (sign == BEGIN) - (sign == END)
        outside += " " if depth else sign
    return [word for word in WORD.findall(outside) if not KEY.fullmatch(word)]
