"""Why what an order did cannot be told, in the customer's words."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """The codes of `Proof.reason_code`."""

    NO_BEFORE = "no_before"
    CHANGED = "changed"
    TOO_LITTLE_LOAD = "too_little_load"
    GAPS = "gaps"

    @property
    def sentence(self) -> str:
        return SENTENCES[self]


SENTENCES: Final = {
    Reason.NO_BEFORE: (
        "The volume was measured for too short a time before the change, or its cache was still "
        "warming up."
    ),
    Reason.CHANGED: "The volume was changed again before this one could be measured.",
    Reason.TOO_LITTLE_LOAD: "There were too few reads before or after the change to compare.",
    Reason.GAPS: "Too many data points are missing before or after the change.",
}
