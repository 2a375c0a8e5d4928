"""The backend: Django looks for a module of this name."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any, Self

import psycopg
from django.db.backends.postgresql import base
from psycopg import Error
from psycopg.pq import TransactionStatus
from psycopg.types.datetime import TimestamptzLoader

from storage import row_security

SET_SCOPE = "SELECT set_config('tiercel.wall', %s, false)"


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


class PreparedCursor(psycopg.Cursor[Any]):
    """PostgreSQL parses and plans its statements once a session, and puts the parameters in."""

    def execute(self, query: Any, params: Any = None, **given: Any) -> Self:
        """Run a statement."""
        return super().execute(query, params, prepare=True)


class DatabaseWrapper(base.DatabaseWrapper):
    """Reads moments by `UtcLoader` where the panel's zone is UTC, and tells the session before a
    statement whose rows it may see, where that has changed (`storage.row_security`). Compiles no
    statement."""

    _session_scope: str | None = None
    """The scope that the session has; None where it may have lost it."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect."""
        connection = super().get_new_connection(conn_params)
        self._session_scope = None
        # Nothing is prepared for being asked often: only what a `prepared_cursor` is given.
        connection.prepare_threshold = sys.maxsize
        if self.timezone is UTC:
            connection.adapters.register_loader("timestamptz", UtcLoader)
        return connection

    def init_connection_state(self) -> None:
        """Turn just-in-time compilation off: no query of the panel takes long enough to earn it
        back, and of tables that were never analysed PostgreSQL expects far too much."""
        super().init_connection_state()
        with self.connection.cursor() as cursor:
            cursor.execute("SET jit = off")

    def create_cursor(self, name: str | None = None) -> Any:
        """Every statement of Django goes through here, COPY too."""
        self._set_session_scope()
        return super().create_cursor(name)

    def prepared_cursor(self) -> Any:
        """As `cursor`, for one of the few statements that run many times a second and never change
        (`storage.compiled_query`): PostgreSQL needs longer to plan them than to run them."""
        self.ensure_connection()
        with self.wrap_database_errors:
            self._set_session_scope()
            cursor = PreparedCursor(self.connection)
        return self._prepare_cursor(cursor)  # type: ignore[attr-defined]

    def is_usable(self) -> bool:
        """Setting the scope tests the connection, and saves a request a query of its own."""
        if self.connection is None:
            return False
        self._session_scope = None
        try:
            self._set_session_scope()
        except Error:
            return False
        return True

    def _rollback(self) -> None:
        super()._rollback()  # type: ignore[misc]
        # A rollback also undoes a scope that was set within the transaction.
        self._session_scope = None

    def _savepoint_rollback(self, sid: str) -> None:
        super()._savepoint_rollback(sid)  # type: ignore[misc]
        self._session_scope = None

    def _set_session_scope(self) -> None:
        scope = row_security.current_scope()
        if scope == self._session_scope:
            return
        # After an error nothing but a rollback is accepted, and nothing else is seen either.
        if self.connection.info.transaction_status == TransactionStatus.INERROR:
            return
        with self.connection.cursor() as cursor:
            cursor.execute(SET_SCOPE, [scope])
        self._session_scope = scope
