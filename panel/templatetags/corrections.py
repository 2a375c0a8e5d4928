"""What to do about a problem, with the commands in it set apart (some texts mark them with
backticks); and commands of which a part is not known yet. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

MARKED: Final = re.compile(r"`[^`]+`")
# A program and its arguments. These are words of their own up to one that goes on in English, or to
# a mark at the end of a clause.
ARGUMENT: Final = r"(?:[^\s.,;:()]|[.,;:](?=\S))+"
ENGLISH: Final = "again|and|as|before|for|if|in|is|on|or|prints|shows|that|the|then|to|until|with"
COMMAND: Final = re.compile(
    rf"{MARKED.pattern}|"
    r"\b(?:(?:mdadm|lv[a-z]+|vg[a-z]+|pv[a-z]+|smartctl|apt|systemctl)(?= -)"
    r"|echo(?= [^>]+ > )|cat(?= /)|manage\.py(?= doctor))"
    rf"(?: (?!(?:{ENGLISH})\b){ARGUMENT})+"
)
COPIED: Final = (
    "<code>{0}</code> "
    '<button type="button" class="copy-inline" data-copy aria-label="Copy {0}">Copy</button>'
)


@register.filter
def with_commands(text: object) -> SafeString:
    """The text, in which each command can be copied."""
    return _marked(str(text), COMMAND, COPIED)


@register.filter
def with_code(text: object) -> SafeString:
    """The text, in which what backticks mark is set as code."""
    return _marked(str(text), MARKED, "<code>{}</code>")


def _marked(text: str, pattern: re.Pattern[str], shown: str) -> SafeString:
    """The text, with what the pattern finds shown like that."""
    parts, end = [], 0
    for found in pattern.finditer(text):
        parts += [text[end : found.start()], format_html(shown, found[0].strip("`"))]
        end = found.end()
    return format_html_join("", "{}", ((each,) for each in (*parts, text[end:])))


HOLE: Final = re.compile(r"<[a-z][^<>]*>")
EXIT_SHOWN: Final = '<span class="command-rc{}">  # exit {}</span>'
HOLE_SHOWN: Final = '<em class="command-hole" title="known when the step runs">{}</em>'


@register.filter
def with_holes(shell: str) -> SafeString:
    """A command in which what only the step itself can know is marked."""
    return _marked(shell, HOLE, HOLE_SHOWN)


@register.filter
def as_lines(commands: Iterable[str]) -> SafeString:
    """Commands, each on its line."""
    return format_html_join("\n", "{}", ((each,) for each in commands))


@register.filter
def shell_lines(commands: Iterable[Any]) -> SafeString:
    """The commands of a step, each on its line, with how those ended that have run."""
    return _lines((command["shell"], command.get("rc")) for command in commands)


@register.filter
def shell_lines_with_holes(commands: Iterable[Any]) -> SafeString:
    """The same, with what only the step itself can know marked."""
    return _lines((with_holes(command["shell"]), command.get("rc")) for command in commands)


def _lines(commands: Iterable[tuple[str, int | None]]) -> SafeString:
    return format_html_join(
        "\n",
        "{}{}",
        (
            (shell, "" if rc is None else format_html(EXIT_SHOWN, " command-bad" if rc else "", rc))
            for shell, rc in commands
        ),
    )


@register.filter
def have_holes(steps: Iterable[Any]) -> bool:
    """Whether a command of the steps is not known in full yet."""
    return any(HOLE.search(command["shell"]) for step in steps for command in step.commands)
