"""One-time links: the first admin, the staff, customers, new passwords."""

from __future__ import annotations

import logging
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.test import Client, override_settings
from django.urls import reverse

from panel.accounts import invitations, people
from panel.configuration.log_redaction import TokenFilter
from panel.models import Invitation, User
from storage.access import MemberRole, StaffRole
from storage.planner import Refused
from tests import make

pytestmark = pytest.mark.django_db

GOOD = {"name": "Ann", "password": "correct horse 9"}


def said(*command: str) -> str:
    output = StringIO()
    call_command(*command, stdout=output)
    return output.getvalue().strip()


def path_of(link: str) -> str:
    return "/" + link.split("/", 3)[3]


def take_up(link: str, client: Client | None = None, **fields: str) -> Any:
    return (client or Client()).post(path_of(link), {**GOOD, **fields})


def test_the_first_admin_chooses_a_password_and_is_signed_in(client: Client) -> None:
    response = take_up(said("first_admin", "ann@example.org"), client)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.get(reverse("people")).status_code == 200
    ann = User.objects.get()
    assert (ann.email, ann.name, ann.staff_role) == ("ann@example.org", "Ann", "admin")


def test_the_first_admin_signs_in_again_with_that_password(client: Client) -> None:
    take_up(said("first_admin", "ann@example.org"))
    form = {"login": "ann@example.org", "password": GOOD["password"]}
    assert client.post(reverse("account_login"), form)["Location"] == "/"


def test_a_link_works_once() -> None:
    link = said("first_admin", "ann@example.org")
    take_up(link)
    response = take_up(link, password="another horse 9")
    assert response.status_code == 404
    assert b"no longer works" in response.content
    assert User.objects.get().check_password(GOOD["password"])


def test_looking_at_a_link_does_not_use_it_up(client: Client) -> None:
    link = said("first_admin", "ann@example.org")
    for _ in range(2):
        assert b"ann@example.org" in client.get(path_of(link)).content
    assert take_up(link).status_code == 302


def test_a_link_is_dead_after_its_time() -> None:
    link = said("first_admin", "ann@example.org")
    Invitation.objects.update(expires_at=Now() - timedelta(seconds=1))
    assert take_up(link).status_code == 404
    assert not User.objects.exists()


def test_the_first_admins_link_lives_for_an_hour_at_most() -> None:
    made, _ = invitations.to_first_admin("ann@example.org")
    assert made.expires_at - made.created_at == timedelta(hours=1)


def test_a_guessed_link_leads_nowhere(client: Client) -> None:
    assert client.get(reverse("invitation", args=["x" * 43])).status_code == 404


@pytest.mark.parametrize("password", ["short", "password123", "ann@example.org", ""])
def test_a_weak_password_is_refused_and_the_link_stays(password: str) -> None:
    link = said("first_admin", "ann@example.org")
    assert take_up(link, password=password).status_code == 422
    assert not User.objects.exists()
    assert take_up(link).status_code == 302


def test_there_is_no_second_first_admin() -> None:
    make.staff_user()
    with pytest.raises(CommandError, match="already an active admin"):
        call_command("first_admin", "eve@example.org")


def test_operators_and_deactivated_admins_do_not_stand_in_the_way() -> None:
    make.staff_user(staff_role="operator")
    make.staff_user(is_active=False)
    assert "/invitation/" in said("first_admin", "ann@example.org")


def test_force_gives_an_admin_a_new_password_and_access() -> None:
    ann = people.add(email="ann@example.org", password="forgotten 99", staff_role="admin")
    make.staff_user()
    people.deactivate(ann, ann)
    assert take_up(said("first_admin", "ANN@example.org", "--force")).status_code == 302
    ann.refresh_from_db()
    assert ann.is_active
    assert ann.check_password(GOOD["password"])
    assert User.objects.filter(email__iexact="ann@example.org").count() == 1


def test_the_command_refuses_what_is_no_address() -> None:
    with pytest.raises(CommandError, match="not an e-mail address"):
        call_command("first_admin", "ann")


def test_the_command_invites_into_the_staff() -> None:
    take_up(said("invite", "bob@example.org", "--staff", "operator"))
    assert User.objects.get().staff_role == StaffRole.OPERATOR


def test_the_command_invites_into_a_customer_by_key_or_external_id() -> None:
    acme = make.customer("Acme")
    acme.external_id = "c-17"
    acme.save()
    take_up(said("invite", "bob@example.org", "--customer", acme.key, "--member", "viewer"))
    take_up(said("invite", "cat@example.org", "--customer", "c-17"))
    roles = {str(member.user): member.role for member in acme.members.all()}
    assert roles == {"bob@example.org": "viewer", "cat@example.org": "owner"}
    assert not User.objects.exclude(staff_role="").exists()


