"""What all messages that the panel sends show of how far they are."""

from __future__ import annotations

from typing import Final

from panel.api.framework.fields import Choice, DateTime, Integer, Text
from panel.api.framework.shape import Shape

MESSAGE_STATES: Final = ["delivered", "given_up", "waiting"]


class OutgoingShape(Shape):
    """A message."""

    state = Choice("Its current state.", MESSAGE_STATES)
    attempts = Integer("How often it was tried.")
    status = Integer(
        "HTTP status of the last answer; null: none came.", of="last_status", null=True
    )
    error = Text("Why the last attempt failed.", of="last_error")
    next_at = DateTime("When it is tried (again).", of="next_try_at", null=True)
    created_at = DateTime("When it was created.")
    delivered_at = DateTime("When it arrived; null: it has not yet.", null=True)
