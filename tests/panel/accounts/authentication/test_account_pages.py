"""Pages of one's own account: a forgotten password, two-factor, addresses."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from panel.accounts import people
from panel.models import User

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse 9"


@pytest.fixture
def ann() -> User:
    return people.add(email="ann@example.org", password=PASSWORD)


def signed_in() -> Client:
    client = Client()
    client.post(reverse("account_login"), {"login": "ann@example.org", "password": PASSWORD})
    return client


def seen(client: Client, name: str) -> str:
    response = client.get(reverse(name))
    assert response.status_code == 200
    return response.content.decode()


def test_without_a_mail_server_no_page_promises_mail(client: Client) -> None:
    text = seen(client, "account_reset_password")
    assert "sends no mail" in text
    assert 'name="email"' not in text


def test_with_a_mail_server_a_link_to_a_new_password_is_sent(
    client: Client, settings: Settings
) -> None:
    settings.SMTP_HOST = "mail.example.org"
    assert 'name="email"' in seen(client, "account_reset_password")


def test_two_factor_says_that_the_password_alone_opens_the_account(ann: User) -> None:
    assert "Only your password protects this account" in seen(signed_in(), "mfa_index")


def test_a_security_key_is_listed_and_counted(ann: User) -> None:
    client = signed_in()
    Authenticator.objects.create(
        user=ann, type=Authenticator.Type.WEBAUTHN, data={"name": "blue key", "credential": {}}
    )
    assert "1 added" in seen(client, "mfa_index")
    assert "blue key" in seen(client, "mfa_list_webauthn")


def test_an_app_is_set_up_with_a_code_to_scan_and_a_key_to_type(ann: User) -> None:
    client = Client()
    client.force_login(ann)
    page = client.get(reverse("mfa_activate_totp"), follow=True).content.decode()
    assert "Confirm your identity" in page
    client.post(reverse("step-up"), {"password": PASSWORD})
    text = seen(client, "mfa_activate_totp")
    assert 'class="qr' in text
    assert 'id="totp-key"' in text


def test_a_placeholder_that_only_repeats_the_label_is_left_out(ann: User) -> None:
    assert "placeholder=" not in seen(signed_in(), "account_change_password").split("<main")[1]


def test_the_only_address_offers_nothing_that_would_be_refused(ann: User) -> None:
    client = signed_in()
    assert "action_remove" not in seen(client, "account_email")
    EmailAddress.objects.create(user=ann, email="ann@home.example", verified=False)
    text = seen(client, "account_email")
    assert "action_remove" in text
    assert "not confirmed yet" in text


@pytest.mark.parametrize("has_key", [False, True])
def test_a_security_key_is_offered_to_those_who_have_one(
    ann: User, monkeypatch: pytest.MonkeyPatch, has_key: bool
) -> None:
    TOTP.activate(ann, "JBSWY3DPEHPK3PXP")
    if has_key:
        # What a real key registers is long; only that there is one matters here.
        options = {"publicKey": {"allowCredentials": [{"id": "abc", "type": "public-key"}]}}
        monkeypatch.setattr(
            "allauth.mfa.base.views.webauthn_auth.begin_authentication", lambda user: options
        )
    page = seen(signed_in(), "mfa_authenticate")
    assert "six-digit code" in page
    assert ("Use a security key" in page) is ("webauthn_form" in page) is has_key
