"""The documents of `docs/` as HTML. Raw HTML in them is shown as text, and a link leads to another
document, to the web, or nowhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

GROUPS: Final = {
    "Run storage": ("operators",),
    "Run the panel": ("release-1.0", "production", "security", "benchmarks", "benchmark-lab"),
    "Sell caches": ("customers", "billing"),
    "Automate": ("api", "cli", "metrics", "versions"),
    "For developers": ("architecture", "agent-protocol", "ui-parts", "faults", "asvs"),
}
GLOSSARY: Final = "glossary"
TABLE: Final = '<div class="table-responsive" tabindex="0"><table class="table">\n'
NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the text below it, up to the next heading; `text` has no markup."""

    anchor: str
    title: str
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """`name` is that of its file, without `.md`."""

    name: str
    title: str
    html: SafeString
    sections: tuple[Section, ...]

    @property
    def chapters(self) -> list[Section]:
        """What a table of contents lists."""
        return [section for section in self.sections if section.level == 2]


def folder() -> Path:
    return Path(settings.BASE_DIR, "docs")


def names() -> list[str]:
    """Every document but the glossary, in the order of `GROUPS`."""
    return [name for group in GROUPS.values() for name in group]


def document(name: str) -> Document:
    """A document, rendered once for each version of its file."""
    path = folder() / f"{name}.md"
    return _rendered(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _rendered(path: Path, mtime_ns: int) -> Document:
    markdown = parser()
    tokens = markdown.parse(path.read_text())
    _number_anchors(tokens)
    _name_codes(tokens)
    for token in tokens:
        retarget(token)
    html = markdown.renderer.render(tokens, markdown.options, {})
    sections = tuple(_sections(tokens))
    return Document(path.stem, sections[0].title, mark_safe(html), sections)  # noqa: S308 (raw HTML is off)


def parser() -> MarkdownIt:
    """CommonMark with tables and without raw HTML."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    rules = markdown.renderer.rules  # type: ignore[attr-defined]
    rules["table_open"] = lambda *_: (
        '<div class="table-responsive" tabindex="0"><table class="table">\n'
    )
    rules["table_close"] = lambda *_: "</table></div>\n"
    return markdown


def anchor_of(title: str) -> str:
    """The fragment that GitHub gives to a heading."""
    return NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-")


def plain_text(token: Token) -> str:
    """The text of a heading, a paragraph or a cell, without markup."""
    parts = (
        child.content if child.type in ("text", "code_inline") else " "
        for child in token.children or ()
        if child.type in ("text", "code_inline", "softbreak", "hardbreak")
    )
    return "".join(parts)


def _number_anchors(tokens: list[Token]) -> None:
    """Give each heading its id; the second of a name ends in -1, as on GitHub."""
    seen = Counter[str]()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            anchor = anchor_of(plain_text(inline))
            opening.attrSet("id", f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1


def code_anchor(code: str) -> str:
    """The id of a row of a table that begins with this code."""
    return f"code-{code}"


def _name_codes(tokens: list[Token]) -> None:
    """Give each row of a table that begins with one code alone its id, the first time."""
    seen: set[str] = set()
    for row, cell, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        parts = inline.children or ()
        if (row.type, cell.type) != ("tr_open", "td_open") or len(parts) != 1:
            continue
        anchor = code_anchor(parts[0].content)
        if parts[0].type == "code_inline" and anchor not in seen:
            row.attrSet("id", anchor)
            seen.add(anchor)


def retarget(token: Token) -> None:
    """Links between documents lead to their pages here; what the panel does not serve is text."""
    leads = False
    for child in token.children or ():
        if child.type == "link_open":
            href = _served(str(child.attrGet("href") or ""))
            leads = bool(href)
            child.attrSet("href", href)
        if child.type == "image":
            child.type, child.tag, child.content = "text", "", f"[Chart: {child.content}]"
        if child.type in ("link_open", "link_close") and not leads:
            child.type, child.tag, child.nesting, child.content = "text", "", 0, ""


def _served(href: str) -> str:
    """Where the link leads here; "" where nowhere."""
    if href.startswith(("#", "https://")):
        return href
    path, _, anchor = href.partition("#")
    name = path.removesuffix(".md")
    if path == f"{GLOSSARY}.md":
        page = reverse("glossary")
    elif path.endswith(".md") and name in names():
        page = reverse("help-document", args=[name])
    else:
        return ""
    return f"{page}#{anchor}" if anchor else page


def _sections(tokens: list[Token]) -> Iterator[Section]:
    heading: tuple[str, str, int] | None = None
    text: list[str] = []
    for n, token in enumerate(tokens):
        if token.type == "heading_open":
            if heading is not None:
                yield Section(*heading, " ".join(text))
            anchor, title = str(token.attrGet("id")), plain_text(tokens[n + 1])
            heading, text = (anchor, title, int(token.tag[1:])), []
        elif token.type == "inline" and tokens[n - 1].type != "heading_open":
            text.append(plain_text(token))
        elif token.type in ("fence", "code_block"):
            text.append(token.content)
    if heading is not None:
        yield Section(*heading, " ".join(text))
