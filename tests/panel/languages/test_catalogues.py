"""The catalogues are complete, agree with the texts, and compile to what gettext reads."""

from __future__ import annotations

import gettext
import io
import re
from itertools import chain

import pytest

from panel.languages.catalogues import CatalogueEntry, compiled, entries
from tests.messages import all_messages, catalogue_path, messages_of, written

PLACES = re.compile(r"\{\w*\}|%\(\w+\)s|<[^>]+>")


@pytest.fixture(scope="module")
def german() -> dict[str, CatalogueEntry]:
    return written("de")


def test_german_has_every_text_and_no_other(german: dict[str, CatalogueEntry]) -> None:
    wanted = all_messages()
    untranslated = [key for key in wanted if key not in german or not german[key].is_translated]
    assert untranslated == [], "run: python -m tests.messages de, and translate what is empty"
    assert [key for key in german if key and key not in wanted] == []


def test_a_translation_has_the_same_gaps_as_its_text(german: dict[str, CatalogueEntry]) -> None:
    wrong = []
    for entry in german.values():
        for number, text in entry.texts.items():
            asked = entry.plural if number and entry.plural else entry.message
            if asked and set(PLACES.findall(text)) != set(PLACES.findall(asked)):
                wrong.append(text)
    assert wrong == []


def test_texts_are_found_with_their_plural_and_their_context() -> None:
    source = """gettext("One"); ngettext("{n} a", "{n} b", n); pgettext("month", "May"); gettext(x)
raise OrderRefused("code", "Why", "What helps")"""
    found = [(each.context, each.message, each.plural) for each in messages_of(source, "")]
    assert sorted(found) == [
        ("", "One", ""), ("", "What helps", ""), ("", "Why", ""), ("", "{n} a", "{n} b"),
        ("month", "May", ""),
    ]  # fmt: skip


def test_what_is_compiled_is_what_gettext_reads() -> None:
    header = CatalogueEntry(texts={0: "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: "
                                      "nplurals=2; plural=(n != 1);\n"})  # fmt: skip
    text = """
msgid "Slow"
msgstr "Langsam"

msgid "{n} day"
msgid_plural "{n} days"
msgstr[0] "{n} Tag"
msgstr[1] "{n} "
"Tage"

#, fuzzy
msgid "Fast"
msgstr "Fest"

msgctxt "date"
msgid "j F"
msgstr "j. F"

msgid "Not translated"
msgstr ""
"""
    read = gettext.GNUTranslations(io.BytesIO(compiled(chain([header], entries(text)))))
    assert read.gettext("Slow") == "Langsam"
    assert [read.ngettext("{n} day", "{n} days", n) for n in (1, 2)] == ["{n} Tag", "{n} Tage"]
    assert read.pgettext("date", "j F") == "j. F"
    assert (read.gettext("Fast"), read.gettext("Not translated")) == ("Fast", "Not translated")


def test_the_catalogue_lies_where_django_looks() -> None:
    assert catalogue_path("de").is_file()