def test_the_command_names_a_customer_it_does_not_know() -> None:
    make.customer()
    for name in ("unknown", ""):
        with pytest.raises(CommandError, match="No customer"):
            call_command("invite", "bob@example.org", "--customer", name)


def test_a_known_address_is_not_invited_again() -> None:
    make.user("bob@example.org")
    with pytest.raises(Refused, match="already has an account"):
        invitations.to_staff("BOB@example.org", StaffRole.ADMIN, None)


def test_an_invitation_of_a_person_who_joined_meanwhile_is_refused() -> None:
    _, token = invitations.to_staff("bob@example.org", StaffRole.ADMIN, None)
    make.user("bob@example.org")
    assert take_up(invitations.link(token)).status_code == 422
    assert User.objects.get().staff_role == ""


def test_a_second_link_replaces_the_first() -> None:
    first = said("invite", "bob@example.org", "--staff", "admin")
    second = said("invite", "Bob@example.org", "--staff", "read_only")
    assert take_up(first).status_code == 404
    take_up(second)
    assert User.objects.get().staff_role == StaffRole.READ_ONLY


def test_a_new_password_changes_nothing_else() -> None:
    acme, bob = make.customer(), make.user("bob@example.org", password="old horse 99")
    acme.members.create(user=bob, role=MemberRole.OPERATOR)
    _, token = invitations.to_new_password(bob, None)
    take_up(invitations.link(token))
    bob.refresh_from_db()
    assert bob.check_password(GOOD["password"])
    assert (bob.staff_role, bob.memberships.get().role) == ("", "operator")


def test_who_may_not_sign_in_gets_no_new_password() -> None:
    with pytest.raises(Refused, match="is deactivated"):
        invitations.to_new_password(make.user(is_active=False), None)


def test_a_deactivated_person_with_an_open_link_stays_outside(client: Client) -> None:
    bob = make.user("bob@example.org")
    _, token = invitations.to_new_password(bob, None)
    people.deactivate(bob, make.staff_user())
    take_up(invitations.link(token), client)
    assert client.get(reverse("home"))["Location"].startswith(reverse("account_login"))


def test_no_token_is_stored_or_logged(caplog: pytest.LogCaptureFixture, client: Client) -> None:
    caplog.handler.addFilter(TokenFilter())
    with caplog.at_level(logging.DEBUG):
        _, token = invitations.to_staff("bob@example.org", StaffRole.ADMIN, None)
        client.get(reverse("invitation", args=[token + "x"]))
        client.put(reverse("invitation", args=[token]))
    assert "/invitation/***" in caplog.text
    assert token not in caplog.text
    assert token not in str(Invitation.objects.values().get())


def test_the_link_is_mailed_where_a_mail_server_is_set() -> None:
    made, token = invitations.to_staff("bob@example.org", StaffRole.ADMIN, None)
    assert not invitations.mail_invitation(made, token)
    with override_settings(SMTP_HOST="mail.example.org"):
        assert invitations.mail_invitation(made, token)
    (sent,) = mail.outbox
    assert sent.to == ["bob@example.org"]
    assert invitations.link(token) in sent.body


@override_settings(SMTP_HOST="mail.example.org")
def test_a_new_person_of_a_customer_is_invited_in_every_language() -> None:
    made, token = invitations.to_customer(
        "bob@example.org", make.customer(), MemberRole.OWNER, None
    )
    assert invitations.mail_invitation(made, token)
    (sent,) = mail.outbox
    assert sent.subject == "Your access to Tiercel / Ihr Zugang zu Tiercel"
    assert sent.body.count(invitations.link(token)) == 2
    assert "(owner of " in sent.body
    assert "Sie sind zu Tiercel eingeladen (Inhaber bei " in sent.body
    assert "until " in sent.body and " UTC" in sent.body


@override_settings(SMTP_HOST="mail.example.org")
def test_who_reads_german_gets_the_link_to_a_new_password_in_german() -> None:
    made, token = invitations.to_new_password(make.user(language="de"), None)
    assert invitations.mail_invitation(made, token)
    sent = mail.outbox[-1]
    assert sent.subject == "Ihr neues Passwort für Tiercel"
    assert sent.body.startswith("Mit diesem Link wählen Sie ein neues Passwort")


def test_an_invitation_leads_to_one_place() -> None:

    for fields in ({}, {"staff_role": "admin", "customer": make.customer()}):
        with pytest.raises(IntegrityError, match="one_place"), transaction.atomic():
            Invitation.objects.create(
                digest="x", email="bob@example.org", expires_at=Now(), **fields
            )


def test_who_has_just_chosen_a_password_is_not_asked_for_it_again(client: Client) -> None:
    take_up(said("first_admin", "ann@example.org"), client)
    assert client.get(reverse("host-new")).status_code == 200
    form = {"email": "bob@example.org", "staff_role": "operator"}
    assert client.post(reverse("people"), form).status_code == 200
