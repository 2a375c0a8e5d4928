"""One file from which a panel can be restored: the database, its origin and, on request, the
secrets. It is restored into an empty panel only.

A restored panel has a new id, with which it takes its hosts over from the old one
(`jobs.hosts.panel_identity`), begins with the global stop, and holds back what it does not know
whether people got it; `manage.py after_restore` comes next.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models.functions import Now

from jobs.engine import holds
from jobs.hosts import panel_identity
from jobs.models import AlertRound
from panel import VERSION
from panel.accounts.security_log import security_entries
from panel.deliveries import delivery_queue
from panel.deliveries.alerts import alert_routing
from panel.models import (
    AlertDelivery,
    ApiToken,
    Invitation,
    KioskLink,
    LoginLink,
    Notice,
    SecurityKind,
    StepUpCode,
    User,
)
from panel.operations import migration_history
from panel.operations.local_services import ServiceError
from panel.operations.local_services.postgres import installed
from storage.formatting import counted
from storage.models import Benchmark

FORMAT = 1
NOTE, DUMP, SECRETS = "backup.json", "database.dump", "secrets.env"
SECRET_NAMES = ("TIERCEL_SECRET_KEY", "TIERCEL_HOST_KEYS_PUBLIC", "TIERCEL_HOST_KEYS_SECRET")
# A panel with a row in one of these is in use.
FILLED = ("panel_user", "storage_host", "storage_customer", "storage_volume", "jobs_job")
REASON = "Restored from a backup: run manage.py after_restore, then look at its report"
BLOCK_BYTES = 1 << 20


class BackupError(Exception):
    """Why nothing was backed up or restored; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a backup says of itself. `migrations` are those that its database had, "app.name"."""

    format: int
    version: str
    made_at: str
    panel: str
    migrations: tuple[str, ...]
    dump_sha256: str


def make_backup(path: Path, *, with_secrets: bool) -> Note:
    """Write the backup; raises `BackupError`. The file is readable by its owner only, and is there
    whole or not at all."""
    _demand_owner()
    if path.exists():
        raise BackupError(f"{path} already exists; a backup never replaces a file")
    values = (
        {name: settings.ENVIRONMENT.text(name) for name in SECRET_NAMES} if with_secrets else {}
    )
    if not all(values.values()):
        missing = ", ".join(name for name, value in values.items() if not value)
        raise BackupError(f"{missing} cannot be read here: back up where the worker runs")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".backup-") as folder:
        dump = Path(folder) / DUMP
        _run("pg_dump", "--format=custom", "--no-owner", f"--file={dump}")
        note = _note(_digest(dump))
        draft = Path(folder) / "whole"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with tarfile.open(fileobj=file, mode="w") as tar:
                _add(tar, NOTE, json.dumps(asdict(note), indent=1).encode())
                if with_secrets:
                    lines = "".join(f"{name}={value}\n" for name, value in values.items())
                    _add(tar, SECRETS, lines.encode())
                tar.add(dump, arcname=DUMP)
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            raise BackupError(f"{path} was created meanwhile; nothing was replaced") from None
    secrets = "with secrets" if with_secrets else "without secrets"
    security_entries.note(SecurityKind.BACKUP, "", f"{path.name}, {secrets}")
    return note


def restore(path: Path, *, keeps_tokens: bool = False) -> Note:
    """Put an empty panel into the state of a backup; raises `BackupError`, and then the panel is
    empty as before, or says that it is broken half-way. What gives access without a password
    is not restored: it may have been revoked since. `keeps_tokens` restores API tokens."""
    _demand_owner()
    _demand_empty()
    with tempfile.TemporaryDirectory(prefix="tiercel-restore-") as folder:
        note = _unpack(path, Path(folder))
        _demand_known(note.migrations)
        _clear()
        connection.close()
        _run(
            "pg_restore",
            "--no-owner",
            "--single-transaction",
            "--exit-on-error",
            f"--dbname={connection.settings_dict['NAME']}",
            str(Path(folder) / DUMP),
        )
    call_command("migrate", verbosity=0, interactive=False)
    _demand_guarded()
    with transaction.atomic():
        holds.stop_all(None, REASON)
        panel_identity.renew()
        _hold_messages_back()
        _end_access(keeps_tokens=keeps_tokens)
    return note


def _end_access(*, keeps_tokens: bool) -> None:
    Session.objects.all().delete()
    UserSession.objects.all().delete()
    Invitation.objects.open().delete()
    LoginLink.objects.all().delete()
    StepUpCode.objects.all().delete()
    KioskLink.objects.all().delete()
    Benchmark.objects.exclude(share_key="").update(share_key="", share_until=None)
    if not keeps_tokens:
        ApiToken.objects.live().update(revoked_at=Now())


def restored_access() -> Iterator[str]:
    """Lines about who may come in: roles, passwords and second factors are those of the backup."""
    active = User.objects.filter(is_active=True)
    staff = active.exclude(staff_role="").count()
    live = ApiToken.objects.live().count()
    yield (
        f"Access is that of the backup: {counted(active.count(), 'account')}, {staff} of the "
        f"staff, and {counted(live, 'API token')} that work. Look at People: roles, passwords and "
        "second factors that were changed or taken away since are back."
    )


def _hold_messages_back() -> None:
    """What was due at the backup may have been sent since, and people should get it once: it waits
    for a person's word. What was to be sent later, as after quiet hours, still is. The billing
    system knows each message by its id, and gets all that are due."""
    last_round = AlertRound.objects.values_list("at", flat=True).first()
    while alert_routing.route_events(last_round):
        pass
    delivery_queue.hold_back(AlertDelivery.objects.due())
    delivery_queue.hold_back(Notice.objects.due())


def held_messages() -> Iterator[str]:
    """Lines about the messages that a restore held back; none where there are none."""
    held = {"last_error": delivery_queue.HELD, "delivered_at": None, "given_up_at__isnull": False}
    of_alerts = AlertDelivery.objects.filter(**held).count()
    notices = Notice.objects.filter(**held).select_related("user", "order", "alert__volume")
    count = of_alerts + notices.count()
    if not count:
        return
    yield (
        f"Not sent, because they may have been sent since the backup: {counted(count, 'message')}."
    )
    if of_alerts:
        yield f"  {of_alerts} of alerts: see Alerts, Recipients, and send again what is missing."
    for notice in notices.order_by("pk"):
        what = notice.get_kind_display()
        about = notice.order or (notice.alert.volume if notice.alert is not None else "")
        yield f"  {notice.user.email}, {what[:1].lower()}{what[1:]}: {about}"


def read_backup(path: Path) -> Note:
    """What a backup says of itself, its dump compared with that; raises `BackupError`."""
    with tempfile.TemporaryDirectory(prefix="tiercel-restore-") as folder:
        return _unpack(path, Path(folder))


def secrets_in(path: Path) -> str:
    """The lines for `var/secrets.env`; "" where the backup was made without. `BackupError`."""
    try:
        with tarfile.open(path) as tar:
            member = tar.extractfile(SECRETS) if SECRETS in tar.getnames() else None
            return member.read().decode() if member is not None else ""
    except (OSError, tarfile.TarError, UnicodeDecodeError) as error:
        raise BackupError(f"{path} is not a backup: {error}") from None


def _note(digest: str) -> Note:
    applied = migration_history.applied(connection)
    return Note(
        format=FORMAT,
        version=VERSION,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        panel=str(panel_identity.this().panel),
        migrations=tuple(sorted(".".join(each) for each in applied)),
        dump_sha256=digest,
    )


def _unpack(path: Path, folder: Path) -> Note:
    try:
        with tarfile.open(path) as tar:
            note = _note_from(json.loads(_member(tar, NOTE).read()))
            with (folder / DUMP).open("wb") as file:
                shutil.copyfileobj(_member(tar, DUMP), file, BLOCK_BYTES)
    except (OSError, tarfile.TarError, ValueError, TypeError, LookupError) as error:
        raise BackupError(f"{path} is not a backup that this panel can read: {error}") from None
    if _digest(folder / DUMP) != note.dump_sha256:
        raise BackupError(f"{path} is damaged: its database does not match its note")
    return note


def _note_from(document: Mapping[str, Any]) -> Note:
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']!r:.20}, not {FORMAT}")
    texts = {key: str(document[key]) for key in ("version", "made_at", "panel", "dump_sha256")}
    return Note(FORMAT, migrations=tuple(map(str, document["migrations"])), **texts)


def _member(tar: tarfile.TarFile, name: str) -> Any:
    member = tar.extractfile(name)
    if member is None:
        raise LookupError(f"{name} is not a file")
    return member


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    tar.addfile(info, io.BytesIO(content))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _demand_owner() -> None:
    """Row security binds the app's role, which may not create tables either."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, pg_has_role(current_user, datdba, 'MEMBER') FROM pg_database"
            " WHERE datname = current_database()"
        )
        role, owns = cursor.fetchone()
    if not owns:
        raise BackupError(f"{role} does not own the database: set DATABASE_OWNER_URL")


