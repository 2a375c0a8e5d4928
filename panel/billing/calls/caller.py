"""Who calls, and what a call comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

from panel.api.shapes import Json

ACTOR = "billing"
"""What histories and the audit trail call whoever signs."""


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is the call's webhook-id, `address` where it came from."""

    name: str
    address: str | None


@dataclass(frozen=True, slots=True)
class Result:
    """`is_pending`: what it began is not over; `status` tells when it is."""

    said: Json = field(default_factory=dict)
    is_pending: bool = False

    @property
    def status(self) -> int:
        """The HTTP status."""
        return 202 if self.is_pending else 200

    def to_json(self) -> Json:
        """The body."""
        return {"result": "pending" if self.is_pending else "success", **self.said}
