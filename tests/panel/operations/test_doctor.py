"""What `manage.py doctor` finds."""

import json
import socket
import socketserver
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings

from jobs.models import LifeSign
from panel.configuration.environment import database
from panel.operations import doctor, local_services
from tests.conftest import this_run, url_of
from tests.scene import job, scene


def run_doctor(environment: dict[str, str]) -> tuple[int, list[dict[str, str]]]:
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=local_services.CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def owned(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Lets doctor look at a database of this name as the tables' owner."""
    owners = connection.copy()
    monkeypatch.setattr(doctor, "connection", owners)
    yield lambda name: owners.settings_dict.update(database(url_of("owner", name)))
    owners.close()


@pytest.mark.django_db
def test_a_role_that_owns_nothing_is_well() -> None:
    assert doctor.check("database role").is_ok
    assert doctor.check("migrations").is_ok


@pytest.mark.django_db
def test_the_owners_role_is_a_problem(owned: Callable[[str], None]) -> None:
    owned(this_run())
    finding = doctor.check("database role")
    assert "owns tables" in finding.message
    assert finding.correction


@pytest.mark.django_db
def test_an_empty_database_needs_a_migration(owned: Callable[[str], None]) -> None:
    owned("postgres")
    assert doctor.check("migrations").correction == "run `manage.py migrate`"


def test_services_that_are_down_are_findings_and_not_crashes(tmp_path: Path) -> None:
    nowhere = {
        "PATH": "/usr/bin",
        "DATABASE_URL": f"postgresql://tiercel_app@/tiercel?host={tmp_path}",
        "REDIS_URL": f"unix://{tmp_path}/redis.sock?db=0",
        "TIERCEL_SECRET_KEY": "x" * 64,
    }
    code, findings = run_doctor(nowhere)
    assert code == 1
    assert [finding["name"] for finding in findings] == list(doctor.CHECKS)
    failed = {finding["name"] for finding in findings if not finding["ok"]}
    assert {"database role", "migrations", "clock", "redis", "workers", "beat"} <= failed
    assert all(finding["ok"] or finding["correction"] for finding in findings)


@pytest.mark.parametrize(
    ("url", "is_ok"),
    [
        ("http://localhost:8000", True),
        ("https://panel.example.org", True),
        ("http://panel.example.org", False),
        ("panel.example.org", False),
    ],
)
def test_the_public_url_needs_tls_unless_it_is_this_machine(
    settings: Settings, url: str, is_ok: bool
) -> None:
    settings.TIERCEL_PUBLIC_URL = url
    header = ("HTTP_X_FORWARDED_PROTO", "https") if url.startswith("https") else None
    settings.SECURE_PROXY_SSL_HEADER = header
    assert doctor.check("public URL").is_ok is is_ok


@pytest.mark.parametrize(
    ("url", "header", "said"),
    [
        ("http://localhost:8000", ("HTTP_X_FORWARDED_PROTO", "https"), "chooses its address"),
        ("https://panel.example.org", None, "all clients count as one address"),
    ],
)
def test_a_proxy_is_trusted_where_there_is_one(
    settings: Settings, url: str, header: tuple[str, str] | None, said: str
) -> None:
    settings.TIERCEL_PUBLIC_URL, settings.SECURE_PROXY_SSL_HEADER = url, header
    assert said in doctor.check("public URL").message


def test_halves_of_different_key_pairs_are_found(settings: Settings) -> None:
    assert doctor.check("secrets").is_ok
    settings.TIERCEL_HOST_KEYS_PUBLIC = "A" * 43 + "="
    assert doctor.check("secrets").message == "the two halves of the host key secret do not match"


def test_garbage_for_a_key_is_a_finding(settings: Settings) -> None:
    settings.TIERCEL_HOST_KEYS_SECRET = "not base64!"
    assert not doctor.check("secrets").is_ok


def test_a_web_process_without_the_secret_half_is_well(settings: Settings) -> None:
    settings.TIERCEL_HOST_KEYS_SECRET = ""
    assert doctor.check("secrets").is_ok


def sign(kind: str, **fields: Any) -> LifeSign:
    given = {"node": f"{kind}@{socket.gethostname()}", "process": kind, "slot": 0}
    return LifeSign.objects.create(kind=kind, seen_at=Now(), **{**given, **fields})


@pytest.mark.django_db
def test_beat_is_alive_while_it_gives_signs() -> None:
    assert doctor.check("beat").correction == "start beat (see the Procfile)"
    beat = sign("beat")
    assert doctor.check("beat").is_ok
    LifeSign.objects.filter(pk=beat.pk).update(seen_at=Now() - timedelta(minutes=1))
    assert not doctor.check("beat").is_ok


@pytest.mark.django_db
def test_each_queue_needs_a_living_slot() -> None:
    assert (
        doctor.check("workers").message == "no worker serves collect.0, hosts, housekeeping, jobs"
    )
    sign("worker", queues="hosts,jobs")
    sign("housekeeping", queues="housekeeping")
    assert doctor.check("workers").message == "no worker serves collect.0"
    sign("collector", queues="collect.0")
    assert doctor.check("workers").is_ok


@pytest.mark.django_db
def test_jobs_that_no_worker_takes_are_a_problem() -> None:
    assert doctor.check("jobs").is_ok
    job(scene(), updated_at=timezone.now() - timedelta(minutes=5))
    finding = doctor.check("jobs")
    assert finding.message == "No worker took a job for 5 min though 1 is due"
    assert finding.correction == "See the worker's log, then restart the worker."


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["worker", "housekeeping", "collector", "beat"])
def test_a_container_asks_for_its_own_signs(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = sign(kind, node=f"{kind}@elsewhere")
    with pytest.raises(SystemExit) as ended:
        call_command("alive", kind)
    assert ended.value.code == 1
    elsewhere.delete()
    sign(kind)
    call_command("alive", kind)
    assert capsys.readouterr().out.endswith(" is alive\n")


def test_a_full_disk_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "FREE_BYTES", 2**60)
    assert not doctor.check("disk space").is_ok


