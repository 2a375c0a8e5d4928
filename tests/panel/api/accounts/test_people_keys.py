"""People, members and invitations have keys that say nothing; the numbers that these were at first
are understood until the next version."""

from __future__ import annotations

import pytest

from storage.models import Member
from tests import make
from tests.panel.api.asking import Program, problem, staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Program:
    return staff()


def test_a_person_is_named_by_a_key_that_is_no_count(admin: Program) -> None:
    person = make.user("ann@example.org")
    by_key = admin.get(f"/people/{person.key}").json()
    assert (by_key["key"], by_key["url"]) == (person.key, f"/api/v1/people/{person.key}")
    assert not by_key["key"].isdigit()
    assert admin.get(f"/people/{person.pk}").json() == by_key
    problem(admin.get("/people/aaaaaaaaaaaaaaaa"), 404, "not_found")


def test_a_member_names_person_and_customer_in_one_way(admin: Program) -> None:
    customer = make.customer("Acme")
    made = admin.send(
        "post",
        f"/customers/{customer.key}/members",
        {"email": make.user("ann@example.org").email, "role": "owner"},
    )
    member = Member.objects.get()
    assert made["Location"] == f"/api/v1/members/{member.key}"
    shown = admin.get(f"/members/{member.key}").json()
    assert shown["customer"]["name"] == "Acme"
    assert {"key", "url", "name", "email"} == set(shown["person"])
    assert admin.get(f"/members/{member.pk}").json() == shown
    [listed] = admin.get(f"/customers/{customer.key}/members").json()["items"]
    assert listed == shown


def test_an_invitation_is_revoked_by_its_key(admin: Program) -> None:
    made = admin.send("post", "/invitations/", {"email": "n@example.org", "staff_role": "operator"})
    path = made["Location"].removeprefix("/api/v1")
    assert path == f"/invitations/{made.json()['key']}"
    [listed] = admin.get("/invitations/").json()["items"]
    assert listed["key"] == made.json()["key"] and not listed["key"].isdigit()
    assert admin.send("delete", path).status_code == 204
    assert admin.get("/invitations/").json()["items"] == []
