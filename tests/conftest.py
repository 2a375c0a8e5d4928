"""Real PostgreSQL and Redis for every test: the embedded ones, unless the URLs are given.

Tables are made by tiercel_owner and the tests run as tiercel_app, as in production, so a missing
right fails here. Each run has databases of its own, so runs beside each other do not meet. They are
copies of a template that is kept from run to run until what makes its tables changes.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import hypothesis
import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import setup_databases
from pytest_django import DjangoDbBlocker

from panel.configuration.environment import database
from panel.languages.catalogues import compile_all
from panel.operations import local_services
from tests import durations, emptying
from tests.contract.fixtures import lab as lab
from tests.contract.fixtures import lab_world as lab_world

RUN = "TIERCEL_TEST_RUN"

os.environ.setdefault(RUN, str(os.getpid()))
# Playwright's synchronous interface keeps an event loop running in the test's thread.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

# The machine may be busy with other tests: how long an example takes says nothing of it. The same
# examples each time, so that who changes something else is not stopped by what they find; new ones
# are drawn by `make thorough`.
PATIENT = hypothesis.settings(
    deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("same", PATIENT, derandomize=True)
hypothesis.settings.register_profile("new", PATIENT, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile("same")

STARTED: list[local_services.Service] = []


def pytest_configure(config: pytest.Config) -> None:
    """Start the services that do not run; the workers of xdist come later and find them."""
    # The real one takes long on purpose: half a second for each person and each sign-in.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    emptying.replace_flush()
    compile_all(settings.LOCALE_PATHS[0])
    if not hasattr(config, "workerinput"):
        STARTED.extend(local_services.start_services(local_services.wanted(os.environ)))
        drop_leftovers()
        config.pluginmanager.register(durations.Recorder())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what this run started, unless another one has come to use it."""
    if not hasattr(config, "workerinput") and not any(run.exists() for _, run in databases()):
        local_services.stop(STARTED)


def this_run() -> str:
    """Name this process's database after the run and the xdist worker."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return f"test_tiercel_{os.environ[RUN]}_{worker}"


@cache
def template() -> str:
    """The database that has every table and no rows, for all processes to copy.

    Named after what makes its tables: the migrations, the modules that they import, the models,
    whose permissions Django writes after the migrations, and the installed packages. And after the
    day, for migrations make the partitions of samples for today and tomorrow.
    """
    made_by = {settings.BASE_DIR / "requirements.txt"}
    for room in (settings.BASE_DIR / name for name in ("panel", "jobs", "storage")):
        made_by.update((room / "models").rglob("*.py"))
        for path in (room / "migrations").rglob("*"):
            if path.suffix in (".py", ".sql"):
                made_by.add(path)
                for name in re.findall(r"(?m)^(?:from|import) ([\w.]+)", path.read_text()):
                    module = settings.BASE_DIR / name.replace(".", "/")
                    made_by.update((module.with_suffix(".py"), module / "__init__.py"))
    digest = hashlib.sha256(str(datetime.now(UTC).date()).encode())
    for path in sorted(made_by):
        if path.exists():
            digest.update(str(path.relative_to(settings.BASE_DIR)).encode() + path.read_bytes())
    return f"test_tiercel_template_{digest.hexdigest()[:16]}"


def url_of(role: str, name: str) -> str:
    """Return the URL of a database for `owner` or `app`."""
    url: str = settings.DATABASE_OWNER_URL if role == "owner" else settings.DATABASE_URL
    return urlsplit(url or settings.DATABASE_URL)._replace(path=f"/{name}").geturl()


def broker_url(url: str, number: int) -> str:
    """Return a Redis URL that names another of its numbered databases."""
    if url.startswith("unix://"):
        return re.sub(r"\?db=\d+", f"?db={number}", url)
    return urlsplit(url)._replace(path=f"/{number}").geturl()


def names() -> list[str]:
    """Every database's name."""
    with psycopg.connect(url_of("owner", "postgres"), autocommit=True) as owner:
        return [name for (name,) in owner.execute("SELECT datname FROM pg_database")]


