"""Checks of the panel itself, each with its remedy, and the health checks: for load balancers
whether PostgreSQL and Redis answer, for monitoring whether work continues. For hosts, see `hello`.
"""

from __future__ import annotations

import base64
import logging
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ImproperlyConfigured
from django.core.mail.backends.smtp import EmailBackend
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from nacl.public import PrivateKey

from jobs import notify_workers, standstill
from jobs.models import PartKind
from panel.configuration import redis_client
from panel.http import middleware
from panel.operations import migration_history

log = logging.getLogger(__name__)


@login_not_required
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 when PostgreSQL and Redis answer, else 503. Pages work without Redis, but jobs then wait
    for the workers' own poll. Stalled background work is an extra field: it must not make a load
    balancer remove the pages."""
    answers = {"database": middleware.reaches_database(), "redis": _redis()}
    status = 200 if all(answers.values()) else 503
    return JsonResponse(
        {**answers, "work": answers["database"] and not _standstills()}, status=status
    )


@login_not_required
@require_safe
def work_health(request: HttpRequest) -> JsonResponse:
    """For monitoring: 200 while jobs are taken, hosts are sampled and the schedule runs, else 503.
    Only a code names what has stalled: the page is public."""
    if not middleware.reaches_database():
        return JsonResponse({"database": False}, status=503)
    codes = _standstills()
    return JsonResponse({"standstills": codes}, status=503 if codes else 200)


def _standstills() -> list[str]:
    return [each.code for each in standstill.standstills_now() if each.severity == "error"]


def _redis() -> bool:
    try:
        with redis_client.client() as client:
            client.ping()
    except redis.RedisError as error:
        log.warning("health: Redis does not answer: %s", error)
        return False
    return True


LOOPBACK = {"localhost", "127.0.0.1", "::1"}
CLOCK_SECONDS = 5.0
FREE_BYTES = 2 * 2**30
MAIL_SECONDS = 5
MAIL_OFF = "E-mail is off: no invitations, reset links or notices are sent."


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `correction` is empty where all is well. `is_off`: it is left out on
    purpose, or was never set up."""

    name: str
    message: str
    correction: str = ""
    is_off: bool = False

    @property
    def is_ok(self) -> bool:
        """Whether nothing needs to be done."""
        return not self.correction


def database_role() -> Finding:
    """The app's role may neither own tables nor pass row-level security."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, rolsuper OR rolbypassrls,"
            " EXISTS (SELECT FROM pg_tables WHERE tableowner = current_user)"
            " FROM pg_roles WHERE rolname = current_user"
        )
        role, is_above, owns = cursor.fetchone()
    if is_above or owns:
        return Finding(
            "database role",
            f"{role} {'bypasses row-level security' if is_above else 'owns tables'}",
            "set DATABASE_URL to a role without rights of its own (docs/production.md)",
        )
    return Finding("database role", f"{role} owns nothing")


def migrations() -> Finding:
    """Every migration must be applied."""
    try:
        migration_history.demand_recent(migration_history.applied(connection))
    except migration_history.DatabaseTooOldError as error:
        return Finding("migrations", "of an older panel", str(error))
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        return Finding("migrations", f"{len(waiting)} not applied", "run `manage.py migrate`")
    return Finding("migrations", "all applied")


def clock() -> Finding:
    """Leases use the database's clock, samples this one's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (database_time,) = cursor.fetchone()
    lag_seconds = abs((datetime.now(UTC) - database_time).total_seconds())
    message = f"{lag_seconds:.1f} s between this machine and the database"
    if lag_seconds > CLOCK_SECONDS:
        return Finding("clock", message, "synchronise both clocks with NTP (chrony or timesyncd)")
    return Finding("clock", message)


def messages() -> Finding:
    """Redis carries the messages and the sign-in limits."""
    with redis_client.client() as client:
        client.ping()
    return Finding("redis", "answers")


def queues() -> Finding:
    """Every queue needs a worker that takes from it."""
    needed = {"hosts", "housekeeping", *map(notify_workers.queue_of, notify_workers.sites())}
    needed |= {f"collect.{n}" for n in range(settings.TIERCEL_COLLECT_SHARDS)}
    missing = standstill.unserved(standstill.work_record(), needed)
    if missing:
        return Finding(
            "workers",
            f"no worker serves {', '.join(sorted(missing))}",
            "start worker, housekeeping and collector; TIERCEL_JOB_QUEUES and "
            "TIERCEL_COLLECT_QUEUES must name all their queues",
        )
    return Finding("workers", f"{', '.join(sorted(needed))} are served")


def work() -> Finding:
    """Jobs are taken, and no part of a worker hangs."""
    found = standstill.standstills_now()
    if found:
        return Finding("jobs", found[0].message.removesuffix("."), found[0].correction)
    return Finding("jobs", "are taken")


def beat() -> Finding:
    """Without beat nothing is sampled or swept."""
    if standstill.work_record().is_living(PartKind.BEAT):
        return Finding("beat", "alive")
    return Finding("beat", "beat is not running", "start beat (see the Procfile)")


