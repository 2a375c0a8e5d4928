"""Empties the tables after a test that needed real transactions.

Django's flush truncates every table, which costs half a second of work: each has files and indexes
that are made anew. Most tests write few rows into few tables, so those are deleted.
"""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import connection
from django.test import TransactionTestCase

# Runs as the tables' owner, for triggers guard rows that even the app may not delete. What no test
# writes stays: Django would only make it anew.
FUNCTION = """
CREATE FUNCTION empty_tables() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    used regclass[] := ARRAY(
        SELECT oid::regclass FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
            AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
    );
    guarded regclass[] := ARRAY(
        SELECT DISTINCT tgrelid::regclass FROM pg_trigger
        WHERE tgrelid = ANY(used) AND NOT tgisinternal
    );
    this regclass;
BEGIN
    FOREACH this IN ARRAY guarded LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', this);
    END LOOP;
    FOREACH this IN ARRAY used LOOP
        EXECUTE format('DELETE FROM %s', this);
    END LOOP;
    SET CONSTRAINTS ALL IMMEDIATE;
    FOREACH this IN ARRAY guarded LOOP
        EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', this);
    END LOOP;
END $$
"""


def prepare(owner: psycopg.Connection[Any]) -> None:
    """Make the function in the database that the owner is connected to."""
    owner.execute(FUNCTION)


def replace_flush() -> None:
    """Let Django's test cases empty the tables so."""
    TransactionTestCase._fixture_teardown = lambda self: empty()  # type: ignore[method-assign]


def empty() -> None:
    """Leave the tables as the migrations made them, but for rows that a migration wrote."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT empty_tables()")
