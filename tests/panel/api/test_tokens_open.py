"""What a token opens, and what it does not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from panel.accounts import api_tokens
from panel.models import ApiToken
from tests import make
from tests.panel.api.asking import V1, problem, program, staff
from tests.scene import scene

pytestmark = pytest.mark.django_db


def test_without_a_token_the_answer_says_how_to_get_in() -> None:
    response = Client().get(f"{V1}/volumes/")
    problem(response, 401, "not_authenticated")
    assert response["WWW-Authenticate"] == 'Bearer realm="tiercel"'


@pytest.mark.parametrize(
    "given", ["Bearer", "Bearer x", "Basic YTpi", "Bearer tcl_aaaaaaaaaaaa." + "a" * 43, "Bearer ☃"]
)
def test_what_is_no_token_is_refused(given: str) -> None:
    response = Client().get(f"{V1}/", headers={"Authorization": given})
    problem(response, 401, "authentication_failed")


def test_the_root_says_who_asks_and_what_there_is() -> None:
    asking = staff()
    body = asking.get("/").json()
    assert body["user"] == asking.user.email
    assert body["urls"]["volumes"] == f"{V1}/volumes/"
    assert "wish" in body["features"]


def test_a_changed_secret_opens_nothing() -> None:
    asking = staff()
    last = "a" if asking.text[-1] != "a" else "b"
    response = Client().get(f"{V1}/", headers={"Authorization": f"Bearer {asking.text[:-1]}{last}"})
    problem(response, 401, "authentication_failed")


@pytest.mark.parametrize("change", ["expires_at", "revoked_at"])
def test_an_expired_or_revoked_token_opens_nothing(change: str) -> None:
    asking = staff()
    ApiToken.objects.update(**{change: timezone.now() - timedelta(seconds=1)})
    problem(asking.get("/"), 401, "authentication_failed")


def test_a_web_machine_whose_clock_was_set_back_opens_nothing_to_an_expired_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asking = staff()
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    before = timezone.now() - timedelta(hours=6)
    monkeypatch.setattr("django.utils.timezone.now", lambda: before)
    problem(asking.get("/"), 401, "authentication_failed")


@pytest.mark.parametrize("hours", [-6, 6])
def test_a_wrong_clock_neither_prolongs_a_new_token_nor_spares_one_that_is_revoked(
    monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    right = timezone.now()
    wrong = right + timedelta(hours=hours)
    monkeypatch.setattr("django.utils.timezone.now", lambda: wrong)
    user = make.staff_user()
    token, text = api_tokens.issue(user, name="new", scopes=["read"], days=1)
    assert abs(token.expires_at - right - timedelta(days=1)) < timedelta(minutes=5)
    ApiToken.objects.update(expires_at=right + timedelta(hours=1))
    assert api_tokens.recognise(text) == token
    assert api_tokens.revoke_all(user) == 1
    assert api_tokens.recognise(text) is None


def test_a_token_ends_with_its_person() -> None:
    asking = staff()
    asking.user.is_active = False
    asking.user.save()
    problem(asking.get("/"), 401, "authentication_failed")


def test_the_secret_is_nowhere_in_the_database() -> None:
    asking = staff()
    row = ApiToken.objects.values().get()
    secret = asking.text.partition(".")[2]
    assert all(secret not in str(value) for value in row.values())


def test_use_is_noted_at_most_once_a_minute() -> None:
    asking = staff()
    asking.get("/")
    first = ApiToken.objects.get()
    assert first.last_used_ip == "127.0.0.1"
    asking.get("/")
    assert ApiToken.objects.get().last_used_at == first.last_used_at
    long_ago = timezone.now() - timedelta(seconds=61)
    ApiToken.objects.update(last_used_at=long_ago)
    asking.get("/")
    noted = ApiToken.objects.get().last_used_at
    assert noted is not None
    assert noted > long_ago


def test_a_token_for_reading_changes_nothing() -> None:
    there = scene()
    asking = program(make.staff_user(), "read")
    body = problem(asking.put_wish(there, None), 403, "insufficient_scope")
    assert "volumes:write" in body["correction"]
    path = f"/volumes/{there.volume.key}"
    problem(asking.send("patch", path, {"label": "x"}), 403, "insufficient_scope")


def test_a_scope_does_not_outlive_the_role_it_came_with() -> None:
    there = scene()
    asking = staff("operator")
    asking.user.staff_role = "read_only"
    asking.user.save()
    problem(asking.put_wish(there, None), 403, "forbidden")


def test_a_session_reads_and_changes_nothing(client: Client) -> None:
    there = scene()
    client.force_login(make.staff_user())
    path = f"{V1}/volumes/{there.volume.key}"
    assert client.get(path).status_code == 200
    response = client.patch(path, {"label": "x"}, content_type="application/json")
    problem(response, 401, "not_authenticated")


def test_no_person_gives_a_token_more_than_their_role() -> None:
    user = make.user()
    reads = [str(scope) for scope in api_tokens.READS_OF_CUSTOMERS]
    assert api_tokens.scopes_of(user) == ["read", *reads, "tokens:write"]
    with pytest.raises(ValueError, match=r"may have tokens for read, .*, tokens:write"):
        api_tokens.issue(user, name="x", scopes=["volumes:write"], days=1)
