"""The texts that customers' pages ask a translation for, found in source and templates, and the
catalogue brought up to date with them: `python -m tests.messages de`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.utils.translation.template import templatize

from panel.languages.catalogues import CatalogueEntry, entries

ROOT: Final = Path(__file__).parent.parent
CALLS: Final[dict[str, tuple[int, ...]]] = {
    **dict.fromkeys(("gettext", "gettext_lazy", "marked", "gettext_noop", "_"), (0,)),
    "ngettext": (0, 1),
    "pgettext": (0, 1),
    "npgettext": (0, 1, 2),
    "OrderRefused": (1, 2),
}
"""Which of its arguments a call translates; those of `OrderRefused` are two messages."""


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A text to translate, where it was found first."""

    message: str
    plural: str = ""
    context: str = ""
    place: str = ""

    @property
    def key(self) -> str:
        return CatalogueEntry(self.context, self.message).key


def catalogue_path(language: str) -> Path:
    """Where the translator writes."""
    return ROOT / "locale" / language / "LC_MESSAGES" / "django.po"


def all_messages() -> dict[str, FoundMessage]:
    """By key, in the order of the files."""
    found: dict[str, FoundMessage] = {}
    for each in _everywhere():
        known = found.get(each.key)
        if known is None or (each.plural and not known.plural):
            found[each.key] = each
    return found


def _everywhere() -> Iterator[FoundMessage]:
    for package in ("panel", "jobs", "storage"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield from messages_of(path.read_text(), str(path.relative_to(ROOT)))
    for path in sorted((ROOT / "templates").rglob("*.*t*")):
        text = path.read_text()
        if "i18n" in text:
            yield from _of_template(text, str(path.relative_to(ROOT)))


def messages_of(source: str, place: str) -> Iterator[FoundMessage]:
    """Those of Python source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            texts = [_text(node.args, n) for n in CALLS.get(name, ())]
            if (not texts or texts[0] is None) and name != "OrderRefused":
                continue
            match name:
                case "ngettext":
                    yield FoundMessage(texts[0] or "", texts[1] or "", place=place)
                case "pgettext":
                    yield FoundMessage(texts[1] or "", context=texts[0] or "", place=place)
                case "npgettext":
                    yield FoundMessage(texts[1] or "", texts[2] or "", texts[0] or "", place)
                case _:
                    yield from (FoundMessage(text, place=place) for text in texts if text)


def _text(args: list[ast.expr], number: int) -> str | None:
    if number >= len(args) or not isinstance(args[number], ast.Constant):
        return None
    value = args[number].value  # type: ignore[attr-defined]
    return value if isinstance(value, str) else None


def _of_template(text: str, place: str) -> Iterator[FoundMessage]:
    """Django turns a template into calls, one after the other among X's."""
    code = templatize(text)
    begin = 0
    while (begin := code.find("gettext(", begin)) != -1:
        word = code.rfind(" ", 0, begin) + 1
        name = code[word:begin].strip() + "gettext"
        end = begin
        while True:  # the call ends with the first bracket at which it is an expression
            end = code.index(")", end) + 1
            try:
                ast.parse(code[word:end].strip(), mode="eval")
            except SyntaxError:
                continue
            break
        call = code[word:end].strip().replace("_" + name, name)
        yield from messages_of(call.removeprefix("_"), place)
        begin = end


def written(language: str) -> dict[str, CatalogueEntry]:
    """What the catalogue has, by key."""
    text = catalogue_path(language).read_text(encoding="utf-8")
    return {entry.key: entry for entry in entries(text)}


def renewed(language: str) -> str:
    """The catalogue with every text that is asked for and no other, in the order of the files; what
    is new is empty."""
    known = written(language)
    blocks = [_block("", known[""])]
    for each in all_messages().values():
        entry = known.get(each.key, CatalogueEntry(each.context, each.message))
        entry.plural = each.plural
        blocks.append(_block(each.place, entry))
    return "\n\n".join(blocks) + "\n"


def _block(place: str, entry: CatalogueEntry) -> str:
    lines = [f"#: {place}"] if place else []
    if entry.is_fuzzy:
        lines.append("#, fuzzy")
    if entry.context:
        lines.append(f"msgctxt {_quoted(entry.context)}")
    lines.append(f"msgid {_quoted(entry.message)}")
    if entry.plural:
        lines.append(f"msgid_plural {_quoted(entry.plural)}")
        lines += [f"msgstr[{n}] {_quoted(entry.texts.get(n, ''))}" for n in (0, 1)]
    else:
        lines.append(f"msgstr {_quoted(entry.texts.get(0, ''))}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if "\n" not in text:
        return f'"{escaped}"'
    rows = [f'"{row}"' for row in escaped.replace("\n", "\\n\n").split("\n") if row]
    return "\n".join(['""', *rows])


if __name__ == "__main__":
    catalogue_path(sys.argv[1]).write_text(renewed(sys.argv[1]), encoding="utf-8")
