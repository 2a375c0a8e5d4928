"""Command lines parsed strictly: an option that the model does not know is a ModelGap."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from storage.agent.kernel.local_host import CommandResult
from tests.fake.parts import ModelGap


@dataclass(frozen=True)
class Line:
    """`options` in the order given: (name, value or ""); `operands` are the other words."""

    options: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]

    def all(self, name: str) -> list[str]:
        return [value for option, value in self.options if option == name]

    def one(self, name: str) -> str:
        found = self.all(name)
        if len(found) != 1:
            raise ModelGap(f"{name} is given {len(found)} times")
        return found[0]

    def has(self, name: str) -> bool:
        return any(option == name for option, _ in self.options)


def parse(argv: Sequence[str], flags: Collection[str], valued: Collection[str]) -> Line:
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    words = iter(argv[1:])
    for word in words:
        if word in valued:
            options.append((word, next(words)))
        elif word in flags:
            options.append((word, ""))
        elif word.startswith("-"):
            raise ModelGap(f"unknown option {word}: {' '.join(argv)}")
        else:
            operands.append(word)
    return Line(tuple(options), tuple(operands))


def said(*lines: str) -> CommandResult:
    """Success, and what LVM says on stdout."""
    return CommandResult(0, "".join(f"  {line}\n" for line in lines))


def failed(*lines: str) -> CommandResult:
    """LVM's failure: exit code 5 and its words on stderr."""
    return CommandResult(5, "", "".join(f"  {line}\n" for line in lines))
