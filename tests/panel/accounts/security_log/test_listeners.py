"""Who comes in, and what changes about who may, is written down; the owner is notified."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY, TOTP, format_hotp_value, hotp_value
from allauth.usersessions.models import UserSession
from django.core import mail
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from panel.accounts import api_tokens, invitations, people
from panel.accounts.security_log import background_mail
from panel.models import ApiToken, SecurityEntry, SecurityKind, User
from storage.access import StaffRole
from tests import make
from tests.proven import sign_in

pytestmark = pytest.mark.django_db

PASSWORD, ANOTHER = "correct horse 9", "another horse 9"
SECRET = "JBSWY3DPEHPK3PXP"
Capture = Callable[..., AbstractContextManager[Any]]


@pytest.fixture(autouse=True)
def _mail_and_limits_of_its_own(settings: Settings) -> None:
    settings.SMTP_HOST = "mail.example.org"
    memory = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": memory, "LOCATION": uuid.uuid4().hex}}


@pytest.fixture
def ann() -> User:
    return people.add(email="ann@example.org", password=PASSWORD)


@pytest.fixture
def hers(client: Client, ann: User) -> Client:
    return sign_in(client, ann)


def written() -> list[tuple[str, str, str]]:
    """Kind, person and detail, the oldest first."""
    rows = SecurityEntry.objects.order_by("id").values_list("kind", "person", "detail")
    return list(rows)


def notified() -> list[tuple[str, str]]:
    """To whom, and about what."""
    background_mail.POST.submit(int).result()
    letters = [each for each in mail.outbox if "If this was you" in str(each.body)]
    return [(each.to[0], each.subject.removeprefix("[Tiercel] ")) for each in letters]


def enter(client: Client, address: str = "ann@example.org", password: str = PASSWORD) -> Any:
    return client.post(reverse("account_login"), {"login": address, "password": password})


# --- Coming in ------------------------------------------------------------------------------------


def test_a_sign_in_is_written_with_what_was_shown_and_from_where(client: Client, ann: User) -> None:
    enter(client)
    assert written() == [("signed_in", ann.email, "password")]
    entry = SecurityEntry.objects.get()
    assert (entry.actor, entry.address) == (ann.email, "127.0.0.1")


def test_a_wrong_password_is_written(client: Client, ann: User) -> None:
    enter(client, password="wrong")
    assert written() == [("failed", ann.email, "password")]
    assert SecurityEntry.objects.get().actor == ""


def test_what_was_typed_as_an_address_is_kept_nowhere(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    enter(client, "hunter2-typed-here@example.net", "x")
    assert written() == [("failed", "", "password")]
    assert "hunter2" not in caplog.text


def test_a_wrong_code_is_written(client: Client, ann: User) -> None:
    TOTP.activate(ann, SECRET)
    enter(client)
    client.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert written() == [("failed", ann.email, "second factor")]


def test_a_lock_out_is_recorded_and_mailed_once(client: Client, ann: User) -> None:
    for _ in range(8):
        enter(client, password="wrong")
    kinds = [kind for kind, _, _ in written()]
    assert kinds == ["failed"] * 5 + ["locked_out"]
    assert notified() == [
        (ann.email, "Sign-in to your account was blocked after too many failed attempts")
    ]


def test_a_lock_out_from_many_addresses_is_one_mail(ann: User) -> None:
    for n in range(3):
        elsewhere = Client(REMOTE_ADDR=f"203.0.113.{n}", HTTP_USER_AGENT="Unlock: https://evil/")
        for _ in range(8):
            enter(elsewhere, password="wrong")
    assert [kind for kind, _, _ in written()].count("locked_out") == 3
    assert len(notified()) == 1
    assert "evil" not in str(mail.outbox[0].body)


def test_so_is_one_of_the_second_factor(client: Client, ann: User) -> None:
    TOTP.activate(ann, SECRET)
    enter(client)
    for _ in range(8):
        client.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert written()[-1] == ("locked_out", ann.email, "second factor")
    assert len(notified()) == 1


def test_a_flood_of_failures_does_not_fill_the_disk(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("panel.accounts.security_log.security_entries.MOST_A_MINUTE", 3)
    monkeypatch.setattr(
        "panel.accounts.authentication.throttle.LIMITS",
        {"network": "", "here": "", "everywhere": ""},
    )
    for _ in range(9):
        enter(client, "stranger@example.net")
    assert len(written()) <= 6


def test_a_flood_of_unknown_names_hides_no_guess_at_a_known_one(
    client: Client, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("panel.accounts.security_log.security_entries.MOST_A_MINUTE", 0)
    enter(client, "stranger@example.net")
    monkeypatch.setattr("panel.accounts.security_log.security_entries.MOST_A_MINUTE", 1)
    enter(client, "stranger@example.net")
    enter(client, password="wrong")
    assert written() == [("failed", ann.email, "password")]


# --- One's own keys -------------------------------------------------------------------------------


def test_a_new_password_is_recorded_and_mailed(hers: Client, ann: User) -> None:
    new = {"oldpassword": PASSWORD, "password1": ANOTHER, "password2": ANOTHER}
    hers.post(reverse("account_change_password"), new)
    assert written() == [("password", ann.email, "")]
    assert notified() == [(ann.email, "The password of your account was changed")]
    assert "127.0.0.1" in str(mail.outbox[0].body)


def test_a_new_factor_is_mailed_and_ends_the_other_sessions(
    hers: Client, ann: User, django_capture_on_commit_callbacks: Capture
) -> None:
    other = Client()
    other.force_login(ann)
    key = other.session.session_key
    UserSession.objects.create(user=ann, session_key=key, ip="203.0.113.7")
    session = hers.session
    session[SECRET_SESSION_KEY] = SECRET
    session.save()
    code = format_hotp_value(hotp_value(SECRET, int(time.time()) // 30))
    with django_capture_on_commit_callbacks(execute=True):
        assert hers.post(reverse("mfa_activate_totp"), {"code": code}).status_code == 302
    assert Authenticator.objects.filter(type="totp").exists()
    assert {kind for kind, _, _ in written()} == {"factor_added", "session_ended"}
    assert notified() == [(ann.email, "A second factor was added to your account")]
    assert other.get(reverse("sessions")).status_code == 302
    assert hers.get(reverse("sessions")).status_code == 200


def test_a_removed_factor_is_mailed(hers: Client, ann: User) -> None:
    TOTP.activate(ann, SECRET)
    proven = hers.session
    proven["account_authentication_methods"] = [
        {"method": "mfa", "type": "totp", "at": time.time()}
    ]
    proven.save()
    hers.post(reverse("mfa_deactivate_totp"))
    assert written() == [("factor_removed", ann.email, "TOTP Authenticator")]
    assert notified() == [(ann.email, "A second factor was removed from your account")]


def test_both_addresses_are_notified_of_another_main_one(hers: Client, ann: User) -> None:
    EmailAddress.objects.create(user=ann, email="ann@home.example", verified=True)
    form = {"action_primary": "", "email": "ann@home.example"}
    hers.post(reverse("account_email"), form)
    assert [detail for _, _, detail in written()] == ["ann@home.example is the main one"]
    assert {to for to, _ in notified()} == {"ann@example.org", "ann@home.example"}


def test_an_address_that_is_added_or_removed_is_mailed(hers: Client, ann: User) -> None:
    hers.post(reverse("account_email"), {"action_add": "", "email": "thief@example.net"})
    assert notified() == [(ann.email, "An e-mail address of your account was changed")]
    assert "added thief@example.net" in written()[-1]
    hers.post(reverse("account_email"), {"action_remove": "", "email": "thief@example.net"})
    assert "removed thief@example.net" in written()[-1]


def test_tokens_are_recorded_and_mailed(hers: Client, ann: User) -> None:
    hers.post(reverse("tokens"), {"name": "billing", "scopes": "read", "days": "9"})
    token = ApiToken.objects.get()
    assert written() == [("token_made", ann.email, f"billing ({token.key}) for read")]
    assert notified() == [(ann.email, "An API token was created for your account")]
    hers.post(reverse("token-revoke", args=[token.key]))
    assert written()[-1] == ("token_revoked", ann.email, f"billing ({token.key})")


def test_of_many_scopes_whole_ones_are_recorded_and_how_many_more(ann: User) -> None:
    scopes = api_tokens.scopes_of(ann)
    token, _ = api_tokens.issue(ann, name="n" * 64, scopes=scopes, days=9)
    listed, more = written()[-1][2].removeprefix(f"{'n' * 64} ({token.key}) for ").split(" and ")
    shown = listed.split(", ")
    assert set(shown) <= set(scopes)
    assert more == f"{len(scopes) - len(shown)} more"


def test_a_password_by_a_link_ends_the_tokens(ann: User) -> None:
    api_tokens.issue(ann, name="old", scopes=["read"], days=9)
    _, link = invitations.to_new_password(ann, None)
    answer = Client().post(reverse("invitation", args=[link]), {"name": "Ann", "password": ANOTHER})
    assert answer.status_code == 302
    assert ApiToken.objects.get().revoked_at is not None
    assert ("password", ann.email, "a new password; 1 API tokens revoked") in written()


def test_so_does_one_by_a_mailed_link(client: Client, ann: User) -> None:
    api_tokens.issue(ann, name="old", scopes=["read"], days=9)
    client.post(reverse("account_reset_password"), {"email": ann.email})
    background_mail.POST.submit(int).result()
    body = str(next(each.body for each in mail.outbox if "password/reset/key" in str(each.body)))
    path = next(word for word in body.split() if "password/reset/key" in word).partition("8000")[2]
    place = client.get(path)["Location"]
    client.post(place, {"password1": ANOTHER, "password2": ANOTHER})
    ann.refresh_from_db()
    assert ann.check_password(ANOTHER)
    assert ApiToken.objects.get().revoked_at is not None


# --- Other people ---------------------------------------------------------------------------------


def test_what_an_admin_changes_names_both(client: Client, ann: User) -> None:
    boss = make.staff_user("boss@example.org")
    bob = make.staff_user("bob@example.org", staff_role=StaffRole.OPERATOR)
    sign_in(client, boss)
    client.post(reverse("person-role", args=[bob.pk]), {"staff_role": "read_only"})
    client.post(reverse("person-deactivate", args=[bob.pk]))
    client.post(reverse("person-reactivate", args=[bob.pk]))
    client.post(reverse("person-password", args=[bob.pk]))
    customer = make.customer("Acme")
    member = {"customer": customer.name, "role": "viewer"}
    client.post(reverse("person-customers", args=[ann.pk]), member)
    pk = ann.memberships.get().pk
    client.post(reverse("member", args=[pk]), {"role": "owner"})
    client.post(reverse("member", args=[pk]), {"remove": ""})
    assert written() == [
        ("role", bob.email, "staff, read-only"),
        ("deactivated", bob.email, ""),
        ("reactivated", bob.email, ""),
        ("link_made", bob.email, "a new password"),
        ("role", ann.email, "viewer of Acme"),
        ("role", ann.email, "owner of Acme"),
        ("role", ann.email, "removed from Acme"),
    ]
    assert set(SecurityEntry.objects.values_list("actor", flat=True)) == {boss.email}
    assert [to for to, _ in notified()] == [bob.email] * 3 + [ann.email] * 3


def test_without_a_mail_server_it_is_written_all_the_same(
    hers: Client, ann: User, settings: Settings
) -> None:
    settings.SMTP_HOST = ""
    hers.post(reverse("tokens"), {"name": "billing", "scopes": "read", "days": "9"})
    assert len(written()) == 1
    assert notified() == []


def test_the_database_refuses_to_change_or_delete_an_entry(ann: User) -> None:
    SecurityEntry.objects.create(kind=SecurityKind.ROLE, person=ann.email, at=timezone.now())
    for sql in ("UPDATE panel_securityentry SET person = ''", "DELETE FROM panel_securityentry"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)
    assert SecurityEntry.objects.count() == 1
