"""`manage.py migrate`: Django's, which refuses a database that is too old to be migrated."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections

from panel.operations import migration_history


class Command(migrate.Command):
    """Migrate, or say which panel does it first."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Look at the database's migrations before Django does."""
        try:
            migration_history.demand_recent(
                migration_history.applied(connections[options["database"]])
            )
        except migration_history.DatabaseTooOldError as error:
            raise CommandError(str(error)) from None
        super().handle(*args, **options)
