"""An event as JSON, for readers of the API and for receivers of webhooks. Pure.

Events are thin: they name what they are about by its key and say what changed in a word or two. The
API has the rest, as it is by then, and asks again whether the reader may see it.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any, Final

from storage.models import Event

Json = dict[str, Any]
REFERENCES: Final = {
    "customer": "customer_key",
    "volume": "volume_key",
    "job": "job_key",
    "order": "order_key",
}
STAFF_REFERENCES: Final = {"host": "host_key", "alert": "alert_key"}


def event_json(event: Event, *, for_staff: bool) -> Json:
    """The envelope of Standard Webhooks (`type`, `timestamp`, `data`) with the event's name, the
    version of its data, and its subject. Hosts and what `Event.internal` says are the staff's."""
    data: Json = {"customer_external_id": event.customer_external_id}
    names = REFERENCES | (STAFF_REFERENCES if for_staff else {})
    data |= {name: getattr(event, column) or None for name, column in names.items()}
    data |= event.data
    if for_staff:
        data |= event.internal
    return {
        "id": event.key,
        "type": event.kind,
        "version": event.version,
        "timestamp": f"{event.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "subject": event.subject,
        "data": data,
    }
