"""What happens to orders, for those who tell others of it.

Each is sent with `order=` inside the transaction that makes it so: a receiver writes rows, or waits
for `transaction.on_commit`, and never asks anybody outside.
"""

from __future__ import annotations

from django.dispatch import Signal

placed = Signal()
completed = Signal()
failed = Signal()
refused = Signal()
cancelled = Signal()
proof_ready = Signal()