def _demand_empty() -> None:
    existing = set(connection.introspection.table_names())
    for table in FILLED:
        if table not in existing:
            continue
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT EXISTS (SELECT FROM "{table}")')  # noqa: S608 (a constant)
            (filled,) = cursor.fetchone()
        if filled:
            raise BackupError(
                f"this panel is in use ({table} has rows): restore into an empty one, with a new "
                "database"
            )


def _demand_known(migrations: Sequence[str]) -> None:
    known = {".".join(each) for each in migration_history.known()}
    newer = [each for each in migrations if each not in known]
    if newer:
        raise BackupError(
            f"the backup was made by a newer panel ({', '.join(newer[:3])}): install that one"
        )
    names = [each.partition(".") for each in migrations]
    try:
        migration_history.demand_recent({(app, name) for app, _, name in names})
    except migration_history.DatabaseTooOldError as error:
        raise BackupError(str(error)) from None


def _clear() -> None:
    """Drop the empty tables. Default rights go too: a dump removes none, so the app
    would get back what a migration has taken from it. The dump brings them."""
    with connection.cursor() as cursor:
        for kind in ("TABLES", "SEQUENCES", "FUNCTIONS"):
            cursor.execute(f"ALTER DEFAULT PRIVILEGES REVOKE ALL ON {kind} FROM tiercel_app")
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public")
        cursor.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")


