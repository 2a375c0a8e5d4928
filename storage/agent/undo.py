"""The undo window: how long a retired volume can still be had back."""

from __future__ import annotations

from .errors import Refusal
from .host import Host
from .policy import PATH, Policy
from .retirement import Retired

HOUR = 3600


def over(host: Host, policy: Policy, marks: Retired, subject: str) -> None:
    """Raises Refusal(too_early) while the window that root set is open, by the host's own clock.
    A mark from the future keeps it open: the clock was set back, or somebody wrote the mark."""
    age = host.wall_ns() // 1_000_000_000 - marks.at
    left = policy.undo_hours * HOUR - age
    if age < 0 or left > 0:
        hours = max(1, -(-left // HOUR))
        raise Refusal(
            "too_early",
            f"The volume {marks.name} was retired {max(0, age) // HOUR} h ago; this host keeps "
            f"retired volumes for {policy.undo_hours} h.",
            f"Try again in {hours} h, or restore the volume. Root sets undo_hours in {PATH}.",
            subject=subject,
        )
