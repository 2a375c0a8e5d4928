"""A panel goes into one file and comes back into an empty one, with the rights it had."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from jobs.hosts import panel_identity
from jobs.models import State
from panel.accounts import api_tokens, invitations
from panel.accounts.authentication import login_links
from panel.benchmarks.share_links import share_by_link
from panel.models import AlertDelivery, Message, Notice, StepUpCode
from panel.operations import backup, local_services
from panel.staff.kiosk import kiosk_links
from storage.access import StaffRole
from tests import make
from tests.benchmark_scene import EVENING, make_benchmark
from tests.conftest import drop, this_run, url_of
from tests.jobs.engine.test_transitions import job as job_in
from tests.panel.deliveries.alerts.alert_messages import alert, event, mail_route

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


def manage(database: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A management command on another database, as a program of its own, without Django's checks.
    doctor makes none, and knows no option to skip them."""
    skips = () if words[0] == "doctor" else ("--skip-checks",)
    urls = {
        "DATABASE_URL": url_of("app", database),
        "DATABASE_OWNER_URL": url_of("owner", database),
    }
    return subprocess.run(
        [sys.executable, str(local_services.CHECKOUT / "manage.py"), *words, *skips],
        env={**os.environ, **urls, "DJANGO_SETTINGS_MODULE": "panel.settings"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def new_database(migrated: str) -> Iterator[Callable[..., str]]:
    """Makes the database of another panel; `of` is a template that has tables already."""
    made: list[str] = []

    def create(of: str = "template1") -> str:
        name = f"{this_run()}_restored{len(made)}"
        drop(name)
        with psycopg.connect(url_of("owner", "postgres"), autocommit=True) as owner:
            owner.execute(f'CREATE DATABASE "{name}" TEMPLATE "{of}"')
        made.append(name)
        return name

    yield create
    for name in made:
        drop(name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A backup of a panel with a host, a volume and a job under way."""
    host = make.host(name="store1", sealed_key=b"sealed")
    make.placement(make.volume(label="web12", customer=make.customer("Ann")), host)
    job_in(State.RUNNING)
    panel_identity.this()
    path = tmp_path / "panel.backup"
    done = manage(this_run(), "backup", str(path))
    assert done.returncode == 0, done.stderr
    return path


def rows(database: str, role: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url_of(role, database)) as there:
        there.execute("SET tiercel.wall = 'all'")
        return there.execute(query).fetchall()


ACLS = """
    SELECT relname, relkind, pg_get_userbyid(relowner), relrowsecurity,
        coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))
            ::text
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S', 'v')
    ORDER BY relname
"""
POLICIES = "SELECT tablename, policyname, qual, with_check FROM pg_policies ORDER BY tablename"
FUNCTIONS = """
    SELECT proname, pg_get_userbyid(proowner), prosecdef,
        coalesce(proacl, acldefault('f', proowner))::text
    FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace ORDER BY proname
"""
DEFAULTS = "SELECT defaclobjtype, defaclacl::text FROM pg_default_acl ORDER BY 1"


@pytest.mark.parametrize("is_migrated", [False, True])
def test_a_backup_comes_back_with_rows_owners_rights_and_the_wall(
    file: Path, new_database: Callable[..., str], migrated: str, is_migrated: bool
) -> None:
    there = new_database(migrated) if is_migrated else new_database()
    done = manage(there, "restore", str(file))
    assert done.returncode == 0, done.stderr
    assert "after_restore" in done.stdout
    assert rows(
        there, "app", "SELECT name, sealed_key FROM storage_host WHERE name = 'store1'"
    ) == [("store1", b"sealed")]
    for query in (ACLS, POLICIES, FUNCTIONS, DEFAULTS):
        assert rows(there, "owner", query) == rows(this_run(), "owner", query), query
    with psycopg.connect(url_of("app", there)) as app:
        assert app.execute("SELECT count(*) FROM storage_volume").fetchone() == (0,), "the wall"
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("UPDATE storage_volumeevent SET label = 'x'")
    # The next table that a migration makes is the app's to use.
    with psycopg.connect(url_of("owner", there), autocommit=True) as owner:
        owner.execute("CREATE TABLE later (n int)")
    assert rows(there, "app", "SELECT * FROM later") == []


def test_a_restored_panel_is_stopped_and_is_another_one(
    file: Path, new_database: Callable[..., str]
) -> None:
    there = new_database()
    manage(there, "restore", str(file))
    first = str(panel_identity.this().panel)
    ((panel, ancestors),) = rows(there, "app", "SELECT panel, ancestors FROM jobs_installation")
    assert str(panel) != first and ancestors == [first]
    assert len(rows(there, "app", "SELECT reason FROM jobs_halt")) == 1
    done = manage(there, "after_restore")
    assert done.returncode == 0, done.stderr
    assert "Jobs that need a decision: 1." in done.stdout
    assert rows(there, "app", "SELECT state, error->>'code' FROM jobs_job") == [
        ("needs_attention", "restored")
    ]


ACCESS = """
    SELECT (SELECT count(*) FROM django_session), (SELECT count(*) FROM usersessions_usersession),
        (SELECT count(*) FROM panel_invitation), (SELECT count(*) FROM panel_loginlink),
        (SELECT count(*) FROM panel_stepupcode),
        (SELECT count(*) FROM panel_kiosklink),
        (SELECT count(*) FROM storage_benchmark WHERE share_key <> ''),
        (SELECT count(*) FROM panel_apitoken WHERE revoked_at IS NULL)
"""


@pytest.mark.parametrize(("words", "live"), [((), 0), (("--keep-tokens",), 1)])
def test_access_without_a_password_is_not_restored(
    tmp_path: Path, new_database: Callable[..., str], words: tuple[str, ...], live: int
) -> None:
    boss, ann = make.staff_user("boss@example.org"), make.user("ann@example.org")
    browser = Client()
    browser.force_login(boss)
    UserSession.objects.create(
        user=boss, session_key=browser.session.session_key or "", ip="203.0.113.7"
    )
    api_tokens.issue(boss, name="ci", scopes=["read"], days=9)
    invitations.to_staff("new@example.org", StaffRole.ADMIN, boss)
    login_links.make_link(ann, "/my/")
    StepUpCode.objects.create(user=ann, digest="x", expires_at=timezone.now() + timedelta(hours=1))
    kiosk_links.make_link("Office", boss)
    share_by_link(make_benchmark(make.host(), EVENING, timezone.now()), 30)
    path, there = tmp_path / "panel.backup", new_database()
    assert manage(this_run(), "backup", str(path)).returncode == 0
    done = manage(there, "restore", str(path), *words)
    assert done.returncode == 0, done.stderr
    assert rows(there, "owner", ACCESS) == [(0, 0, 0, 0, 0, 0, 0, live)]
    assert "2 accounts, 1 of the staff" in done.stdout and "Look at People" in done.stdout


def test_what_was_unsent_at_the_backup_is_not_sent_to_people_after_the_restore(
    new_database: Callable[..., str], tmp_path: Path
) -> None:
    host = make.host(name="store1")
    customer = make.customer("Ann")
    vera = make.user("vera@example.org", name="Vera")
    customer.members.create(user=vera, role="viewer")
    volume = make.volume(label="Ann mail", customer=customer)
    route = mail_route("anna@example.org")
    retried = AlertDelivery.objects.create(route=route, attempts=2)
    tomorrow = timezone.now() + timedelta(days=1)
    quiet = AlertDelivery.objects.create(route=route, next_at=tomorrow)
    done = AlertDelivery.objects.create(route=route, delivered_at=timezone.now())
    began = alert(host)
    event(began)
    notice = Notice.objects.create(alert=alert(host, volume=volume), user=vera, kind="wrong")
    bill = Message.objects.create(name="msg_test_1", type="test", payload={})
    path = tmp_path / "panel.backup"
    assert manage(this_run(), "backup", str(path)).returncode == 0
    there = new_database()
    restored = manage(there, "restore", str(path))
    assert restored.returncode == 0, restored.stderr
    report = manage(there, "after_restore").stdout
    for said in (restored.stdout, report):
        assert "Not sent, because they may have been sent since the backup: 3 messages." in said
        assert "vera@example.org, a volume has a problem: Ann mail" in said

    fates = rows(
        there,
        "owner",
        "SELECT id, delivered_at IS NULL, given_up_at IS NULL, last_error"
        " FROM panel_alertdelivery ORDER BY id",
    )
    held = "Held back after a restore: it may have been sent since the backup."
    assert fates[:3] == [
        (retried.pk, True, False, held),
        (quiet.pk, True, True, ""),
        (done.pk, False, True, ""),
    ]
    # What had no message yet is listed too.
    assert [each[1:] for each in fates[3:]] == [(True, False, held)]
    assert rows(
        there,
        "owner",
        "SELECT count(*) FROM jobs_alertevent WHERE is_notified AND routed_at IS NULL",
    ) == [(0,)]
    fate = "SELECT id, given_up_at IS NULL FROM "
    assert rows(there, "owner", f"{fate} panel_notice") == [(notice.pk, False)]
    assert rows(there, "owner", f"{fate} panel_message") == [(bill.pk, True)]


def test_a_panel_in_use_is_not_restored_over(file: Path) -> None:
    done = manage(this_run(), "restore", str(file))
    assert done.returncode == 1 and "this panel is in use" in done.stderr
    assert rows(this_run(), "app", "SELECT name FROM storage_host WHERE name = 'store1'") == [
        ("store1",)
    ]


def test_a_damaged_backup_changes_nothing(
    file: Path, new_database: Callable[..., str], migrated: str
) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    there = new_database(migrated)
    done = manage(there, "restore", str(file))
    assert done.returncode == 1 and "damaged" in done.stderr
    assert rows(there, "app", "SELECT count(*) FROM storage_host") == [(0,)]


@pytest.mark.parametrize("content", [b"", b"x" * 2000])
def test_a_file_that_is_not_a_backup_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(backup.BackupError, match="is not a backup"):
        backup.read_backup(path)


def test_secrets_go_with_the_file_only_where_asked_for(file: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tarfile.open(file) as tar:
        assert tar.getnames() == [backup.NOTE, backup.DUMP]
    whole = tmp_path / "whole"
    done = manage(this_run(), "backup", "--with-secrets", str(whole))
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(whole.stat().st_mode) == 0o600
    lines = backup.secrets_in(whole)
    assert f"TIERCEL_HOST_KEYS_SECRET={settings.TIERCEL_HOST_KEYS_SECRET}\n" in lines
    assert backup.secrets_in(file) == ""
    assert lines == manage(this_run(), "restore", "--print-secrets", str(whole)).stdout


def test_a_backup_replaces_no_file_and_leaves_none_half_made(file: Path) -> None:
    before = file.read_bytes()
    done = manage(this_run(), "backup", str(file))
    assert done.returncode == 1 and "never replaces" in done.stderr
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_the_apps_role_can_neither_back_up_nor_restore(tmp_path: Path) -> None:
    assert connection.settings_dict["USER"] == "tiercel_app"
    with pytest.raises(Exception, match="does not own the database"):
        call_command("backup", str(tmp_path / "x"))
