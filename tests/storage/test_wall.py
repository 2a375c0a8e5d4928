"""The second wall: what PostgreSQL shows a session, whoever forgot to ask for less."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection, models

from storage.models import Customer

EXEMPT: dict[str, str] = {}
"""Tables that lead to a customer and have no policy, each with the reason why."""
STAFF_ONLY = {"jobs_auditentry"}
"""Tables that lead to no customer by a key, but tell of them."""


def leads_to(model: type[models.Model]) -> set[type[models.Model]]:
    fields = model._meta.get_fields()
    return {
        field.related_model
        for field in fields
        if (field.many_to_one or field.one_to_one) and field.concrete and field.related_model
    }  # type: ignore[misc]


def tenant_tables() -> set[str]:
    """Every table from whose rows foreign keys lead to a customer, over however many others."""
    all_models = apps.get_models(include_auto_created=True)
    found: set[type[models.Model]] = {Customer}
    while more := {each for each in all_models if leads_to(each) & found} - found:
        found |= more
    return {model._meta.db_table for model in found}


def enclosed_tables() -> set[str]:
    """Tables with a policy for reading and for writing that is in force."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE"
            " relrowsecurity AND polcmd = '*' AND polqual IS NOT NULL AND polwithcheck IS NOT NULL"
        )
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.django_db
def test_every_table_that_leads_to_a_customer_is_walled_or_says_why_not() -> None:
    assert tenant_tables() | STAFF_ONLY == enclosed_tables() | EXEMPT.keys()


@pytest.mark.django_db
def test_the_panel_asks_as_a_role_that_the_wall_binds() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, row_security_active('storage_volume')")
        assert cursor.fetchone() == ("tiercel_app", True)
        cursor.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False,)
