"""Staff who need a second factor and have none are led to set one up."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from panel.accounts import api_tokens, people
from panel.accounts.authentication import second_factor
from panel.models import User
from storage.access import StaffRole
from tests import make
from tests.proven import sign_in

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse 9"
CLOSED = ("home", "overview", "hosts", "volumes", "jobs", "tokens", "people", "search")
OPEN = ("mfa_index", "account_change_password", "account_email", "account_logout", "health")
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def needed(settings: Settings) -> None:
    settings.TIERCEL_STAFF_NEED_SECOND_FACTOR = True


@pytest.fixture
def ann(client: Client) -> User:
    """An admin with a password alone, signed in."""
    user = people.add(email="ann@example.org", password=PASSWORD, staff_role=StaffRole.ADMIN)
    sign_in(client, user)
    return user


def with_app(user: User) -> User:
    TOTP.activate(user, "JBSWY3DPEHPK3PXP")
    return user


def place(response: Any) -> str:
    assert response.status_code == 302
    return str(response["Location"])


@pytest.mark.parametrize("name", CLOSED)
def test_every_page_leads_staff_without_a_factor_to_where_one_is_set_up(
    client: Client, ann: User, name: str
) -> None:
    assert place(client.get(reverse(name))) == reverse("mfa_index")


@pytest.mark.parametrize("name", OPEN)
def test_their_account_and_the_way_out_stay_open(client: Client, ann: User, name: str) -> None:
    assert client.get(reverse(name)).status_code == 200


@pytest.mark.parametrize("role", StaffRole)
def test_every_role_of_the_staff_needs_one(client: Client, role: StaffRole) -> None:
    client.force_login(make.staff_user(staff_role=role))
    assert place(client.get(reverse("hosts"))) == reverse("mfa_index")


def test_nothing_is_done_for_who_lacks_one(client: Client, ann: User) -> None:
    response = client.post(reverse("customer-new"), {"name": "Acme"})
    assert place(response) == reverse("mfa_index")
    assert client.post(reverse("jobs-stop")).status_code == 302


def test_the_page_says_why_as_long_as_it_is_so(client: Client, ann: User) -> None:
    why = "Set up a second factor to continue"
    assert why in client.get(reverse("home"), follow=True).content.decode()
    assert why in client.get(reverse("mfa_index")).content.decode()
    with_app(ann)
    assert why not in client.get(reverse("mfa_index")).content.decode()


def test_a_part_of_a_page_sends_the_whole_page_there(client: Client, ann: User) -> None:
    response = client.get(reverse("running-jobs"), headers=HTMX)
    assert (response.status_code, response.content) == (403, b"")
    assert response["HX-Redirect"] == reverse("mfa_index")


@pytest.mark.parametrize("kind", second_factor.KINDS)
def test_with_an_app_or_a_key_the_panel_is_open(client: Client, ann: User, kind: str) -> None:
    Authenticator.objects.create(user=ann, type=kind, data={"name": "blue key"})
    assert client.get(reverse("hosts")).status_code == 200


def test_recovery_codes_alone_are_no_factor(client: Client, ann: User) -> None:
    Authenticator.objects.create(user=ann, type=Authenticator.Type.RECOVERY_CODES, data={})
    assert place(client.get(reverse("hosts"))) == reverse("mfa_index")


def test_who_gives_the_factor_up_is_led_back_at_once(client: Client, ann: User) -> None:
    with_app(ann)
    assert client.get(reverse("hosts")).status_code == 200
    Authenticator.objects.all().delete()
    assert place(client.get(reverse("hosts"))) == reverse("mfa_index")


def test_customers_are_not_asked_for_one(client: Client) -> None:
    bob = make.user()
    make.customer().members.create(user=bob, role="owner")
    client.force_login(bob)
    assert client.get(reverse("my-volumes")).status_code == 200


def test_where_the_setting_relaxes_it_no_one_is_asked(
    client: Client, ann: User, settings: Settings
) -> None:
    settings.TIERCEL_STAFF_NEED_SECOND_FACTOR = False
    assert client.get(reverse("hosts")).status_code == 200


def test_strangers_are_sent_to_sign_in_and_links_with_a_token_open(client: Client) -> None:
    assert place(client.get(reverse("hosts"))).startswith(reverse("account_login"))
    assert client.get(reverse("invitation", args=["x" * 43])).status_code == 404


def test_a_token_of_the_api_works_without_and_the_session_does_not(
    client: Client, ann: User
) -> None:
    assert client.get(reverse("api-hosts")).status_code == 401
    _, text = api_tokens.issue(ann, name="backup", scopes=["read"], days=1)
    bearer = {"Authorization": f"Bearer {text}"}
    assert client.get(reverse("api-hosts"), headers=bearer).status_code == 200
    with_app(ann)
    assert client.get(reverse("api-hosts")).status_code == 200


def test_it_costs_one_query_and_customers_none(
    ann: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    bob = make.user()
    with django_assert_num_queries(1):
        assert second_factor.is_missing(ann)
    with django_assert_num_queries(0):
        assert not second_factor.is_missing(bob)
