"""Which kernel brought a slow-down: a bisect in which "cannot tell" is an answer.

Each step boots the kernel in the middle of those that are open, and compares it with the same
boots of the good end: `compare_units(..., is_pooled=True)`, as one boot is all there is of a step.
A kernel whose answer is "cannot tell" is skipped, as by `git bisect skip`: it is open no longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from storage.analysis.comparison.benchmark_verdict import Word
from storage.formatting import counted


class KernelAnswer(StrEnum):
    """What a comparison says of a kernel."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "cannot tell"


def answer_of(word: Word) -> KernelAnswer:
    """Only what is slower than the good end is bad."""
    if word is Word.CANNOT_TELL:
        return KernelAnswer.SKIPPED
    return KernelAnswer.BAD if word is Word.SLOWER else KernelAnswer.GOOD


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelBisect:
    """`kernels` in their order, of which the first is known to be good and the last to be bad.
    `answers` are those of kernels between them that were measured. Raises ValueError for fewer than
    two kernels, one that is listed twice, or an answer for a kernel that is not between them."""

    kernels: tuple[str, ...]
    answers: Mapping[str, KernelAnswer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.kernels) < 2 or len(set(self.kernels)) < len(self.kernels):
            raise ValueError("a bisect needs two kernels or more, each once")
        if unknown := set(self.answers) - set(self.kernels[1:-1]):
            raise ValueError(f"not between the ends: {', '.join(sorted(unknown))}")

    def answered(self, kernel: str, answer: KernelAnswer) -> KernelBisect:
        """With one more answer; a later one of the same kernel replaces the earlier."""
        return replace(self, answers={**self.answers, kernel: answer})

    @property
    def last_good(self) -> str:
        """The newest kernel before the first bad one that is good."""
        return self.kernels[self._ends[0]]

    @property
    def first_bad(self) -> str:
        """The oldest kernel that is bad."""
        return self.kernels[self._ends[1]]

    @property
    def skipped(self) -> tuple[str, ...]:
        """Kernels between these two whose answer was "cannot tell"."""
        return tuple(kernel for kernel in self._between if kernel in self.answers)

    @property
    def next_kernel(self) -> str | None:
        """The kernel to boot; None where the bisect has ended."""
        open_kernels = self._open
        return open_kernels[len(open_kernels) // 2] if open_kernels else None

    @property
    def boots_left(self) -> int:
        """At most, if none has to be skipped."""
        return len(self._open).bit_length()

    @property
    def sentence(self) -> str:
        """Where the slow-down came, as far as it is known."""
        where = f"first bad between {self.last_good} and {self.first_bad}"
        if self.next_kernel is not None:
            boots = counted(self.boots_left, "boot")
            return f"{where}: next {self.next_kernel}, at most {boots} if none is skipped"
        if self.skipped:
            return f"{where} (skipped {', '.join(self.skipped)})"
        return f"first bad {self.first_bad}, {self.last_good} is good"

    @property
    def _ends(self) -> tuple[int, int]:
        last = len(self.kernels) - 1
        bad = min((*self._places(KernelAnswer.BAD), last))
        return max(0, *(n for n in (0, *self._places(KernelAnswer.GOOD)) if n < bad)), bad

    @property
    def _between(self) -> Sequence[str]:
        good, bad = self._ends
        return self.kernels[good + 1 : bad]

    @property
    def _open(self) -> Sequence[str]:
        return [kernel for kernel in self._between if kernel not in self.answers]

    def _places(self, answer: KernelAnswer) -> list[int]:
        return [n for n, each in enumerate(self.kernels) if self.answers.get(each) is answer]
