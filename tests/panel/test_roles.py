"""The two database roles."""

import pytest
from django.db import ProgrammingError, connection, transaction

pytestmark = pytest.mark.django_db


def test_the_app_role_owns_nothing_and_is_no_superuser() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False, False)
        cursor.execute("SELECT count(*) FROM pg_tables WHERE tableowner = current_user")
        assert cursor.fetchone() == (0,)


def test_the_app_role_cannot_change_tables() -> None:
    with connection.cursor() as cursor:
        for statement in ("CREATE TABLE mine (n int)", "DROP TABLE panel_user"):
            with pytest.raises(ProgrammingError), transaction.atomic():
                cursor.execute(statement)
