"""Pages of people and customers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from panel.accounts import people
from panel.models import Invitation, SecurityEntry, SecurityKind, User
from storage.models import CachePlan, Customer, Member
from tests import make
from tests.proven import sign_in
from tests.scene import HOSTILE, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return make.staff_user("admin@example.org")


@pytest.fixture
def staff(client: Client, admin: User) -> Client:
    return sign_in(client, admin)


def page(client: Client, name: str, *args: object, **query: str) -> str:
    response = client.get(reverse(name, args=args), query)
    assert response.status_code == 200
    return response.content.decode()


def send(client: Client, name: str, /, *args: object, **data: object) -> Any:
    return client.post(reverse(name, args=args), data)


def link_in(response: Any) -> str:
    link = re.search(r"/invitation/[\w-]+", response.content.decode())
    assert link
    return link[0]


# People


def test_the_list_says_what_everybody_is(staff: Client) -> None:
    member = make.user("bob@example.org", name="Bob")
    make.customer("Acme").members.create(user=member, role="viewer")
    make.user("gone@example.org", is_active=False)
    text = page(staff, "people")
    for words in ("staff, admin", "viewer of", "Acme", "none (no access)", "deactivated"):
        assert words in text


@pytest.mark.parametrize("q", ["BOB", "acme", "Builder"])
def test_people_are_found_by_address_name_and_customer(staff: Client, q: str) -> None:
    member = make.user("bob@example.org", name="The Builder")
    make.customer("Acme").members.create(user=member)
    make.customer("Acme West").members.create(user=member)
    text = page(staff, "people", q=q)
    assert text.count(">bob@example.org<") == 1
    assert text.count("admin@example.org") == 1  # the account's menu


def test_an_invitation_shows_its_link_once_and_it_lets_the_person_in(staff: Client) -> None:
    acme = make.customer("Acme")
    data = {"email": "bob@example.org", "customer": acme.key, "member_role": "operator"}
    link = link_in(send(staff, "people", **data))
    assert link not in page(staff, "people")
    assert "bob@example.org, operator of Acme" in page(staff, "people")
    Client().post(link, {"name": "Bob", "password": "correct horse 9"})
    assert Member.objects.get(customer=acme, user__email="bob@example.org").role == "operator"


def test_an_invitation_into_the_staff(staff: Client) -> None:
    link = link_in(send(staff, "people", email="bob@example.org", staff_role="read_only"))
    Client().post(link, {"name": "Bob", "password": "correct horse 9"})
    assert User.objects.get(email="bob@example.org").staff_role == "read_only"


def test_an_invitation_is_to_the_staff_or_a_customer(staff: Client) -> None:
    both = {"staff_role": "admin", "customer": make.customer().key}
    for place in ({}, both):
        response = send(staff, "people", email="bob@example.org", **place)
        assert response.status_code == 422
        assert b"Choose either a staff role or a customer." in response.content
    assert not Invitation.objects.exists()


def test_who_is_there_already_is_not_invited(staff: Client) -> None:
    response = send(staff, "people", email="ADMIN@example.org", staff_role="operator")
    assert response.status_code == 422
    assert b"already has an account" in response.content


def test_the_page_says_whether_the_link_was_mailed(staff: Client) -> None:
    response = send(staff, "people", email="bob@example.org", staff_role="operator")
    assert b"send it yourself" in response.content
    with override_settings(SMTP_HOST="mail.example.org"):
        response = send(staff, "people", email="bob@example.org", staff_role="operator")
    assert b"The link was sent by e-mail" in response.content


def test_a_role_is_changed(staff: Client) -> None:
    bob = make.staff_user(staff_role="read_only")
    assert send(staff, "person-role", bob.pk, staff_role="operator").status_code == 302
    bob.refresh_from_db()
    assert bob.staff_role == "operator"


def test_the_last_admin_stays_admin_and_active(staff: Client, admin: User) -> None:
    make.staff_user(staff_role="operator")
    make.staff_user(is_active=False)
    assert "the last active admin" in page(staff, "person", admin.pk)
    for response in (
        send(staff, "person-role", admin.pk, staff_role="operator"),
        send(staff, "person-deactivate", admin.pk),
    ):
        assert response.status_code == 422
        assert b"is the last active admin" in response.content
    admin.refresh_from_db()
    assert (admin.staff_role, admin.is_active) == ("admin", True)


def test_one_of_two_admins_may_step_down(staff: Client, admin: User) -> None:
    make.staff_user()
    assert send(staff, "person-role", admin.pk, staff_role="read_only")["Location"] == "/"
    assert staff.get(reverse("people")).status_code == 403


def test_a_person_of_a_customer_is_not_made_staff_by_a_role(staff: Client) -> None:
    bob = make.user()
    assert send(staff, "person-role", bob.pk, staff_role="admin").status_code == 422
    bob.refresh_from_db()
    assert not bob.is_staff


def test_an_admin_signs_a_person_out_everywhere(staff: Client) -> None:
    bob = people.add(email="bob@example.org", password="correct horse 9", staff_role="operator")
    theirs = Client()
    theirs.force_login(bob)
    bob.usersession_set.create(session_key=theirs.session.session_key, ip="192.0.2.1")
    assert theirs.get(reverse("hosts")).status_code == 200
    assert send(staff, "person-signout", bob.pk).status_code == 302
    assert theirs.get(reverse("hosts")).status_code == 302
    assert staff.get(reverse("people")).status_code == 200


def test_a_deactivated_person_is_out_with_the_next_request(staff: Client) -> None:
    bob = people.add(email="bob@example.org", password="correct horse 9", staff_role="operator")
    theirs = Client()
    theirs.force_login(bob)
    assert theirs.get(reverse("hosts")).status_code == 200
    send(staff, "person-deactivate", bob.pk)
    assert theirs.get(reverse("hosts")).status_code == 302
    form = {"login": "bob@example.org", "password": "correct horse 9"}
    theirs.post(reverse("account_login"), form)
    assert theirs.get(reverse("hosts")).status_code == 302
    send(staff, "person-reactivate", bob.pk)
    theirs.post(reverse("account_login"), form)
    assert theirs.get(reverse("hosts")).status_code == 200


def test_a_new_password_by_link(staff: Client) -> None:
    bob = make.user("bob@example.org", password="old horse 99")
    link = link_in(send(staff, "person-password", bob.pk))
    Client().post(link, {"name": "Bob", "password": "correct horse 9"})
    bob.refresh_from_db()
    assert bob.check_password("correct horse 9")


def test_a_member_is_added_changed_and_removed(staff: Client) -> None:
    bob, acme = make.user(), make.customer("Acme")
    send(staff, "person-customers", bob.pk, customer=acme.key, role="viewer")
    member = Member.objects.get(user=bob, customer=acme)
    assert member.role == "viewer"
    send(staff, "member", member.pk, role="owner")
    member.refresh_from_db()
    assert member.role == "owner"
    assert send(staff, "member", member.pk, role="king").status_code == 422
    send(staff, "member", member.pk, remove="1")
    assert not Member.objects.exists()


def test_a_person_is_in_a_customer_once_and_staff_in_none(staff: Client, admin: User) -> None:
    bob, acme = make.user(), make.customer()
    acme.members.create(user=bob)
    for person in (bob, admin):
        data = {"customer": acme.key, "role": "owner"}
        assert send(staff, "person-customers", person.pk, **data).status_code == 422
    assert Member.objects.get().role == "viewer"


def test_names_are_shown_as_text(staff: Client) -> None:
    bob = make.user(name=HOSTILE)
    acme = make.customer(HOSTILE)
    acme.members.create(user=bob)
    pages: list[tuple[object, ...]] = [
        ("people",),
        ("person", bob.pk),
        ("customers",),
        ("customer", acme.key),
        ("customer-edit", acme.key),
    ]
    for name, *args in pages:
        assert HOSTILE not in page(staff, str(name), *args)


# Customers


def test_customers_are_counted(staff: Client) -> None:
    acme = make.customer("Acme")
    sold = CachePlan.objects.create(name="Fast", size_bytes=2**30, price_minor=0, currency="EUR")
    for carried in (sold, None, None):
        make.volume(customer=acme, size_bytes=2**30, cache_plan=carried)
    for _ in range(2):
        acme.members.create(user=make.user())
    make.customer("Empty")
    rows = [re.sub(r"<[^>]+>|\s+", " ", row) for row in page(staff, "customers").split("<tr>")]
    acme_row = next(row for row in rows if "Acme" in row)
    empty_row = next(row for row in rows if "Empty" in row)
    assert acme_row.split() == ["Acme", "-", "3", "1", "3", "GiB", "2"]
    assert empty_row.split()[:4] == ["Empty", "-", "0", "0"]
    assert "no users" in empty_row


def test_a_customers_page_lists_volumes_and_people(staff: Client) -> None:
    acme, there = make.customer("Acme"), scene(label="acme disk")
    there.volume.customer = acme
    there.volume.save()
    make.volume(label="other disk", customer=make.customer())
    acme.members.create(user=make.user("bob@example.org"), role="owner")
    text = page(staff, "customer", acme.key)
    assert "acme disk" in text
    assert "bob@example.org" in text
    assert "other disk" not in text


def test_a_customer_is_made_and_renamed(staff: Client) -> None:
    send(staff, "customer-new", name="Acme", external_id="c-1")
    acme = Customer.objects.get()
    send(staff, "customer-edit", acme.key, name="Acme West", external_id="")
    acme.refresh_from_db()
    assert (acme.name, acme.external_id) == ("Acme West", "")


def test_two_customers_do_not_share_an_external_id(staff: Client) -> None:
    send(staff, "customer-new", name="Acme", external_id="c-1")
    response = send(staff, "customer-new", name="Other", external_id="c-1")
    assert response.status_code == 422
    assert b"Another customer has this external id" in response.content


def test_empty_pages_teach(staff: Client) -> None:
    assert "Create a customer" in page(staff, "customers")
    acme = make.customer()
    text = page(staff, "customer", acme.key)
    assert "Adopt a volume" in text
    assert "Invite a user" in text


def test_a_link_that_waits_is_revoked_and_the_log_says_so(staff: Client) -> None:
    link = link_in(send(staff, "people", email="bob@example.org", staff_role="operator"))
    waiting = Invitation.objects.get()
    assert send(staff, "invitation-change", waiting.pk, revoke="1").status_code == 302
    assert Client().get(link).status_code == 404
    entry = SecurityEntry.objects.get(kind=SecurityKind.LINK_REVOKED)
    assert (entry.person, entry.detail) == ("bob@example.org", "staff, operator")
    assert send(staff, "invitation-change", waiting.pk, revoke="1").status_code == 404


def test_an_invitation_is_sent_anew_to_the_same_place_and_the_old_link_ends(staff: Client) -> None:
    acme = make.customer("Acme")
    asked = {"email": "bob@example.org", "customer": "Acme", "member_role": "viewer"}
    old = link_in(send(staff, "people", **asked))
    new = link_in(send(staff, "invitation-change", Invitation.objects.get().pk, resend="1"))
    assert Client().get(old).status_code == 404
    Client().post(new, {"name": "Bob", "password": "correct horse 9"})
    assert Member.objects.get(customer=acme).role == "viewer"