def databases() -> list[tuple[str, Path]]:
    """The databases of tests, each with the process of its run as long as that lives."""
    found = (re.match(r"test_tiercel_(\d+)", name) for name in names())
    return [(run.string, Path(f"/proc/{run[1]}")) for run in found if run]


def drop_leftovers() -> None:
    """Drop the databases of runs that were killed, and templates that no run can still need."""
    there = databases()
    for name, run in there:
        if not run.exists():
            drop(name)
    if not any(run.exists() for _, run in there):
        for name in names():
            if name.startswith("test_tiercel_template_") and not name.startswith(template()):
                drop(name)


def become(role: str) -> None:
    """Let the next connection be made as a role."""
    entry = database(url_of(role, "any"))
    connection.close()
    connection.settings_dict.update(USER=entry["USER"], PASSWORD=entry["PASSWORD"])


def drop(name: str) -> None:
    """Drop a database of this run, even while it is in use."""
    # Not WITH (FORCE): that is refused while autovacuum, a superuser's, is at work there. And no
    # role may end another's sessions, one of which can outlive the process it served for a moment.
    for role in ("app", "owner"):
        with psycopg.connect(url_of(role, "postgres"), autocommit=True) as its_own:
            its_own.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = %s AND usename = current_user",
                [name],
            )
    with psycopg.connect(url_of("owner", "postgres"), autocommit=True) as owner:
        owner.execute(f'DROP DATABASE IF EXISTS "{name}"')


@pytest.fixture(scope="session")
def migrated(django_db_blocker: DjangoDbBlocker) -> str:
    """The template's name. The first process that needs it makes it, the others wait."""
    with psycopg.connect(url_of("owner", "postgres"), autocommit=True) as owner:
        owner.execute("SELECT pg_advisory_lock(hashtext(%s))", [template()])
        is_there = owner.execute("SELECT FROM pg_database WHERE datname = %s", [template()])
        if is_there.fetchone() is None:
            unfinished = f"{template()}_unfinished"
            with django_db_blocker.unblock():
                become("owner")
                connection.settings_dict["TEST"]["NAME"] = unfinished
                setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
                become("app")
            owner.execute(f'ALTER DATABASE "{unfinished}" RENAME TO "{template()}"')
    return template()


@pytest.fixture(scope="session")
def django_db_setup(migrated: str, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Give each process a database of its own, which the app's role works on."""
    name = this_run()
    drop(name)
    with psycopg.connect(url_of("owner", "postgres"), autocommit=True) as owner:
        owner.execute(f'CREATE DATABASE "{name}" TEMPLATE "{migrated}"')
        # No test loses power.
        owner.execute(f'ALTER DATABASE "{name}" SET synchronous_commit TO off')
    with psycopg.connect(url_of("owner", name), autocommit=True) as owner:
        emptying.prepare(owner)
    with django_db_blocker.unblock():
        connection.settings_dict["NAME"] = name
        become("app")
    yield
    with django_db_blocker.unblock():
        connection.close()
    drop(name)


@pytest.fixture
def installation() -> Iterator[dict[str, str]]:
    """Yield the environment of a panel beside the tests: an empty database, an own Redis number.

    For tests that run the panel's processes; its tables are made by `manage.py migrate`.
    """
    name = f"{this_run()}_panel"
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    # Redis has 16 numbered databases; 0 and 1 are for people.
    redis_url = broker_url(settings.REDIS_URL, 2 + int(worker) % 14)
    drop(name)
    with psycopg.connect(url_of("owner", "postgres"), autocommit=True) as owner:
        owner.execute(f'CREATE DATABASE "{name}"')
        ours = ("PYTEST_", "DJANGO_ALLOW_ASYNC_UNSAFE")
        yield {
            **{key: value for key, value in os.environ.items() if not key.startswith(ours)},
            "TIERCEL_DEBUG": "0",
            "DATABASE_URL": url_of("app", name),
            "DATABASE_OWNER_URL": url_of("owner", name),
            "REDIS_URL": redis_url,
        }
        drop(name)
