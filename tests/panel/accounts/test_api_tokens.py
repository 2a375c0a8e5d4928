"""The page of API tokens, and `manage.py token`."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from panel.accounts import api_tokens
from panel.models import ApiToken, User
from panel.models.api_token import READS
from tests import make
from tests.proven import sign_in

pytestmark = pytest.mark.django_db

SHOWN = re.compile(r'<code id="new-token">(tcl_[a-z2-7]{12}\.[\w-]{43})</code>')


def signed_in(client: Client, user: User) -> Client:
    return sign_in(client, user)


def make_token(client: Client, **data: Any) -> Any:
    data = {"name": "billing", "scopes": ["read"], "days": 90, **data}
    return client.post(reverse("tokens"), data)


def test_a_new_token_is_shown_once_and_works(client: Client) -> None:
    user = make.user()
    response = make_token(signed_in(client, user))
    shown = SHOWN.search(response.content.decode())
    assert shown
    assert "no-store" in response["Cache-Control"]
    token = api_tokens.recognise(shown[1])
    assert token is not None
    assert (token.user, token.name, token.scopes) == (user, "billing", ["read"])
    assert 89 <= (token.expires_at - token.created_at).days <= 90
    page = client.get(reverse("tokens")).content.decode()
    assert "billing" in page
    assert shown[1].partition(".")[2] not in page


def test_the_page_without_a_token_shows_how_to_begin(client: Client) -> None:
    page = signed_in(client, make.user()).get(reverse("tokens")).content.decode()
    assert "No tokens yet" in page
    assert "/api/v1/volumes/" in page


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        ("", {"read", "tokens:write", *api_tokens.READS_OF_CUSTOMERS}),
        ("read_only", {"read", "metrics:read", "tokens:write", *READS}),
        (
            "operator",
            {
                "read",
                "volumes:preview",
                "volumes:write",
                "hosts:write",
                "customers:write",
                "alerts:write",
                "benchmarks:write",
                "tokens:write",
                "metrics:read",
                "volumes:destroy",
                *READS,
            },
        ),
        (
            "admin",
            {
                "read",
                "volumes:preview",
                "volumes:write",
                "hosts:write",
                "customers:write",
                "alerts:write",
                "benchmarks:write",
                "tokens:write",
                "volumes:destroy",
                "plans:write",
                "alert-routes:write",
                "people:write",
                "metrics:read",
                "webhooks:write",
                *READS,
            },
        ),
    ],
)
def test_people_are_offered_what_they_may_do_themselves(
    client: Client, role: str, offered: set[str]
) -> None:
    page = signed_in(client, make.user(staff_role=role)).get(reverse("tokens")).content.decode()
    assert set(re.findall(r'name="scopes" value="([^"]*)"', page)) == offered


@pytest.mark.parametrize(("role", "may"), [("viewer", False), ("operator", True), ("owner", True)])
def test_people_of_a_customer_are_offered_orders_where_they_may_order(role: str, may: bool) -> None:
    person = make.user()
    make.customer().members.create(user=person, role=role)
    assert ("orders:write" in api_tokens.scopes_of(person)) == may


@pytest.mark.parametrize(
    "data",
    [{"scopes": ["volumes:write"]}, {"scopes": []}, {"days": 367}, {"days": 0}, {"name": ""}],
)
def test_a_token_that_cannot_be_is_refused(client: Client, data: dict[str, Any]) -> None:
    response = make_token(signed_in(client, make.user()), **data)
    assert response.status_code == 422
    assert not ApiToken.objects.exists()


def test_a_token_is_revoked_after_a_question(client: Client) -> None:
    user = make.user()
    token, text = api_tokens.issue(user, name="billing", scopes=["read"], days=1)
    path = reverse("token-revoke", args=[token.key])
    assert "Revoke" in signed_in(client, user).get(path).content.decode()
    assert api_tokens.recognise(text) is not None
    assert client.post(path)["Location"] == reverse("tokens")
    assert api_tokens.recognise(text) is None
    assert client.post(path).status_code == 404


def test_tokens_of_others_are_neither_seen_nor_revoked(client: Client) -> None:
    token, text = api_tokens.issue(make.user(), name="theirs", scopes=["read"], days=1)
    signed_in(client, make.staff_user())
    assert "theirs" not in client.get(reverse("tokens")).content.decode()
    assert client.post(reverse("token-revoke", args=[token.key])).status_code == 404
    assert api_tokens.recognise(text) is not None


def test_the_tokens_of_a_person_are_bounded(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("panel.accounts.api_tokens.MAX_LIVE", 1)
    signed_in(client, make.user())
    assert make_token(client).status_code == 200
    response = make_token(client)
    assert response.status_code == 422
    assert "Revoke one first" in response.content.decode()


def test_the_command_prints_the_token_alone() -> None:
    user = make.staff_user("ann@example.org")
    out = StringIO()
    scopes = "read,volumes:write"
    call_command("token", "Ann@example.org", "--name", "demo", "--scopes", scopes, stdout=out)
    token = api_tokens.recognise(out.getvalue().strip())
    assert token is not None
    assert (token.user, token.scopes) == (user, ["read", "volumes:write"])


def test_the_command_gives_no_one_more_than_their_role() -> None:
    make.user("ann@example.org")
    for arguments in (
        ("bob@example.org",),
        ("ann@example.org", "--scopes", "plans:write"),
        ("ann@example.org", "--days", "1000"),
    ):
        with pytest.raises(CommandError):
            call_command("token", *arguments)
