"""What a new panel still lacks, for its admins."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from panel.accounts.security_log import security_entries
from panel.models import SecurityKind, User
from panel.staff.dashboard.get_started import get_started
from tests import make
from tests.panel.deliveries.alerts.alert_messages import mail_route

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss() -> User:
    return make.staff_user("boss@provider.org")


def undone(user: User) -> list[str]:
    shown = get_started(user)
    return [] if shown is None else [each.name for each in shown.steps if not each.is_done]


def test_each_thing_is_ticked_once_it_is_there(boss: User, settings: Settings) -> None:
    settings.SMTP_HOST = ""
    left = ["First host", "Second factor", "Alert recipients", "E-mail", "Backup"]
    assert undone(boss) == left
    make.host()
    Authenticator.objects.create(user=boss, type=Authenticator.Type.TOTP, data={})
    assert undone(boss) == left[2:]
    mail_route("anna@provider.org")
    settings.SMTP_HOST = "mail.example.org"
    security_entries.note(SecurityKind.BACKUP, "root")
    assert get_started(boss) is None


def test_it_is_one_card_of_the_first_page_which_stays_without_a_recipient(
    client: Client, boss: User
) -> None:
    make.host()
    client.force_login(boss)
    page = client.get(reverse("home")).content.decode()
    assert page.count('class="get-started card') == 1
    for name in ("mfa_index", "alert-route-new"):
        assert f'<a href="{reverse(name)}"' in page
    assert "Not now" not in page and 'data-dismissable="get-started"' not in page
    mail_route("anna@provider.org")
    page = client.get(reverse("home")).content.decode()
    assert 'data-dismissable="get-started"' in page


def test_others_are_not_asked(client: Client) -> None:
    assert get_started(make.staff_user(staff_role="operator")) is None
