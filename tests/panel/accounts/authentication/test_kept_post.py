"""A POST that waits for a proof is done with the proof: what the page showed, once, and nothing
else."""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from panel.accounts.authentication import kept_post, protected_actions
from panel.accounts.authentication.kept_post import MARK
from panel.accounts.authentication.protected_actions import Demand
from panel.models import AlertRoute, ApiToken, User
from storage.models import Customer
from tests import make
from tests.panel.accounts.authentication.test_step_up import (
    PASSWORD,
    SECRET,
    app_code,
    signed_in,
)
from tests.panel.accounts.authentication.test_step_up import (
    _no_limits_of_other_tests as _no_limits_of_other_tests,
)
from tests.proven import is_asked, kept_fields

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return make.staff_user("admin@example.org", password=PASSWORD)


@pytest.fixture
def customer() -> Customer:
    return make.customer("Acme Ltd")


def suspend(customer: Customer) -> str:
    return reverse("customer-suspend", args=[customer.key])


def is_suspended(customer: Customer) -> bool:
    customer.refresh_from_db()
    return customer.suspended_at is not None


def proven(client: Client, path: str, page: Any, **proof: str) -> Any:
    """The page that asks, sent back with the proof."""
    given = {f"proof-{name}": text for name, text in (proof or {"password": PASSWORD}).items()}
    return client.post(path, {**kept_fields(page), **given})


def test_the_password_does_it_without_a_second_press(admin: User, customer: Customer) -> None:
    client, path = signed_in(admin), suspend(customer)
    page = client.post(path)
    assert is_asked(page) and not is_suspended(customer)
    text = page.content.decode()
    assert "Suspend or resume a customer" in text and "Acme Ltd" in text
    assert "This is done as soon as you confirm." in text
    answer = proven(client, path, page)
    assert answer["Location"] == reverse("customer", args=[customer.key])
    assert is_suspended(customer)


def test_every_value_of_the_form_comes_back_as_it_was_sent(admin: User) -> None:
    client, path = signed_in(admin), reverse("tokens")
    typed = {"name": 'a "b" <c> & ü', "scopes": ["read", "volumes:write"], "days": "7"}
    page = client.post(path, typed)
    assert kept_fields(page)["scopes"] == ["read", "volumes:write"]
    proven(client, path, page)
    token = ApiToken.objects.get()
    assert (token.name, sorted(token.scopes)) == (typed["name"], ["read", "volumes:write"])


def test_a_wrong_password_shows_the_page_again_with_all_kept(
    admin: User, customer: Customer
) -> None:
    client, path = signed_in(admin), suspend(customer)
    page = client.post(path, {"why": "unpaid"})
    again = proven(client, path, page, password="wrong")
    assert again.status_code == 422 and not is_suspended(customer)
    assert "Acme Ltd" in again.content.decode()
    assert kept_fields(again)["why"] == ["unpaid"]
    proven(client, path, again)
    assert is_suspended(customer)


def test_after_a_wrong_password_the_first_page_still_works(admin: User, customer: Customer) -> None:
    client, path = signed_in(admin), suspend(customer)
    page = client.post(path)
    proven(client, path, page, password="wrong")
    proven(client, path, page)
    assert is_suspended(customer)


def test_what_another_page_asked_for_does_not_run_on_the_owners_proof(
    admin: User, customer: Customer
) -> None:
    client = signed_in(admin)
    assert is_asked(client.post(suspend(customer)))  # a stranger at the open screen
    other = make.customer("Zebra")
    page = client.post(suspend(other))
    assert "Zebra" in page.content.decode() and "Acme" not in page.content.decode()
    proven(client, suspend(other), page)
    assert is_suspended(other) and not is_suspended(customer)


def test_nothing_of_it_is_in_the_session(admin: User) -> None:
    client = signed_in(admin)
    before = dict(client.session)
    client.post(reverse("tokens"), {"name": "nothing of this", "scopes": "read", "days": "7"})
    assert dict(client.session) == before


def test_fields_that_the_page_did_not_show_are_asked_for_anew(admin: User) -> None:
    client, path = signed_in(admin), reverse("tokens")
    page = client.post(path, {"name": "reader", "scopes": "read", "days": "7"})
    fields = {**kept_fields(page), "scopes": ["volumes:destroy"], "proof-password": PASSWORD}
    answer = client.post(path, fields)
    assert is_asked(answer) and "volumes:destroy" in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_a_page_is_of_its_address_and_its_person_alone(admin: User, customer: Customer) -> None:
    client, other = signed_in(admin), make.customer()
    fields = {**kept_fields(client.post(suspend(customer))), "proof-password": PASSWORD}
    assert is_asked(client.post(suspend(other), fields))
    boss = make.staff_user("boss@example.org", password=PASSWORD)
    assert is_asked(signed_in(boss).post(suspend(customer), fields))
    assert not is_suspended(customer) and not is_suspended(other)


