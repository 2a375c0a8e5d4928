"""When a message that was not taken is tried again. Pure."""

from __future__ import annotations

SECONDS = (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
"""The intervals of Standard Webhooks, 5 seconds to a day; then it is given up."""
QUESTION_SECONDS = 30
"""A customer waits for the answer to a question: it is asked again and again."""
JITTER = 0.2


def seconds_after(attempts: int, chance: float, *, is_question: bool = False) -> float | None:
    """How long to wait after the `attempts`-th try, None for no more. `chance` from 0 to 1 spreads
    the tries, so that what failed together does not come back together."""
    if is_question:
        base = SECONDS[0] if attempts <= 1 else QUESTION_SECONDS
    elif attempts > len(SECONDS):
        return None
    else:
        base = SECONDS[max(attempts, 1) - 1]
    return base * (1 + JITTER * chance)
