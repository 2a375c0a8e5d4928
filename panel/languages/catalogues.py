"""Compiles the catalogues of `locale` (`django.po`) into what gettext reads (`django.mo`), without
the programs of GNU gettext. Fuzzy and empty translations are left out: those texts stay English."""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

CONTEXT_END: Final = "\x04"
MAGIC: Final = 0x950412DE
HEADER_WORDS: Final = 7


@dataclass
class CatalogueEntry:
    """One message; `plural` is "" where it has none, `texts` are its translations by number."""

    context: str = ""
    message: str = ""
    plural: str = ""
    texts: dict[int, str] = field(default_factory=dict)
    is_fuzzy: bool = False

    @property
    def key(self) -> str:
        """How code asks for it."""
        return f"{self.context}{CONTEXT_END}{self.message}" if self.context else self.message

    @property
    def is_translated(self) -> bool:
        return not self.is_fuzzy and bool(self.texts) and all(self.texts.values())


def compile_all(folder: Path) -> list[Path]:
    """Bring every compiled catalogue below `folder` up to date; those that were written."""
    written = []
    for source in sorted(folder.glob("*/LC_MESSAGES/django.po")):
        target = source.with_suffix(".mo")
        if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            partial = target.with_suffix(".new")
            partial.write_bytes(compiled(entries(source.read_text(encoding="utf-8"))))
            partial.replace(target)
            written.append(target)
    return written


def entries(text: str) -> Iterator[CatalogueEntry]:
    """The messages of a catalogue, its header (the empty message) first."""
    entry, last = CatalogueEntry(), ""
    for line in (*text.splitlines(), ""):
        line = line.strip()
        if not line:
            if entry.texts:
                yield entry
            entry, last = CatalogueEntry(), ""
        elif line.startswith("#,"):
            entry.is_fuzzy = "fuzzy" in line
        elif line.startswith("#"):
            continue
        elif line.startswith('"'):
            _add(entry, last, ast.literal_eval(line))
        else:
            last, _, quoted = line.partition(" ")
            _add(entry, last, ast.literal_eval(quoted))


def _add(entry: CatalogueEntry, keyword: str, text: str) -> None:
    match keyword:
        case "msgctxt":
            entry.context += text
        case "msgid":
            entry.message += text
        case "msgid_plural":
            entry.plural += text
        case _:
            number = int(keyword.removeprefix("msgstr").strip("[]") or 0)
            entry.texts[number] = entry.texts.get(number, "") + text


def compiled(messages: Iterator[CatalogueEntry]) -> bytes:
    """The catalogue as gettext reads it: two tables of lengths and places, then the texts."""
    pairs = {}
    for entry in messages:
        if entry.is_translated:
            key = f"{entry.key}\0{entry.plural}" if entry.plural else entry.key
            texts = "\0".join(entry.texts[number] for number in sorted(entry.texts))
            pairs[key.encode()] = texts.encode()
    keys = sorted(pairs)
    begin = HEADER_WORDS * 4
    place = begin + 2 * 8 * len(keys)
    tables: list[int] = []
    stored = b""
    for words in (keys, [pairs[key] for key in keys]):
        for word in words:
            tables += [len(word), place + len(stored)]
            stored += word + b"\0"
    header = (MAGIC, 0, len(keys), begin, begin + 8 * len(keys), 0, 0)
    return struct.pack(f"<{HEADER_WORDS}I{len(tables)}I", *header, *tables) + stored