def test_a_page_that_was_left_open_is_asked_for_anew(
    admin: User, customer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, path = signed_in(admin), suspend(customer)
    page = client.post(path)
    monkeypatch.setattr(kept_post, "KEPT_SECONDS", -1)
    assert is_asked(proven(client, path, page))
    assert not is_suspended(customer)


def test_a_page_that_is_sent_twice_does_it_once(admin: User) -> None:
    client, path = signed_in(admin), reverse("tokens")
    page = client.post(path, {"name": "once", "scopes": "read", "days": "7"})
    proven(client, path, page)
    again = proven(client, path, page)
    assert (again.status_code, again["Location"]) == (302, path)
    assert ApiToken.objects.count() == 1
    assert "This form was sent already and does not run twice." in client.get(path).content.decode()


def test_the_page_is_protected_like_any_form(admin: User, customer: Customer) -> None:
    client, path = Client(enforce_csrf_checks=True), suspend(customer)
    client.force_login(admin)
    form = client.get(reverse("customer", args=[customer.key])).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
    assert token is not None
    page = client.post(path, {"csrfmiddlewaretoken": token[1]})
    fields = {**kept_fields(page), "proof-password": PASSWORD}
    own = fields.pop("csrfmiddlewaretoken")
    assert client.post(path, fields).status_code == 403
    assert not is_suspended(customer)
    client.post(path, {**fields, "csrfmiddlewaretoken": own})
    assert is_suspended(customer)


def test_a_secret_is_in_no_page_and_the_page_says_that_it_is_typed_again(admin: User) -> None:
    client = signed_in(admin)
    data = {
        "name": "On call",
        "kind": "slack",
        "url": "https://hooks.example/T0P",
        "secret": "hush",
    }
    answer = client.post(reverse("alert-route-new"), data)
    assert answer.status_code == 302 and is_asked(answer)
    page = client.get(answer["Location"]).content.decode()
    assert "hush" not in page + answer["Location"] and "T0P" not in page + answer["Location"]
    assert "Enter them again afterwards." in page
    response = client.post(
        reverse("step-up"), {"next": reverse("alert-route-new"), "password": PASSWORD}
    )
    assert response["Location"] == reverse("alert-route-new")
    assert not AlertRoute.objects.exists()


SECRET_PAGES = [
    name
    for name, act in protected_actions.POLICY.items()
    if act.demand in (Demand.CHANGE, Demand.ALWAYS)
    and re.search("password|totp|webauthn|recovery|webhook$|webhook-new|alert-route(-new)?$", name)
    and name not in ("person-password", "mfa_edit_webauthn")
]


@pytest.mark.parametrize("name", [*SECRET_PAGES, "an unknown route"])
def test_what_may_be_typed_as_a_secret_is_declared(name: str) -> None:
    assert protected_actions.has_secrets(name)


def test_a_file_is_in_no_page(admin: User, customer: Customer) -> None:
    client, file = signed_in(admin), SimpleUploadedFile("a.csv", b"x")
    answer = client.post(suspend(customer), {"file": file})
    assert answer.status_code == 302 and is_asked(answer)


def test_the_code_of_an_app_does_it(admin: User, customer: Customer, settings: Settings) -> None:
    settings.MFA_TOTP_TOLERANCE = 1
    TOTP.activate(admin, SECRET)
    client, path = signed_in(admin), suspend(customer)
    page = client.post(path)
    assert proven(client, path, page, password=PASSWORD).status_code == 422
    proven(client, path, page, code=app_code())
    assert is_suspended(customer)


def test_a_mailed_code_does_it(customer: Customer, settings: Settings) -> None:
    settings.SMTP_HOST = "mail.example.org"
    admin = make.staff_user("boss@example.org")
    client, path = signed_in(admin), suspend(customer)
    page = client.post(path, {"why": "unpaid"})
    sent = proven(client, path, page, send="1")
    assert "six-digit code to boss@example.org" in sent.content.decode()
    assert kept_fields(sent)["why"] == ["unpaid"] and not is_suspended(customer)
    code = re.search(r"\b\d{6}\b", str(mail.outbox[-1].body))
    assert code is not None
    proven(client, path, sent, code=code[0])
    assert is_suspended(customer)


def test_what_cannot_be_named_is_pressed_again(admin: User) -> None:
    answer = signed_in(admin).post(suspend(Customer(key="a" * 16)))
    assert answer.status_code == 302 and is_asked(answer)


def test_a_part_of_a_page_is_sent_to_the_page_that_asks(admin: User, customer: Customer) -> None:
    answer = signed_in(admin).post(suspend(customer), headers={"HX-Request": "true"})
    assert answer.status_code == 403 and MARK not in answer.content.decode()
    assert answer["HX-Redirect"].startswith(reverse("step-up"))
