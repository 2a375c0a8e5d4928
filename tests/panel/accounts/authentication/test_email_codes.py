"""Six digits by e-mail, for people without a password."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from panel.accounts.authentication import email_codes
from panel.models import StepUpCode, User
from storage.planner import Refused
from tests import make

pytestmark = pytest.mark.django_db

SESSION = "a-session"


@pytest.fixture(autouse=True)
def _a_mail_server(settings: Settings) -> None:
    settings.SMTP_HOST = "mail.example.org"


@pytest.fixture
def bob() -> User:
    return make.user("bob@example.org")


def mailed(user: User, session: str = SESSION) -> str:
    email_codes.send_code(user, session)
    assert mail.outbox[-1].to == [user.email]
    return digits()


def digits() -> str:
    code = re.search(r"\b\d{6}\b", str(mail.outbox[-1].body))
    assert code is not None
    return code[0]


def older(**by: int) -> None:
    """Let time pass since the codes were mailed."""
    StepUpCode.objects.update(created_at=Now() - timedelta(**by))


def test_a_code_works_once(bob: User) -> None:
    code = mailed(bob)
    assert email_codes.accept_code(bob, SESSION, code)
    assert not email_codes.accept_code(bob, SESSION, code)


def test_the_database_keeps_no_code(bob: User) -> None:
    code = mailed(bob)
    assert code not in str(StepUpCode.objects.values().get())


def test_it_is_good_for_its_person_and_its_session_alone(bob: User) -> None:
    code = mailed(bob)
    assert not email_codes.accept_code(bob, "another-session", code)
    assert not email_codes.accept_code(make.user(), SESSION, code)
    assert email_codes.accept_code(bob, SESSION, code)


def test_after_five_tries_the_right_one_is_wrong_too(bob: User) -> None:
    code = mailed(bob)
    wrong = f"{(int(code) + 1) % 1_000_000:06}"
    assert not any(email_codes.accept_code(bob, SESSION, wrong) for _ in range(5))
    assert not email_codes.accept_code(bob, SESSION, code)
    assert not email_codes.has_open(bob)


def test_it_is_dead_after_its_time(bob: User) -> None:
    code = mailed(bob)
    StepUpCode.objects.update(expires_at=Now() - timedelta(seconds=1))
    assert not email_codes.accept_code(bob, SESSION, code)


def test_a_new_code_ends_the_old_one(bob: User) -> None:
    first = mailed(bob)
    older(minutes=2)
    second = mailed(bob)
    assert first == second or not email_codes.accept_code(bob, SESSION, first)
    assert email_codes.accept_code(bob, SESSION, second)


def test_one_a_minute_and_five_an_hour_are_mailed(bob: User) -> None:
    mailed(bob)
    with pytest.raises(Refused, match="less than a minute ago"):
        email_codes.send_code(bob, SESSION)
    for _ in range(4):
        older(minutes=2)
        mailed(bob)
    older(minutes=2)
    with pytest.raises(Refused, match="too many"):
        email_codes.send_code(bob, SESSION)
    assert len(mail.outbox) == 5
    older(hours=2)
    mailed(bob)
    assert StepUpCode.objects.count() == 1


def test_a_mail_server_that_does_not_take_it_is_spoken_of(
    bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*args: Any) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr(email_codes, "send_mail", down)
    with pytest.raises(Refused, match="could not be sent"):
        email_codes.send_code(bob, SESSION)


def test_the_page_mails_it_and_takes_it(client: Client, bob: User) -> None:
    client.force_login(bob)
    path = reverse("step-up")
    assert "Send code" in client.get(path).content.decode()
    assert not mail.outbox
    sent: Any = client.post(path, {"next": "/my/", "send": "1"}, follow=True)
    assert "six-digit code to bob@example.org" in sent.content.decode()
    assert client.post(path, {"next": "/my/", "code": "x"}).status_code == 422
    again = client.post(path, {"next": "/my/", "send": "1"})
    assert "less than a minute ago" in again.content.decode()
    code = digits()
    typed = f"{code[:3]} {code[3:]} "
    response: Any = client.post(path, {"next": "/my/", "code": typed})
    assert response["Location"] == "/my/"


def test_who_has_a_password_is_mailed_none(client: Client) -> None:
    ann = make.user(password="correct horse 9")
    client.force_login(ann)
    assert client.post(reverse("step-up"), {"send": "1"}).status_code == 422
    assert not mail.outbox
