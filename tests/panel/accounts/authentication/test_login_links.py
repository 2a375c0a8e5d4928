"""One-time links with which a billing panel signs its customer in."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from panel.accounts import people
from panel.accounts.authentication import login_links
from panel.configuration.log_redaction import TokenFilter
from panel.models import LoginLink, User
from storage.planner import Refused
from tests import make
from tests.panel.portal.shop import shop
from tests.proven import is_asked, prove

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    """A customer without a password."""
    user = make.user("ann@example.org")
    make.customer().members.create(user=user, role="owner")
    return user


def path_of(link: str) -> str:
    return urlsplit(link).path


def made(user: User, to: str = "/my/", **also: int) -> str:
    return path_of(login_links.make_link(user, to, **also))


def press(path: str, client: Client | None = None) -> Any:
    return (client or Client()).post(path)


def who(client: Client) -> str:
    return str(client.session.get("_auth_user_id", ""))


def test_the_button_signs_in_and_leads_to_the_page(client: Client) -> None:
    acme = shop()
    to = reverse("my-plan", args=[acme.volume.key])
    path = made(acme.owner, to)
    assert f"Continue as {acme.owner.email}" in client.get(path).content.decode()
    response = press(path, client)
    assert (response.status_code, response["Location"]) == (302, to)
    assert client.get(to).status_code == 200


def test_looking_uses_nothing_up_and_signs_no_one_in(client: Client, ann: User) -> None:
    path = made(ann)
    for _ in range(2):
        assert client.get(path).status_code == 200
    assert who(client) == ""
    assert press(path, client).status_code == 302


def test_it_works_once(ann: User) -> None:
    path = made(ann)
    assert press(path).status_code == 302
    other = Client()
    assert press(path, other).status_code == 404
    assert "no longer works" in other.get(path).content.decode()
    assert who(other) == ""


def test_of_two_who_press_at_once_one_is_let_in(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    token = made(ann).rsplit("/", 1)[1]
    both = login_links.open_link(token)
    assert both is not None and login_links.use_up(token) is not None
    monkeypatch.setattr(login_links, "open_link", lambda token: both)
    assert login_links.use_up(token) is None


def test_it_is_dead_after_its_time(client: Client, ann: User) -> None:
    path = made(ann)
    LoginLink.objects.update(expires_at=Now() - timedelta(seconds=1))
    assert press(path, client).status_code == 404
    assert who(client) == ""


def test_it_lives_for_a_minute_by_default(ann: User) -> None:
    made(ann)
    link = LoginLink.objects.get()
    assert link.expires_at - link.created_at <= timedelta(seconds=60)


def test_a_guessed_one_leads_nowhere(client: Client) -> None:
    path = reverse("login-link", args=["x" * 43])
    assert client.get(path).status_code == 404
    assert press(path, client).status_code == 404


def test_a_person_who_may_not_sign_in_does_not_get_in(client: Client, ann: User) -> None:
    path = made(ann)
    User.objects.filter(pk=ann.pk).update(is_active=False)
    assert press(path, client).status_code == 404
    ann.refresh_from_db()
    with pytest.raises(Refused, match="is deactivated"):
        login_links.make_link(ann, "/my/")


def test_staff_never_come_in_this_way(client: Client, ann: User) -> None:
    with pytest.raises(Refused, match="Staff"):
        login_links.make_link(make.staff_user(staff_role="read_only"), "/my/")
    path = made(ann)
    User.objects.filter(pk=ann.pk).update(staff_role="admin")
    assert press(path, client).status_code == 404


@pytest.mark.parametrize(
    "to",
    ["/", "/hosts/", "//evil.example/my/", "https://evil.example/my/", "/my/?x=1", "/no/", "my/"],
)
def test_it_leads_to_pages_of_customers_only(ann: User, to: str) -> None:
    with pytest.raises(Refused, match="cannot lead"):
        login_links.make_link(ann, to)


@pytest.mark.parametrize("seconds", [0, -1, 601])
def test_it_lives_neither_for_ever_nor_not_at_all(ann: User, seconds: int) -> None:
    with pytest.raises(Refused, match="out of range"):
        login_links.make_link(ann, "/my/", seconds)


def test_the_database_keeps_no_token(ann: User) -> None:
    token = made(ann).rsplit("/", 1)[1]
    assert token not in str(LoginLink.objects.values().get())


def test_the_log_keeps_no_token(ann: User) -> None:
    path = made(ann)
    record = logging.LogRecord("django", logging.WARNING, "", 1, "Not Found: %s", (path,), None)
    TokenFilter().filter(record)
    assert record.getMessage() == "Not Found: /enter/***"


def test_another_person_in_this_browser_is_signed_out(client: Client, ann: User) -> None:
    client.force_login(make.staff_user())
    press(made(ann), client)
    assert who(client) == str(ann.pk)


def test_who_is_signed_in_already_stays_as_they_are(client: Client, ann: User) -> None:
    client.force_login(ann)
    prove(client, ann)
    assert press(made(ann), client)["Location"] == "/my/"
    assert client.get(reverse("account_email")).status_code == 200


def test_a_second_factor_is_asked_for_all_the_same(client: Client, ann: User) -> None:
    TOTP.activate(ann, "JBSWY3DPEHPK3PXP")
    assert press(made(ann), client)["Location"].startswith(reverse("mfa_authenticate"))
    assert who(client) == ""


KEYS = ("account_email", "account_change_password", "mfa_index", "mfa_activate_totp", "tokens")


@pytest.mark.parametrize("name", KEYS)
def test_it_opens_no_page_where_one_gets_a_key_of_ones_own(
    client: Client, ann: User, name: str
) -> None:
    press(made(ann), client)
    proof_page = f"{reverse('step-up')}?next="
    assert client.get(reverse(name)).headers["Location"].startswith(proof_page)
    assert is_asked(client.post(reverse(name)))
    prove(client, ann)
    assert not client.get(reverse(name)).headers.get("Location", "").startswith(proof_page)
    assert client.get(reverse("account_logout")).status_code == 200


def test_a_person_who_came_with_a_password_is_not_asked_there(client: Client) -> None:
    bob = people.add(email="bob@example.org", password="correct horse 9")
    client.post(reverse("account_login"), {"login": bob.email, "password": "correct horse 9"})
    assert client.get(reverse("tokens")).status_code == 200
