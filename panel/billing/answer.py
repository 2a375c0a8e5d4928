"""Decodes the billing system's answer to the question whether an order may begin. Pure."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass
from typing import Literal, cast, get_args

Word = Literal["approve", "refuse", "pending"]
WORDS = get_args(Word)
MAX_REASON = 300


class BadAnswer(Exception):
    """It cannot be understood; the message says why, for the log of deliveries."""


@dataclass(frozen=True, slots=True)
class Decision:
    """`reason` is shown to the customer, "" for none."""

    word: Word
    reason: str = ""


def decision_of(body: bytes) -> Decision:
    """Read `{"decision": "approve" | "refuse" | "pending", "reason": …}`; raises `BadAnswer`."""
    try:
        answer = json.loads(body)
    except ValueError:
        raise BadAnswer("The answer is not JSON.") from None
    word = answer.get("decision") if isinstance(answer, dict) else None
    if word not in WORDS:
        raise BadAnswer(f"The answer has no valid decision (one of {', '.join(WORDS)}).")
    reason = answer.get("reason") or ""
    if not isinstance(reason, str):
        raise BadAnswer("The reason in the answer is not text.")
    return Decision(cast("Word", word), plain_reason(reason))


def plain_reason(reason: str) -> str:
    """One line of plain text: no control or direction characters, at most `MAX_REASON` long."""
    kept = (" " if char.isspace() else char for char in reason if _is_readable(char))
    line = " ".join("".join(kept).split())
    return line if len(line) <= MAX_REASON else line[: MAX_REASON - 1].rstrip() + "…"


def _is_readable(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn")
