"""Settings: what is configured, never a secret, and a test of each part."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from smtplib import SMTPRecipientsRefused
from unittest import mock

import pytest
from django.core import mail
from django.core.checks import run_checks
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from panel.accounts.security_log import security_entries
from panel.models import Mandate, SecurityEntry, SecurityKind, Webhook
from panel.operations import doctor
from storage.metrics.samples import chunk_store
from storage.metrics.samples.chunk_store import FORMAT, VOLUMES, readable
from storage.models import Resolution
from storage.naming import new_key
from tests import make
from tests.one_line import on_one_line
from tests.panel.deliveries.webhooks.addresses import webhook

pytestmark = pytest.mark.django_db
SECRET = "never-on-any-page"


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make.staff_user("boss@provider.org"))
    return client


def page(admin: Client, **query: str) -> str:
    return on_one_line(admin.get(reverse("settings"), query).content.decode())


def test_no_secret_is_on_the_page(admin: Client, settings: Settings) -> None:
    settings.SMTP_HOST = "mail.example.org"
    settings.EMAIL_HOST_PASSWORD = settings.TIERCEL_HOST_KEYS_SECRET = SECRET
    settings.TIERCEL_BILLING_SECRETS = settings.TIERCEL_BILLING_IN_SECRETS = [SECRET]
    settings.TIERCEL_BILLING_URL = f"https://me:{SECRET}@billing.example.org/hook"
    text = page(admin)
    assert SECRET not in text
    assert "mail.example.org" in text
    assert "https://billing.example.org/hook" in text


def test_a_panel_that_sends_no_mail_says_what_that_means(admin: Client) -> None:
    text = page(admin)
    assert "E-mail is off: no invitations, reset links or notices are sent." in text
    answer = admin.post(reverse("settings-mail"), follow=True).content.decode()
    assert "Nothing was sent" in answer
    assert mail.outbox == []


def test_a_test_message_goes_to_who_asks_for_it(admin: Client, settings: Settings) -> None:
    settings.SMTP_HOST = "mail.example.org"
    answer = admin.post(reverse("settings-mail"), follow=True).content.decode()
    assert "accepted a test message to boss@provider.org" in answer
    assert [message.to for message in mail.outbox] == [["boss@provider.org"]]


def test_what_the_mail_server_refuses_is_shown(admin: Client, settings: Settings) -> None:
    settings.SMTP_HOST = "mail.example.org"
    refused = SMTPRecipientsRefused({"boss@provider.org": (550, b"no relaying <b>")})
    with mock.patch("django.core.mail.EmailMessage.send", side_effect=refused):
        answer = admin.post(reverse("settings-mail"), follow=True).content.decode()
    assert "was not sent" in answer
    assert "no relaying &lt;b&gt;" in answer


def test_an_old_backup_is_a_warning(admin: Client) -> None:
    assert "No backup is recorded" in page(admin)
    security_entries.note(SecurityKind.BACKUP, "", "panel.backup, with secrets")
    text = page(admin)
    assert "No backup is recorded" not in text
    assert "panel.backup, with secrets" in text
    later = timezone.now() + timedelta(days=3)
    with mock.patch("panel.staff.settings_pages.timezone.now", return_value=later):
        assert "Older than 2 days" in page(admin)


def test_how_long_figures_are_kept_is_said_and_too_short_for_reports_too(
    admin: Client, settings: Settings
) -> None:
    assert "30 days" in page(admin) and "TIERCEL_SAMPLES_KEPT_DAYS" in page(admin)
    assert "400 days" in page(admin) and "for ever" in page(admin)
    assert "Projected size in a year" in page(admin)
    assert re.search(r"Not packed yet.{0,200}?\s[KM]iB, [\d,]+ rows", page(admin), re.DOTALL)
    settings.TIERCEL_SAMPLES_KEPT_DAYS = 7
    assert "Reports of orders need more than" not in page(admin)
    settings.TIERCEL_5M_KEPT_DAYS = 7
    assert "Reports of orders need more than 7\xa0d." in page(admin)


def test_samples_that_cannot_be_read_are_shown_and_why(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_store, "NOTED", f"test:{new_key()}")
    assert "none requested in a day, 0 set aside" in page(admin)
    start = datetime(2026, 11, 1, tzinfo=UTC)
    unread: dict[str, str] = {}
    assert readable(VOLUMES, Resolution.HOUR, start, 3, FORMAT, b"rust", unread) is None
    chunk_store.note_unreadable(unread)
    text = page(admin)
    assert "1 requested in a day, 0 set aside" in text
    assert "volume 3, 1 hour, 2026-11-01 00:00 UTC: zlib" in text


def test_the_checks_run_where_they_are_asked_for(admin: Client) -> None:
    assert "Check now" in page(admin)
    assert admin.get(reverse("settings"), {"check": "1"}).context["findings"] is None
    text = admin.post(reverse("settings")).content.decode()
    assert "Check again" in text
    assert "owns nothing" in text


def test_an_export_of_the_revenue_stands_in_the_security_log(admin: Client) -> None:
    assert admin.get(reverse("revenue-csv")).status_code == 200
    entry = SecurityEntry.objects.get(kind=SecurityKind.EXPORTED)
    assert (entry.actor, entry.detail) == ("boss@provider.org", "revenue, CSV")


def test_who_sells_must_be_reachable(admin: Client, settings: Settings) -> None:
    warning = "Customers may order, and many sentences tell them to contact support"
    settings.TIERCEL_CUSTOMERS_MAY_ORDER, settings.TIERCEL_MANDATE_REQUIRED = True, False
    assert warning in page(admin)
    assert [each.id for each in run_checks()] == ["panel.W005"]
    for name in ("TIERCEL_SUPPORT_EMAIL", "TIERCEL_SUPPORT_URL"):
        with override_settings(**{name: "help@provider.example"}):
            assert warning not in page(admin)
            assert run_checks() == []
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = False
    assert warning not in page(admin)


@pytest.mark.parametrize("route", ["settings", "billing"])
def test_admins_learn_that_no_customer_can_order_and_what_to_set(
    admin: Client, settings: Settings, route: str
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = settings.TIERCEL_MANDATE_REQUIRED = True
    settings.TIERCEL_REAUTHORISE_URL = ""
    Mandate.objects.create(customer=make.customer(), currency="EUR")  # its limits are not known
    dead_end = "Customers cannot order: a payment authorisation is required"

    def says_so() -> bool:
        return dead_end in admin.get(reverse(route)).content.decode()

    assert says_so()
    settings.TIERCEL_REAUTHORISE_URL = "https://pay.example.org/"
    assert not says_so()
    settings.TIERCEL_REAUTHORISE_URL = ""
    Mandate.objects.update(
        cap_charge_minor=900, cap_period_minor=900, earliest_next_at=timezone.now()
    )
    assert not says_so()
    Mandate.objects.all().delete()
    assert says_so()
    settings.TIERCEL_MANDATE_REQUIRED = False
    assert not says_so()


def test_the_page_asks_for_the_state_of_the_workers_by_itself(admin: Client) -> None:
    address = f"{reverse('settings')}?check=workers"
    assert f'hx-get="{address}" hx-trigger="load"' in page(admin)
    fault = doctor.Finding("workers", "no worker serves jobs", "start worker")
    with mock.patch.dict(doctor.CHECKS, {"workers": lambda: fault}):
        text = admin.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in text
    assert "No worker serves jobs: start worker." in text


def test_a_webhook_that_takes_nothing_is_a_warning(admin: Client) -> None:
    row = webhook("https://scripts.example.org/")
    assert "not accepting events" not in page(admin)
    Webhook.objects.filter(pk=row.pk).update(failures=3)
    assert "1 webhook not accepting events: see Webhooks." in page(admin)
    Webhook.objects.filter(pk=row.pk).update(failures=0, disabled_at=timezone.now())
    assert "1 webhook not accepting events: see Webhooks." in page(admin)


def test_settings_that_are_not_set_or_need_a_look_are_shown_alone(
    admin: Client, settings: Settings
) -> None:
    settings.SMTP_HOST = ""
    everything, short = page(admin), page(admin, only="open")
    assert "A sample every" in everything and "A sample every" not in short
    for text in (everything, short):
        assert "TIERCEL_SMTP_HOST" in text and "No backup is recorded" in text


def test_a_check_of_what_was_never_set_up_is_not_called_ok(
    admin: Client, settings: Settings
) -> None:
    settings.SMTP_HOST = ""
    text = admin.post(reverse("settings")).content.decode()
    row = text[text.index(">Mail</td>") :].partition("</tr>")[0]
    assert "chip-quiet" in row and ">off<" in row and "chip-ok" not in row
