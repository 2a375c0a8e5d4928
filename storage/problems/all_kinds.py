"""All kinds of problems by their codes, and what is computed from them. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from storage.problems.kinds_of_arrays import ARRAY_KINDS
from storage.problems.kinds_of_caches import CACHE_KINDS
from storage.problems.kinds_of_disks import DISK_KINDS
from storage.problems.kinds_of_hosts import HOST_KINDS
from storage.problems.kinds_of_jobs import JOB_KINDS
from storage.problems.kinds_of_volumes import VOLUME_KINDS
from storage.problems.problem_kind import JudgedBy, ProblemKind

KINDS: Final = {
    kind.code: kind
    for kind in (
        *HOST_KINDS,
        *ARRAY_KINDS,
        *VOLUME_KINDS,
        *CACHE_KINDS,
        *DISK_KINDS,
        *JOB_KINDS,
    )
}
UNKNOWN: Final = ProblemKind("", "", "", "")
"""Of a code that a later or an earlier version gave."""
AT_RISK: Final = frozenset(code for code, kind in KINDS.items() if kind.is_data_at_risk)
"""Codes that say that data may be lost."""


def kind_of(code: str) -> ProblemKind:
    """The kind with this code; one without words where there is none."""
    return KINDS.get(code) or replace(UNKNOWN, code=code)


def family_of(code: str) -> str:
    """What alerts count as one problem."""
    return kind_of(code).family or code


def judged_by(*ways: JudgedBy) -> frozenset[str]:
    """The codes of what these rules find."""
    return frozenset(code for code, kind in KINDS.items() if kind.judged_by in ways)


def may_follow(effect: str, cause: str) -> bool:
    """Whether one kind may be there because of the other; what one disk says of itself, because of
    whatever is declared before it."""
    return cause in kind_of(effect).follows or cause in _GRAVER_DISK_KINDS.get(effect, ())


_OF_DISK = [kind.code for kind in DISK_KINDS if kind.about == "disk"]
_GRAVER_DISK_KINDS = {code: frozenset(_OF_DISK[:n]) for n, code in enumerate(_OF_DISK)}


def _depth(code: str) -> int:
    """How many kinds stand above it, one upon the other."""
    causes = (*kind_of(code).follows, *_GRAVER_DISK_KINDS.get(code, ()))
    return 1 + max(map(_depth, causes), default=0)


PRECEDENCE: Final = {
    "trust": -2,
    "contact": -1,
    **{
        family_of(code): _depth(code)
        for code in KINDS
        if KINDS[code].family not in ("trust", "contact")
    },
}
"""By families: whatever another one may follow from has a lower number."""
