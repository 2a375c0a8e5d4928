"""A panel of before the migrations were squashed is migrated to what a new one has; one that is
older still is refused, with what to do.

`tests/data/backup-2026-11-26.tar.gz` is what `manage.py backup` wrote at the last commit that had
every single migration, with rows in nearly all tables.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from django.db import connection
from pytest_django import DjangoDbBlocker

from panel.operations import backup, local_services, migration_history
from panel.operations.migration_history import DatabaseTooOldError, demand_recent
from storage import row_security
from tests.conftest import url_of
from tests.integration.conftest import records_of
from tests.panel.operations.test_backup import manage
from tests.panel.operations.test_backup import new_database as new_database

OLDER = Path(__file__).parents[2] / "data" / "backup-2026-11-26.tar.gz"
LAST = ("panel", "0034_held_messages")
"""One of the last of the single migrations."""
ROWS = {
    **{"account_emailaddress": 2, "jobs_alert": 7, "jobs_alertevent": 10, "jobs_auditentry": 13},
    **{"jobs_bulkchange": 1, "jobs_job": 7, "jobs_line": 8, "jobs_mediacheck": 1, "jobs_step": 7},
    **{"jobs_vgfence": 1, "mfa_authenticator": 1, "panel_alertroute": 2, "panel_apitoken": 1},
    **{"panel_mandateevent": 2, "panel_message": 1, "panel_order": 3, "panel_proof": 2},
    **{"panel_usageline": 9, "panel_user": 2, "panel_webhook": 1, "panel_webhookdelivery": 2},
    **{"storage_cacheplan": 3, "storage_customerevent": 3, "storage_devicesample": 180},
    **{"storage_diskreading": 133, "storage_event": 43, "storage_host": 3, "storage_hostload": 90},
    **{"storage_placement": 9, "storage_sample": 162, "storage_samplechunk": 27},
    **{"storage_volume": 9, "storage_volumeevent": 10},
}
LIMITED = """SELECT (SELECT count(slow_read_ms) FROM storage_host),
    (SELECT count(slow_read_ms) FROM storage_hostevent)"""

# PostgreSQL named them after what the columns were called at first.
FORMER_NAMES = {
    " CONSTRAINT panel_notice_tries_not_null": "",
    " CONSTRAINT panel_notice_error_not_null": "",
    "panel_notice_tries_check": "panel_notice_attempts_check",
}
OF_A_DAY = ("storage_sample_*", "storage_devicesample_*", "storage_samplechunk_*_*")
"""Partitions, which each panel makes of its own days."""


def schema(name: str) -> dict[str, list[str]]:
    """What pg_dump says of each table, constraint, index, function, trigger, policy and right."""
    text = subprocess.run(
        [
            backup.program("pg_dump"),
            "--schema-only",
            f"--dbname={url_of('owner', name)}",
            *(f"--exclude-table={pattern}" for pattern in OF_A_DAY),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for former, now in FORMER_NAMES.items():
        text = text.replace(former, now)
    objects = re.split(r"^-- Name: ", re.sub(r"^\\.*\n", "", text, flags=re.M), flags=re.M)[1:]
    found = {}
    for each in objects:
        header, _, body = each.partition("\n")
        lines = [line.rstrip(",") for line in body.splitlines() if line not in ("", "--")]
        # The constraints of a table are sorted by their names, former ones too.
        found[header] = sorted(lines) if "Type: TABLE;" in header else lines
    return found


def restored(path: Path, there: str) -> str:
    """The new database, with what is in the backup."""
    done = manage(there, "restore", str(path))
    assert done.returncode == 0, done.stderr
    return there


def read_again(name: str, folder: Path, new_database: Callable[..., str]) -> dict[str, list[str]]:
    """The schema of a database by way of two backups: PostgreSQL writes expressions in another way
    when it has read them from a dump."""
    for copy in range(2):
        path = folder / f"{name}-{copy}.backup"
        done = manage(name, "backup", str(path))
        assert done.returncode == 0, done.stderr
        name = restored(path, new_database())
    return schema(name)


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(600)
def test_a_panel_of_single_migrations_gets_the_schema_of_a_new_one_and_keeps_its_rows(
    tmp_path: Path,
    new_database: Callable[..., str],
    migrated: str,
    django_db_blocker: DjangoDbBlocker,
) -> None:
    there = restored(OLDER, new_database())
    new = read_again(new_database(migrated), tmp_path, new_database)
    assert len(new) > 900
    assert read_again(there, tmp_path, new_database) == new

    with psycopg.connect(url_of("app", there)) as app:
        app.execute("SET tiercel.wall = 'all'")
        found = {
            table: (app.execute(f'SELECT count(*) FROM "{table}"').fetchone() or (0,))[0]  # noqa: S608
            for table in ROWS
        }
        limited = app.execute(LIMITED).fetchone()
    assert found == ROWS
    assert limited == (0, 0), "20 ms was the default, which no person had set"
    with django_db_blocker.unblock(), records_of(there), row_security.scope(row_security.ALL):
        assert migration_history.known() <= set(migration_history.applied(connection))
        for model in apps.get_models():
            list(model._default_manager.all())


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(600)
def test_a_database_that_lacks_single_migrations_is_refused(
    new_database: Callable[..., str], migrated: str
) -> None:
    there = new_database(migrated)
    with psycopg.connect(url_of("owner", there)) as owner:
        owner.execute(
            "DELETE FROM django_migrations"
            " WHERE name ~ 'squashed|^0001_users|life_signs' OR name = %s",
            [LAST[1]],
        )
        before = owner.execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()
    done = manage(there, "migrate")
    assert done.returncode == 1
    assert "panel.0034_held_messages is missing" in done.stderr
    assert f"the last panel that has {LAST[0]}/migrations/{LAST[1]}.py" in done.stderr
    with psycopg.connect(url_of("owner", there)) as owner:
        after = owner.execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()
    assert after == before
    findings = {each["name"]: each for each in json.loads(manage(there, "doctor", "--json").stdout)}
    assert "0034_held_messages" in findings["migrations"]["correction"]


@pytest.mark.django_db
def test_a_backup_of_such_a_database_is_refused_before_anything_is_cleared(
    tmp_path: Path, new_database: Callable[..., str], migrated: str
) -> None:
    path = tmp_path / "older.tar"
    with tarfile.open(OLDER) as older, tarfile.open(path, "w") as tar:
        for member in older:
            content = (older.extractfile(member) or io.BytesIO()).read()
            if member.name == backup.NOTE:
                note = json.loads(content)
                note["migrations"].remove(".".join(LAST))
                content = json.dumps(note).encode()
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    there = new_database(migrated)
    before = schema(there)
    done = manage(there, "restore", str(path))
    assert done.returncode == 1 and "panel.0034_held_messages is missing" in done.stderr
    assert schema(there) == before


@pytest.mark.django_db
def test_the_files_of_functions_and_policies_can_be_run_again(
    new_database: Callable[..., str], migrated: str
) -> None:
    there = new_database(migrated)
    before = schema(there)
    with psycopg.connect(url_of("owner", there), autocommit=True) as owner:
        for app in ("storage", "jobs", "panel"):
            for path in sorted((local_services.CHECKOUT / app / "migrations/sql").glob("*.sql")):
                if path.name != "sample_tables.sql":
                    owner.execute(path.read_text())
    assert schema(there) == before


def names() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The migrations of this panel, and those that they replace."""
    own = {each for each in migration_history.known() if "squashed" in each[1]}
    own.add(("panel", "0001_users"))
    return own, migration_history.known() - own


def test_an_empty_database_and_one_that_has_all_are_recent() -> None:
    own, replaced = names()
    for applied in (set(), replaced, own | replaced):
        demand_recent(applied)


def test_a_first_migration_that_was_interrupted_goes_on() -> None:
    demand_recent({("panel", "0001_users"), ("panel", "0001_initial")})


@pytest.mark.parametrize("app", ["panel", "jobs", "storage"])
def test_a_first_migration_of_an_older_panel_does_not_go_on(app: str) -> None:
    _, replaced = names()
    with pytest.raises(DatabaseTooOldError, match="is missing"):
        demand_recent({each for each in replaced if each[0] == app})
    with pytest.raises(DatabaseTooOldError, match="is missing"):
        demand_recent({("panel", "0001_initial")})