def _demand_guarded() -> None:
    """The app's role may not rewrite the history, and row security is on."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT has_table_privilege('tiercel_app', 'storage_volumeevent', 'UPDATE'),"
            " has_table_privilege('tiercel_app', 'jobs_job', 'UPDATE'),"
            " (SELECT relrowsecurity FROM pg_class WHERE oid = 'jobs_job'::regclass)"
        )
        rewrites, works, wall = cursor.fetchone()
    if rewrites or not works or not wall:
        raise BackupError(
            "the rights of the app's role have changed: start again with an empty database that "
            "has the roles of panel/operations/local_services/roles.sql"
        )


def program(name: str) -> str:
    """The path of a program of PostgreSQL's client: the embedded one or that on PATH, whichever is
    as new as the server; raises `BackupError`."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        needed = int(cursor.fetchone()[0]) // 10000
    candidates: list[str | None] = [shutil.which(name)]
    with suppress(ServiceError):
        candidates.insert(0, str(installed() / name))
    for program_path in filter(None, candidates):
        answer = subprocess.run(
            [program_path, "--version"], capture_output=True, text=True, check=False
        )
        version = re.search(r"(\d+)", answer.stdout.partition(")")[2])
        if version is not None and int(version[1]) >= needed:
            return program_path
    raise BackupError(f"there is no {name} of PostgreSQL {needed} or later: install its client")


def _run(name: str, *arguments: str) -> None:
    """The password is passed in the environment, which only this user can read."""
    program_path = program(name)
    entry = connection.settings_dict
    keys = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD"}
    given = {variable: str(entry[key]) for variable, key in keys.items() if entry[key]}
    given |= {"PGDATABASE": str(entry["NAME"]), "LC_ALL": "C", "PATH": os.environ.get("PATH", "")}
    if "sslmode" in entry["OPTIONS"]:
        given["PGSSLMODE"] = str(entry["OPTIONS"]["sslmode"])
    done = subprocess.run(
        [program_path, *arguments],
        env=given,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupError(f"{name} failed ({done.returncode}): {done.stderr.strip()[-1000:]}")
