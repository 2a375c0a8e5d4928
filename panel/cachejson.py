"""How Django's cache writes to Redis: as JSON. Its own way, pickle, runs whatever code was written
there by whoever reaches Redis."""

from __future__ import annotations

import json


class JsonSerializer:
    """Whole numbers are written bare, so that Redis can count them."""

    def dumps(self, value: object) -> bytes:
        """The bytes to keep; raises TypeError for what JSON cannot say."""
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> object:
        """The value; raises ValueError for bytes that this class did not write."""
        return json.loads(data)
