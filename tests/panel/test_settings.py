"""Settings and headers of a production installation."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import global_settings
from django.core.management import call_command
from django.test import Client

from panel.celery import app as celery_app
from panel.operations import local_services

SETTINGS = local_services.CHECKOUT / "panel" / "settings.py"


def settings_with(environment: dict[str, str], *names: str) -> dict[str, Any]:
    """The settings that a process with nothing else in its environment would read."""
    with patch.dict(os.environ, {"PATH": os.environ["PATH"]} | environment, clear=True):
        read = vars(global_settings) | runpy.run_path(str(SETTINGS))
    return {name: read.get(name) for name in names}


def test_debug_is_off_unless_asked_for() -> None:
    assert settings_with({}, "DEBUG") == {"DEBUG": False}


def test_an_https_address_makes_cookies_secure_and_trusts_its_origin() -> None:
    read = settings_with(
        {"TIERCEL_PUBLIC_URL": "https://panel.example.org/"},
        "SESSION_COOKIE_SECURE",
        "CSRF_COOKIE_SECURE",
        "CSRF_TRUSTED_ORIGINS",
        "ALLOWED_HOSTS",
        "TIERCEL_PUBLIC_URL",
    )
    assert read["SESSION_COOKIE_SECURE"] and read["CSRF_COOKIE_SECURE"]
    assert read["CSRF_TRUSTED_ORIGINS"] == ["https://panel.example.org"]
    assert read["ALLOWED_HOSTS"][0] == "panel.example.org"
    assert read["TIERCEL_PUBLIC_URL"] == "https://panel.example.org"


def test_cookies_of_an_https_panel_are_its_own_and_no_script_reads_them() -> None:
    names = ("SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", "CSRF_COOKIE_HTTPONLY")
    read = settings_with({"TIERCEL_PUBLIC_URL": "https://panel.example.org"}, *names)
    assert list(read.values()) == ["__Host-sessionid", "__Host-csrftoken", True]
    # Browsers take that name by https alone.
    plain = settings_with({"TIERCEL_PUBLIC_URL": "http://panel.lan"}, *names)
    assert list(plain.values()) == ["sessionid", "csrftoken", True]


def test_a_browser_that_came_by_https_stays_there_for_a_year() -> None:
    name = "SECURE_HSTS_SECONDS"
    assert (
        settings_with({"TIERCEL_PUBLIC_URL": "https://panel.example.org"}, name)[name] >= 31_536_000
    )
    assert settings_with({"TIERCEL_HSTS_SECONDS": "0"}, name)[name] == 0


@pytest.mark.parametrize(
    ("environment", "backend"),
    [
        ({}, "dummy"),
        ({"TIERCEL_DEBUG": "1"}, "console"),
        ({"TIERCEL_SMTP_HOST": "mail.example.org"}, "smtp"),
    ],
)
def test_links_in_mail_are_printed_nowhere_but_in_development(
    environment: dict[str, str], backend: str
) -> None:
    read = settings_with(environment, "EMAIL_BACKEND")
    assert read == {"EMAIL_BACKEND": f"django.core.mail.backends.{backend}.EmailBackend"}


def test_the_proxys_header_is_trusted_only_if_the_setting_says_so() -> None:
    name = "SECURE_PROXY_SSL_HEADER"
    assert settings_with({}, name)[name] is None
    assert settings_with({"TIERCEL_TRUST_PROXY": "1"}, name)[name][1] == "https"


def test_mail_has_a_sender_also_where_the_variable_is_there_and_empty() -> None:
    read = settings_with({"TIERCEL_MAIL_FROM": ""}, "DEFAULT_FROM_EMAIL")
    assert read == {"DEFAULT_FROM_EMAIL": "tiercel@localhost"}


def test_the_owners_role_is_used_only_when_asked_for() -> None:
    urls = {
        "DATABASE_URL": "postgresql://app@db/tiercel",
        "DATABASE_OWNER_URL": "postgresql://owner@db/tiercel",
    }
    as_app = settings_with(urls, "DATABASES")["DATABASES"]["default"]
    as_owner = settings_with(urls | {"TIERCEL_DB_ROLE": "owner"}, "DATABASES")["DATABASES"]
    assert (as_app["USER"], as_owner["default"]["USER"]) == ("app", "owner")


def test_each_shard_has_a_beat_entry() -> None:
    read = settings_with({"TIERCEL_COLLECT_SHARDS": "3"}, "CELERY_BEAT_SCHEDULE")
    queues = [
        entry["options"]["queue"]
        for name, entry in read["CELERY_BEAT_SCHEDULE"].items()
        if name.startswith("collect-")
    ]
    assert queues == ["collect.0", "collect.1", "collect.2"]


def test_django_finds_nothing_to_object_to_in_production(installation: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=local_services.CHECKOUT,
        env=installation | {"TIERCEL_PUBLIC_URL": "https://panel.example.org"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", check_changes=True, dry_run=True)


def test_every_variable_is_documented() -> None:
    code = SETTINGS.read_text()
    names = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', code))
    assert "TIERCEL_PUBLIC_URL" in names
    text = Path(local_services.CHECKOUT / "docs" / "production.md").read_text()
    assert sorted(name for name in names if f"`{name}`" not in text) == []


@pytest.mark.django_db
def test_pages_carry_a_strict_content_security_policy(client: Client) -> None:
    policy = client.get("/account/login/").headers["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["style-src"] == "'self'"
    assert directives["img-src"] == "'self' data:"
    assert directives["default-src"] == "'self'"
    assert "unsafe" not in policy


@pytest.mark.django_db
def test_pages_are_closed_to_strangers(client: Client) -> None:
    answer = client.get("/")
    assert answer.status_code in {302, 404}
    assert answer.status_code == 404 or answer.headers["Location"].startswith("/account/login/")


@pytest.mark.django_db
def test_health_is_open_to_strangers(client: Client) -> None:
    assert client.get("/health").status_code == 200


def test_loopback_is_answered_whatever_other_names_are_given() -> None:
    read = settings_with({"TIERCEL_ALLOWED_HOSTS": "panel.lan"}, "ALLOWED_HOSTS")
    assert {"panel.lan", "localhost", "127.0.0.1"} <= set(read["ALLOWED_HOSTS"])


def test_a_worker_waits_for_redis_for_ever() -> None:
    assert celery_app.conf.broker_connection_max_retries is None


def test_sign_in_is_limited_by_the_visitors_address_behind_a_proxy() -> None:
    name = "ALLAUTH_TRUSTED_PROXY_COUNT"
    assert settings_with({"TIERCEL_TRUST_PROXY": "1"}, name) == {name: 1}


def test_the_log_masks_enrolment_tokens() -> None:
    logging = settings_with({}, "LOGGING")["LOGGING"]
    assert logging["handlers"]["console"]["filters"][0] == "tokens"
    assert logging["filters"]["tokens"] == {"()": "panel.configuration.log_redaction.TokenFilter"}
