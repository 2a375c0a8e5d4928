"""What a thief gains with an unattended session, with the password alone, or with a look at mail:
nothing that lasts."""

from __future__ import annotations

import uuid

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.core import mail
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from jobs.hosts import enrolment
from jobs.models import State
from panel.accounts import people
from panel.accounts.authentication.second_factor import seal
from panel.models import AlertRoute, ApiToken, Invitation, User, Webhook
from storage.access import StaffRole
from storage.models import CachePlan, Customer, Host
from tests import make
from tests.proven import is_asked, kept_fields, prove
from tests.scene import job, scene

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse 9"
SECRET = "JBSWY3DPEHPK3PXP"
OLD = 8 * 60


@pytest.fixture(autouse=True)
def _no_limits_of_other_tests(settings: Settings) -> None:
    memory = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": memory, "LOCATION": uuid.uuid4().hex}}


@pytest.fixture
def boss() -> User:
    """An admin with a password and an authenticator app."""
    user = people.add(email="boss@example.org", password=PASSWORD, staff_role=StaffRole.ADMIN)
    TOTP.activate(user, SECRET)
    return user


@pytest.fixture
def left_alone(boss: User) -> Client:
    """Their browser: signed in with both, eight minutes ago."""
    client = Client()
    client.force_login(boss)
    prove(client, boss, "password", age=OLD)
    return prove(client, boss, "mfa", age=OLD, type="totp")


# --- The password alone, in a session ------------------------------------------------------------


def test_the_password_alone_neither_shows_nor_renews_recovery_codes(left_alone: Client) -> None:
    left_alone.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    assert is_asked(left_alone.get(reverse("mfa_view_recovery_codes")))
    assert is_asked(left_alone.post(reverse("mfa_generate_recovery_codes")))
    assert not Authenticator.objects.filter(type="recovery_codes").exists()


def test_the_password_alone_does_not_take_the_second_factor_off(left_alone: Client) -> None:
    left_alone.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    assert is_asked(left_alone.post(reverse("mfa_deactivate_totp")))
    assert Authenticator.objects.filter(type="totp").exists()


def test_the_password_alone_adds_no_key(left_alone: Client) -> None:
    left_alone.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    assert is_asked(left_alone.get(reverse("mfa_add_webauthn")))


@pytest.mark.parametrize(
    "name", ["account_reauthenticate", "mfa_reauthenticate", "mfa_reauthenticate_webauthn"]
)
def test_there_is_one_page_that_asks_for_a_proof(left_alone: Client, name: str) -> None:
    assert left_alone.post(reverse(name), {"password": PASSWORD}).status_code == 405
    response = left_alone.get(f"{reverse(name)}?next=/people/")
    assert is_asked(response)
    assert "next=%2Fpeople%2F" in response["Location"]


# --- A session without a recent proof ---------------------------------------------------------


def test_an_old_proof_does_not_allow_invitations(left_alone: Client) -> None:
    data = {"email": "thief@example.net", "staff_role": "admin"}
    assert is_asked(left_alone.post(reverse("people"), data))
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("name", ["job-resume", "job-rollback", "job-resolve"])
@pytest.mark.parametrize("kind", ["destroy-volume", "drop-cache"])
def test_an_old_proof_carries_on_nothing_that_destroys(
    left_alone: Client, name: str, kind: str
) -> None:
    stuck = job(scene(), kind=kind, state=State.NEEDS_ATTENTION, error={"code": "x"})
    assert is_asked(left_alone.post(reverse(name, args=[stuck.key]), {"why": "Done by hand."}))
    stuck.refresh_from_db()
    assert stuck.state == State.NEEDS_ATTENTION


def test_an_old_proof_takes_no_way_of_alerts_or_events_away(left_alone: Client) -> None:
    route = AlertRoute.objects.create(name="On call", kind="slack", url=seal("https://a.example/"))
    hook = Webhook.objects.create(name="Scripts", url=seal("https://b.example/"), secret=seal("x"))
    assert is_asked(left_alone.post(reverse("alert-route-delete", args=[route.key])))
    assert is_asked(left_alone.post(reverse("webhook-delete", args=[hook.key])))
    assert is_asked(left_alone.post(reverse("no-alert-recipients")))
    assert AlertRoute.objects.exists() and Webhook.objects.exists()


