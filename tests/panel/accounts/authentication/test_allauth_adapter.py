"""Mail about one's account: its links lead to the public address, whatever the request names."""

from __future__ import annotations

import uuid

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from panel.accounts import people
from panel.accounts.authentication import email_codes
from panel.accounts.security_log import background_mail
from panel.models import User
from storage.planner import Refused
from tests.proven import sign_in

pytestmark = pytest.mark.django_db

PUBLIC = "https://panel.example.org"


@pytest.fixture(autouse=True)
def _a_panel_that_sends_mail(settings: Settings) -> None:
    settings.TIERCEL_PUBLIC_URL = PUBLIC
    settings.ALLOWED_HOSTS = ["panel.example.org", "other.example.org", "localhost", "testserver"]
    settings.SMTP_HOST = "mail.example.org"
    memory = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": memory, "LOCATION": uuid.uuid4().hex}}


@pytest.fixture
def ann() -> User:
    return people.add(email="ann@example.org", password="correct horse 9")


def posted() -> list[str]:
    """What was mailed so far."""
    background_mail.POST.submit(int).result()
    return [f"{message.subject}\n{message.body}" for message in mail.outbox]


@pytest.mark.parametrize("host", ["localhost:31337", "other.example.org", "panel.example.org"])
def test_a_reset_mail_leads_to_the_public_address(ann: User, client: Client, host: str) -> None:
    client.post(reverse("account_reset_password"), {"email": ann.email}, headers={"Host": host})
    (text,) = posted()
    assert f"{PUBLIC}/account/password/reset/key/" in text
    assert "localhost" not in text and "other." not in text
    assert text.startswith("[Tiercel] ")


def test_so_does_the_confirmation_of_an_address(ann: User, client: Client) -> None:
    sign_in(client, ann)
    form = {"action_add": "", "email": "ann@home.example"}
    client.post(reverse("account_email"), form, headers={"Host": "localhost:31337"})
    (text,) = [each for each in posted() if "confirm-email" in each]
    assert f"{PUBLIC}/account/confirm-email/" in text
    assert "localhost" not in text


def test_a_stranger_is_not_written_to(client: Client) -> None:
    answer = client.post(reverse("account_reset_password"), {"email": "stranger@example.net"})
    assert answer.status_code == 302
    assert posted() == []


def test_a_mail_server_that_is_away_is_no_error_of_the_page(
    ann: User, client: Client, settings: Settings
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    answer = client.post(reverse("account_reset_password"), {"email": ann.email})
    assert answer["Location"] == reverse("account_reset_password_done")
    background_mail.POST.submit(int).result()


# --- Without a mail server ------------------------------------------------------------------------


def test_without_a_mail_server_no_link_is_made(
    ann: User, client: Client, settings: Settings
) -> None:
    settings.SMTP_HOST = ""
    answer = client.post(reverse("account_reset_password"), {"email": ann.email})
    assert answer.status_code == 404
    assert "sends no mail" in answer.content.decode()
    assert posted() == []


def test_without_a_mail_server_no_code_is_made(ann: User, settings: Settings) -> None:
    settings.SMTP_HOST = ""
    with pytest.raises(Refused) as caught:
        email_codes.send_code(ann, "a-session")
    assert caught.value.code == "not_sent"
    assert posted() == []


def test_without_a_mail_server_no_address_is_added(
    ann: User, client: Client, settings: Settings
) -> None:
    settings.SMTP_HOST = ""
    sign_in(client, ann)
    page = client.get(reverse("account_email")).content.decode()
    assert "action_add" not in page and "sends no mail" in page
    client.post(reverse("account_email"), {"action_add": "", "email": "ann@home.example"})
    assert EmailAddress.objects.count() == 1
    assert posted() == []
