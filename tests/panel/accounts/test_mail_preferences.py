"""People choose their notices; the link of a mail ends one kind, only by its button."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from panel.accounts import mail_preferences
from panel.accounts.mail_preferences import MailPreference
from panel.models import Mute, NoticeKind, User
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    user = make.user("ann@example.org")
    make.customer().members.create(user=user, role="viewer")
    return user


@pytest.fixture
def page(client: Client, ann: User, settings: Settings) -> Client:
    settings.SMTP_HOST = "localhost"
    client.force_login(ann)
    return client


def off(user: User, kind: NoticeKind = NoticeKind.DONE) -> str:
    return urlsplit(mail_preferences.link(MailPreference(user, kind))).path


def test_every_notice_is_sent_until_the_person_mutes_some(page: Client, ann: User) -> None:
    assert mail_preferences.wanted(ann) == set(NoticeKind)
    text = page.get(reverse("notices")).content.decode()
    assert text.count('" checked') == len(NoticeKind)
    assert "ann@example.org" in text


def test_where_no_mail_is_sent_there_is_nothing_to_choose(page: Client, settings: Settings) -> None:
    settings.SMTP_HOST = ""
    text = page.get(reverse("notices")).content.decode()
    assert "This panel sends no mail yet" in text
    assert 'name="kinds"' not in text


def test_the_choice_is_kept_and_can_be_taken_back(page: Client, ann: User) -> None:
    path = reverse("notices")
    response: Any = page.post(path, {"kinds": ["failed"]}, follow=True)
    assert "Saved" in response.content.decode()
    assert response.content.decode().count('" checked') == 1
    assert mail_preferences.wanted(ann) == {NoticeKind.FAILED}
    page.post(path, {"kinds": ["failed", "done"]})
    assert mail_preferences.wanted(ann) == {NoticeKind.FAILED, NoticeKind.DONE}
    page.post(path)
    assert mail_preferences.wanted(ann) == set()


def test_what_there_is_not_cannot_be_chosen(page: Client) -> None:
    assert page.post(reverse("notices"), {"kinds": ["weather"]}).status_code == 422
    assert not Mute.objects.exists()


def test_each_chooses_for_themselves(page: Client, ann: User) -> None:
    bob = make.user()
    page.post(reverse("notices"))
    assert mail_preferences.wanted(bob) == set(NoticeKind)


def test_looking_at_the_link_of_a_mail_changes_nothing(client: Client, ann: User) -> None:
    text = client.get(off(ann)).content.decode()
    assert "An order is done" in text
    assert mail_preferences.wanted(ann) == set(NoticeKind)


def test_its_button_ends_that_kind_without_signing_in(ann: User) -> None:
    # As a mail program presses it: no cookie, no CSRF token.
    program = Client(enforce_csrf_checks=True)
    for _ in range(2):
        answer: Any = program.post(off(ann), {"List-Unsubscribe": "One-Click"})
        assert answer.status_code == 200
    assert mail_preferences.wanted(ann) == {*NoticeKind} - {NoticeKind.DONE}
    assert "_auth_user_id" not in program.session


def test_a_link_that_we_did_not_sign_does_nothing(client: Client, ann: User) -> None:
    path = off(ann)[:-3] + "AAA"
    assert client.get(path).status_code == 404
    assert client.post(path).status_code == 404
    assert mail_preferences.wanted(ann) == set(NoticeKind)
    User.objects.filter(pk=ann.pk).delete()
    assert client.get(off(ann)).status_code == 404
