"""One problem of a host, as hello reports it."""

from __future__ import annotations

Problem = dict[str, str]


def problem(code: str, severity: str, message: str, correction: str) -> Problem:
    """`severity` is "error", "warning" or "info"."""
    return {"code": code, "severity": severity, "message": message, "correction": correction}