def secret_values() -> Finding:
    """Keys must be there, and the halves must fit where both are given."""
    how = "run `manage.py secrets`, or set it as docs/production.md says"
    if len(settings.ENVIRONMENT.text("TIERCEL_SECRET_KEY")) < 50:
        return Finding("secrets", "TIERCEL_SECRET_KEY is missing or short", how)
    if not settings.TIERCEL_HOST_KEYS_PUBLIC:
        return Finding("secrets", "TIERCEL_HOST_KEYS_PUBLIC is missing", how)
    if settings.TIERCEL_HOST_KEYS_SECRET:
        half = PrivateKey(base64.urlsafe_b64decode(settings.TIERCEL_HOST_KEYS_SECRET)).public_key
        if bytes(half) != base64.urlsafe_b64decode(settings.TIERCEL_HOST_KEYS_PUBLIC):
            return Finding("secrets", "the two halves of the host key secret do not match", how)
    path = settings.BASE_DIR / "var" / "secrets.env"
    if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Finding("secrets", f"{path} is readable by other users", f"chmod 600 {path}")
    return Finding("secrets", "set")


def public_url() -> Finding:
    """Hosts and people must reach the panel by this address, with TLS."""
    url = urlsplit(settings.TIERCEL_PUBLIC_URL)
    if url.scheme not in {"http", "https"} or not url.hostname:
        return Finding("public URL", settings.TIERCEL_PUBLIC_URL, "set TIERCEL_PUBLIC_URL")
    if url.scheme == "http" and url.hostname not in LOOPBACK:
        return Finding(
            "public URL",
            f"{settings.TIERCEL_PUBLIC_URL} has no TLS",
            "put a TLS proxy in front and set TIERCEL_PUBLIC_URL to its https address",
        )
    if (url.scheme == "https") is not (settings.SECURE_PROXY_SSL_HEADER is not None):
        trusts = url.scheme == "http"
        return Finding(
            "public URL",
            f"{settings.TIERCEL_PUBLIC_URL}, and TIERCEL_TRUST_PROXY is {'1' if trusts else '0'}:"
            + (
                " any client chooses its address" if trusts else " all clients count as one address"
            ),
            "set TIERCEL_TRUST_PROXY to 1 behind your TLS proxy, to 0 without one",
        )
    return Finding("public URL", settings.TIERCEL_PUBLIC_URL)


def debug() -> Finding:
    """Debug pages show settings to anybody."""
    if settings.DEBUG:
        return Finding("debug", "on", "unset TIERCEL_DEBUG")
    return Finding("debug", "off")


def static_files() -> Finding:
    """Pages need their built style sheets and scripts."""
    if settings.DEBUG or (settings.STATIC_ROOT / "staticfiles.json").exists():
        return Finding("static files", "built")
    return Finding("static files", "not built", "run `make static`")


def disk_space() -> Finding:
    """A full disk stops the database."""
    folder = settings.BASE_DIR
    free_bytes = shutil.disk_usage(folder).free
    message = f"{free_bytes / 2**30:.1f} GiB free at {folder}"
    if free_bytes < FREE_BYTES:
        return Finding("disk space", message, "free some space, or give the panel a larger disk")
    return Finding("disk space", message)


def mail() -> Finding:
    """The mail server lets the panel in. Nothing is sent."""
    if not settings.SMTP_HOST:
        return Finding("mail", MAIL_OFF, is_off=True)
    with EmailBackend(timeout=MAIL_SECONDS) as server:
        server.connection.ehlo_or_helo_if_needed()  # type: ignore[union-attr]  # it is open
        return Finding("mail", f"{settings.SMTP_HOST} answers")


CHECKS: dict[str, Callable[[], Finding]] = {
    "database role": database_role,
    "migrations": migrations,
    "clock": clock,
    "redis": messages,
    "workers": queues,
    "beat": beat,
    "jobs": work,
    "secrets": secret_values,
    "public URL": public_url,
    "debug": debug,
    "static files": static_files,
    "disk space": disk_space,
    "mail": mail,
}
NOT_REACHED = {
    "database role": "start PostgreSQL (`manage.py services start`) or correct DATABASE_URL",
    "redis": "start Redis (`manage.py services start`) or correct REDIS_URL",
    "mail": "correct TIERCEL_SMTP_HOST, TIERCEL_SMTP_PORT, the account or its password",
}

# What a check may meet; anything else is a bug of ours and shows its traceback.
EXPECTED = (DatabaseError, redis.RedisError, OSError, ValueError, ImproperlyConfigured)


def check(name: str) -> Finding:
    """Run one check; a service that does not answer is a finding, not a crash."""
    try:
        return CHECKS[name]()
    except EXPECTED as error:
        error_lines = str(error).strip().splitlines() or [type(error).__name__]
        how = NOT_REACHED.get(name, "fix the problems above, then run doctor again")
        return Finding(name, error_lines[0], how)


def examine(names: Iterable[str] = CHECKS, *, patience_seconds: float = 0) -> Iterator[Finding]:
    """Yield a finding for each name; a failing check is tried again while patience lasts."""
    end = time.monotonic() + patience_seconds
    for name in names:
        finding = check(name)
        while not finding.is_ok and name in {"workers", "beat", "jobs"} and time.monotonic() < end:
            time.sleep(0.5)
            finding = check(name)
        yield finding


def report_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a line of text for each finding, with the correction below a problem."""
    for finding in findings:
        result = "off" if finding.is_off else "ok" if finding.is_ok else "problem"
        yield f"{result:8} {finding.name}: {finding.message}"
        if not finding.is_ok:
            yield f"{'':8} -> {finding.correction}"
