"""Real PostgreSQL and Redis for every test: the embedded ones, unless the URLs are given.

Tables are made by tiercel_owner and the tests run as tiercel_app, as in production, so a missing
right fails here. Each run has databases of its own, so runs beside each other do not meet.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker

from panel import embedded, secrets

RUN = "TIERCEL_TEST_RUN"

# Before Django reads its settings: nothing of this checkout's own secrets or environment.
os.environ.update(secrets.make(), TIERCEL_DEBUG="1", TIERCEL_DB_ROLE="app")
os.environ["TIERCEL_PUBLIC_URL"] = "http://localhost:8000"
os.environ.setdefault(RUN, str(os.getpid()))
# Playwright's synchronous interface keeps an event loop running in the test's thread.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

STARTED: list[embedded.Service] = []


def pytest_configure(config: pytest.Config) -> None:
    """Start the services that do not run; the workers of xdist come later and find them."""
    if not hasattr(config, "workerinput") and "DATABASE_URL" not in os.environ:
        STARTED.extend(embedded.start(embedded.every_service()))
        drop_leftovers()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what this run started."""
    embedded.stop(STARTED)


def drop_leftovers() -> None:
    """Drop the databases of runs that were killed."""
    url = embedded.here().database_url("tiercel_owner", "postgres")
    with psycopg.connect(url, autocommit=True) as owner:
        rows = owner.execute("SELECT datname FROM pg_database WHERE datname ~ '^test_tiercel_'")
        for (name,) in rows.fetchall():
            run = re.match(r"test_tiercel_(\d+)", name)
            if run and not Path(f"/proc/{run[1]}").exists():
                owner.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Name this process's database after the run and the xdist worker."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    name = f"test_tiercel_{os.environ[RUN]}_{worker}"
    connection.settings_dict["TEST"]["NAME"] = name


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Make the database as the owner, then hand the connection to the app's role."""
    with django_db_blocker.unblock():
        become("tiercel_owner")
        made = setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
        with connection.cursor() as cursor:
            # Only the tests empty tables, after those that need real transactions.
            cursor.execute("GRANT TRUNCATE ON ALL TABLES IN SCHEMA public TO tiercel_app")
        become("tiercel_app")
    yield
    with django_db_blocker.unblock():
        become("tiercel_owner")
        teardown_databases(made, verbosity=0)


def become(role: str) -> None:
    """Let the next connection be made as a role."""
    connection.close()
    connection.settings_dict["USER"] = role
