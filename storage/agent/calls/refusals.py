"""The one exception by which a request is refused, and the problems that hello reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STDERR_LIMIT = 4096

CODES = frozenset(
    (
        "bad_request",
        "unknown_verb",
        "too_large",
        "observe_only",
        "vg_not_allowed",
        "not_ours",
        "not_found",
        "already_exists",
        "stale",
        "in_use",
        "busy",
        "no_space",
        "occupied",
        "unsupported",
        "missing_tool",
        "dirty",
        "not_redundant",
        "not_fresh",
        "degraded",
        "too_early",
        "not_retired",
        "guest_busy",
        "needs_guest_off",
        "data_lost",
        "timeout",
        "cmd_failed",
        "op_conflict",
        "internal",
        "interrupted",
        "aborted",
        "journal_unwritable",
        "stale_fence",
        "other_panel",
        "not_abortable",
        "quota",
        "stuck",
    )
)


class Refusal(Exception):
    """Why a request or a step is refused.

    `code` is one of CODES; `message` says what is wrong, `correction` what a person can do.
    `subject` names the object the check was about (`lv:VG/LV`, `cset:UUID`, `space:VG`):
    a dry run defers the refusal when an earlier step of its list changes that object.
    """

    def __init__(
        self,
        code: str,
        message: str,
        correction: str,
        *,
        subject: str = "",
        argv: Sequence[str] | None = None,
        rc: int | None = None,
        stderr: str = "",
    ) -> None:
        if code not in CODES:
            raise ValueError(f"unknown error code {code!r}")
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.correction = correction
        self.subject = subject
        self.argv = None if argv is None else list(argv)
        self.rc = rc
        self.stderr = stderr[-STDERR_LIMIT:]

    def to_json(self) -> dict[str, Any]:
        """The `error` object of a reply."""
        return {
            "code": self.code,
            "message": self.message,
            "correction": self.correction,
            "argv": self.argv,
            "rc": self.rc,
            "stderr": self.stderr,
        }


Problem = dict[str, str]


def problem(
    code: str, severity: str, message: str, correction: str, *, subject: str = ""
) -> Problem:
    """A problem of a host; `severity` is "error", "warning" or "info". `subject` names what has it
    ("VG/LV", a group, a device), "" for the host itself. It distinguishes problems of one code."""
    return {
        "code": code,
        "severity": severity,
        "message": message,
        "correction": correction,
        "subject": subject,
    }
