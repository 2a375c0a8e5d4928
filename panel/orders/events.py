"""Signals about orders, for billing and notices.

Each is sent with `order=` inside the transaction of the change: a receiver writes rows, or waits
for `transaction.on_commit`, and never makes an external request.
"""

from __future__ import annotations

from django.dispatch import Signal

placed = Signal()
completed = Signal()
failed = Signal()
refused = Signal()
cancelled = Signal()
proof_ready = Signal()
