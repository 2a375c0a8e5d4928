"""The backend: Django looks for a module of this name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.backends.postgresql import base
from psycopg.types.datetime import TimestamptzLoader


class UtcLoader(TimestamptzLoader):
    """Moments of a session in UTC. psycopg's own, which Django takes, parses with a pattern."""

    # Django puts its loader in the place of one that is of another zone.
    timezone = UTC

    def load(self, data: bytes | bytearray | memoryview) -> datetime:
        """The aware datetime; raises `psycopg.DataError` for one that Python has no room for."""
        try:
            return datetime.fromisoformat(str(data, "ascii"))
        except ValueError:
            return super().load(data)


class DatabaseWrapper(base.DatabaseWrapper):
    """Reads moments by `UtcLoader` where the panel's zone is UTC."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect."""
        connection = super().get_new_connection(conn_params)
        if self.timezone is UTC:
            connection.adapters.register_loader("timestamptz", UtcLoader)
        return connection
