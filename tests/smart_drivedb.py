"""smartmontools' own table of models (drivedb.h, as its package installs it): which attributes a
model has, what they are called, and with which models its authors tested that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ENTRY = re.compile(r"\n  \{ (.*?)\n  \},", re.DOTALL)
_TOKEN = re.compile(r'"((?:\\.|[^"\\])*)"|//([^\n]*)|(,)')
_PRESET = re.compile(r"-v (\d+),([\w:()/]+),([\w-]+)(?:,(HDD|SSD))? ")
_TESTED = re.compile(r"^\s*(?:tested with\s+)?(.+)/[^/,]+$")


@dataclass(frozen=True, slots=True)
class Family:
    """`attributes` are names by number; `tested` are models that match."""

    name: str
    models: re.Pattern[str]
    attributes: dict[int, str]
    tested: tuple[str, ...]


def families(text: str) -> Iterator[Family]:
    """Those of ATA disks."""
    default: dict[int, str] = {}
    for entry in _ENTRY.findall(text):
        fields, comments = _fields(entry)
        if len(fields) != 5 or fields[0].startswith(("VERSION", "USB:")):
            continue
        named = {int(number): name for number, _, name, _ in _PRESET.findall(f"{fields[4]} ")}
        if fields[0] == "DEFAULT":
            default = named
            continue
        models = re.compile(fields[1])
        tested = dict.fromkeys(model for model in _tested(comments) if models.fullmatch(model))
        yield Family(fields[0], models, {**default, **named}, tuple(tested))


def _fields(entry: str) -> tuple[list[str], list[str]]:
    """The five strings, each of several literals, and the comments."""
    fields, comments = [""], []
    for literal, comment, comma in _TOKEN.findall(entry):
        if comma:
            fields.append("")
        elif comment:
            comments.append(comment)
        else:
            fields[-1] += re.sub(r"\\(.)", r"\1", literal)
    return fields, comments


def _tested(comments: list[str]) -> Iterator[str]:
    """Models with their firmware, after the words "tested with" and in the comments that go on."""
    is_list = False
    for comment in comments:
        _, words, rest = comment.partition("tested with")
        is_list = bool(words) or (is_list and comment.startswith("   "))
        matches = [_TESTED.match(part) for part in (rest if words else comment).split(",")]
        if is_list:
            yield from (match[1].strip() for match in matches if match is not None)
