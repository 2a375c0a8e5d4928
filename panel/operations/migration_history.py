"""Which migrations a database has, and whether this panel can migrate it.

Migrations that are in `replaces` of another one have no files. A database that has all of them is
migrated from there; one that has some needs an older panel first. Django itself would leave the
others out, or say that a node does not exist.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Name = tuple[str, str]


class DatabaseTooOldError(Exception):
    """The text says what to do."""


def applied(connection: BaseDatabaseWrapper) -> Collection[Name]:
    """The app and name of each migration that the database has; none of an empty database."""
    return MigrationRecorder(connection).applied_migrations().keys()


def known() -> set[Name]:
    """The migrations of this panel, with those that they replace."""
    return {name for migration, replaced in _migrations() for name in (migration, *replaced)}


def demand_recent(applied: Collection[Name]) -> None:
    """Raise `DatabaseTooOldError` where an older panel applied some of the replaced migrations and
    not all. What this one applied is no concern: `migrate` may have been interrupted."""
    replaced = [name for each, names in _migrations() if each not in applied for name in names]
    missing = [name for name in replaced if name not in applied]
    if missing and len(missing) < len(replaced):
        app, name = missing[-1]
        raise DatabaseTooOldError(
            f"the database is of an older panel than this one can migrate: {app}.{name} is missing."
            f" Migrate it with the last panel that has {app}/migrations/{name}.py, then with this"
            " one (docs/production.md, Upgrade)"
        )


def _migrations() -> list[tuple[Name, list[Name]]]:
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    return [(name, list(each.replaces)) for name, each in loader.disk_migrations.items()]