class MailServer(socketserver.StreamRequestHandler):
    """Answers as one, and writes down what it gets."""

    received: ClassVar[list[str]] = []

    def handle(self) -> None:
        self.wfile.write(b"220 mail.example.org\r\n")
        for line in self.rfile:
            word = line.decode().split()[0].upper()
            self.received.append(word)
            self.wfile.write(b"221 Bye\r\n" if word == "QUIT" else b"250 mail.example.org\r\n")


def test_the_mail_server_is_asked_and_sent_nothing(settings: Settings) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), MailServer) as server:
        settings.SMTP_HOST = settings.EMAIL_HOST = "127.0.0.1"
        settings.EMAIL_PORT, settings.EMAIL_USE_TLS = server.server_address[1], False
        with ThreadPoolExecutor(1) as pool:
            pool.submit(server.handle_request)
            assert doctor.check("mail").is_ok
    assert MailServer.received == ["EHLO", "QUIT"]
    finding = doctor.check("mail")
    assert "TIERCEL_SMTP_HOST" in finding.correction


def test_a_panel_without_a_mail_server_is_well_and_its_mail_is_off(settings: Settings) -> None:
    settings.SMTP_HOST = ""
    finding = doctor.check("mail")
    assert finding.is_ok and finding.is_off
    assert next(doctor.report_lines([finding])).startswith("off      mail: E-mail is off")


def test_the_report_gives_the_correction_below_a_problem() -> None:
    findings = [doctor.Finding("a", "well"), doctor.Finding("b", "ill", "heal it")]
    assert list(doctor.report_lines(findings)) == [
        "ok       a: well",
        "problem  b: ill",
        "         -> heal it",
    ]
