"""The language of the texts and figures that pure modules make: English, unless the panel has said
by `speak` how to translate. What a text calls `gettext` with is in the catalogues of `locale`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Translator:
    """`separators` are the decimal and the thousands separator of the language spoken now."""

    gettext: Callable[[str], str]
    ngettext: Callable[[str, str, int], str]
    separators: Callable[[], tuple[str, str]]


def _english_plural(one: str, many: str, number: int) -> str:
    return one if number == 1 else many


ENGLISH: Final = (".", ",")
_speaking = [Translator(str, _english_plural, lambda: ENGLISH)]


def speak(translator: Translator) -> None:
    """From now on translate by this."""
    _speaking[0] = translator


def gettext(text: str) -> str:
    """The text in the language spoken now."""
    return _speaking[0].gettext(text)


def marked(text: str) -> str:
    """The text as it is: one that `gettext` is asked for later."""
    return text


def ngettext(one: str, many: str, number: int) -> str:
    """The same, where it depends on a number."""
    return _speaking[0].ngettext(one, many, number)


def figure(english: str) -> str:
    """A number written in the English way, such as "1,240.5", in the way of the language spoken
    now."""
    decimal, thousands = _speaking[0].separators()
    if (decimal, thousands) == ENGLISH:
        return english
    return "".join(
        decimal if sign == "." else thousands if sign == "," else sign for sign in english
    )