def test_an_old_proof_makes_no_token(left_alone: Client) -> None:
    data = {"name": "x", "scopes": "volumes:write", "days": "366"}
    assert is_asked(left_alone.post(reverse("tokens"), data))
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("person-password", {}),
        ("person-role", {"staff_role": "admin"}),
        ("person-deactivate", {}),
        ("person-signout", {}),
        ("person-reactivate", {}),
        ("person-customers", {"role": "owner"}),
    ],
)
def test_an_old_proof_changes_no_person(
    left_alone: Client, name: str, data: dict[str, str]
) -> None:
    other = make.staff_user("other@example.org", staff_role=StaffRole.OPERATOR)
    response = left_alone.post(reverse(name, args=[other.pk]), data)
    assert is_asked(response)
    assert f'href="/people/{other.pk}/"' in response.content.decode()
    other.refresh_from_db()
    assert (other.staff_role, other.is_active) == (StaffRole.OPERATOR, True)
    assert not Invitation.objects.exists()


def test_an_old_proof_changes_no_membership(left_alone: Client) -> None:
    member = make.customer().members.create(user=make.user(), role="viewer")
    assert is_asked(left_alone.post(reverse("member", args=[member.pk]), {"role": "owner"}))
    member.refresh_from_db()
    assert member.role == "viewer"


def test_an_old_proof_adds_and_accepts_no_host(left_alone: Client) -> None:
    data = {"name": "web9", "address": "198.51.100.9"}
    assert is_asked(left_alone.post(reverse("host-new"), data))
    assert not Host.objects.exists()
    host = make.host(state="unverified")
    assert is_asked(left_alone.post(reverse("host-accept", args=[host.key]), {"fingerprint": "x"}))
    assert is_asked(left_alone.post(reverse("host-enrol", args=[host.key])))


def test_an_old_proof_is_shown_no_line_that_enrols(left_alone: Client, boss: User) -> None:
    host, token = enrolment.begin_enrolment("web9", "198.51.100.9")
    page = left_alone.get(reverse("host-enrol", args=[host.key])).content.decode()
    assert token not in page
    assert reverse("step-up") in page
    prove(left_alone, boss, "mfa", type="totp")
    assert token in left_alone.get(reverse("host-enrol", args=[host.key])).content.decode()


def test_an_old_proof_neither_sells_nor_authorises(left_alone: Client) -> None:
    customer = make.customer()
    Customer.objects.filter(pk=customer.pk).update(suspended_at="2026-01-01T00:00:00Z")
    for name in ("customer-mandate", "customer-unsuspend", "customer-suspend"):
        assert is_asked(left_alone.post(reverse(name, args=[customer.key]), {"currency": "EUR"}))
    customer.refresh_from_db()
    assert customer.suspended_at is not None
    plan = CachePlan.objects.create(name="Fast", size_bytes=2**30, price_minor=1, currency="EUR")
    for name in ("cache-plan", "cache-plan-offer", "cache-plan-delete"):
        assert is_asked(left_alone.post(reverse(name, args=[plan.key])))
    assert is_asked(left_alone.post(reverse("cache-plan-new")))


def test_a_form_is_shown_without_a_proof_and_done_with_it(left_alone: Client) -> None:
    assert left_alone.get(reverse("host-new")).status_code == 200
    typed = {"name": "web9", "address": "198.51.100.9"}
    kept = kept_fields(left_alone.post(reverse("host-new"), typed))
    assert (kept["name"], kept["address"]) == (["web9"], ["198.51.100.9"])
    assert not Host.objects.exists()


# --- Addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["action_add", "action_remove", "action_primary", "action_send"])
def test_an_old_proof_changes_no_address(left_alone: Client, boss: User, action: str) -> None:
    EmailAddress.objects.create(user=boss, email="boss@home.example", verified=True)
    email = "thief@example.net" if action == "action_add" else "boss@home.example"
    assert is_asked(left_alone.post(reverse("account_email"), {action: "", "email": email}))
    kept = set(EmailAddress.objects.values_list("email", "primary"))
    assert kept == {("boss@example.org", True), ("boss@home.example", False)}
    assert mail.outbox == []


def test_an_old_proof_changes_no_password(left_alone: Client, boss: User) -> None:
    new = {"oldpassword": PASSWORD, "password1": "another horse 9", "password2": "another horse 9"}
    assert is_asked(left_alone.post(reverse("account_change_password"), new))
    boss.refresh_from_db()
    assert boss.check_password(PASSWORD)
