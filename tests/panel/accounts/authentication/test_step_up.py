"""What costs or destroys takes a fresh proof of who sits there."""

from __future__ import annotations

import time
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.internal.userkit import user_id_to_str
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from jobs.models import Job, Kind
from panel.accounts import people
from panel.accounts.authentication import action_names, protected_actions, step_up
from panel.accounts.authentication.protected_actions import Demand
from panel.accounts.authentication.step_up import Way
from panel.models import User
from tests import make
from tests.proven import OF, is_asked, prove
from tests.scene import end, job, scene, step

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse 9"
SECRET = "JBSWY3DPEHPK3PXP"
BACK = "/my/"


@pytest.fixture(autouse=True)
def _no_limits_of_other_tests(settings: Settings) -> None:
    """Limits are counted in Redis, which all processes of the tests share: none of them is cleared
    here, and no other test clears ours."""
    memory = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": memory, "LOCATION": uuid.uuid4().hex}}


@pytest.fixture
def ann() -> User:
    """With a password and nothing else."""
    return people.add(email="ann@example.org", password=PASSWORD)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def app_code() -> str:
    """What the app shows now."""
    return format_hotp_value(hotp_value(SECRET, int(time.time()) // 30))


def send(client: Client, **data: str) -> Any:
    return client.post(reverse("step-up"), {"next": BACK, **data})


def is_proven(client: Client) -> bool:
    """Whether the next thing that costs would be done."""
    request: Any = client.get("/health").wsgi_request
    request.user = User.objects.get(pk=client.session["_auth_user_id"])
    return step_up.is_proven(request)


@pytest.mark.parametrize("name", ["reauthenticate", "reauthenticate-factor", "reauthenticate-key"])
def test_where_allauth_would_ask_in_its_own_way_our_page_asks(ann: User, name: str) -> None:
    response = signed_in(ann).get(reverse(name), {"next": BACK})
    place = urlsplit(response["Location"])
    assert (place.path, parse_qs(place.query)["next"]) == (reverse("step-up"), [BACK])


# --- What counts ---------------------------------------------------------------------------------


def test_the_last_proof_of_the_right_kind_counts() -> None:
    records = [
        {"method": "password", "at": 10.0},
        {"method": "mfa", "type": "totp", "at": 20.0},
        {"method": "mail_code", "at": 30.0},
        {"method": "login_link", "at": 40.0},
        {"method": "mfa", "type": "recovery_codes", "at": 25.0},
    ]
    assert step_up.proven_at(records, Way.PASSWORD) == 10
    assert step_up.proven_at(records, Way.FACTOR) == 25
    assert step_up.proven_at(records, Way.CODE) == 30
    assert step_up.proven_at(records[3:4], Way.CODE) is None
    assert step_up.proven_at([], Way.PASSWORD) is None


@pytest.mark.parametrize(("age", "counts"), [(0, True), (290, True), (310, False), (-310, False)])
def test_a_proof_ages(ann: User, age: float, counts: bool) -> None:
    assert is_proven(prove(signed_in(ann), ann, age=age)) is counts


def test_the_age_is_a_setting(ann: User, settings: Settings) -> None:
    settings.TIERCEL_STEP_UP_SECONDS = 20
    assert not is_proven(prove(signed_in(ann), ann, age=30))


def test_a_password_is_no_proof_of_who_has_a_second_factor(ann: User) -> None:
    client = prove(signed_in(ann), ann, "password")
    TOTP.activate(ann, SECRET)
    assert not is_proven(client)
    assert is_proven(prove(client, ann, "mfa", type="totp"))


def test_recovery_codes_alone_are_no_factor_so_the_password_is_asked(ann: User) -> None:
    Authenticator.objects.create(user=ann, type=Authenticator.Type.RECOVERY_CODES, data={})
    assert step_up.way_of(ann) is Way.PASSWORD


def test_a_proof_of_another_person_in_this_browser_does_not_count(ann: User) -> None:
    client = prove(signed_in(ann), ann)
    session = client.session
    session[OF] = user_id_to_str(make.user())
    session.save()
    assert not is_proven(client)


def test_signing_in_with_the_password_counts(ann: User, client: Client) -> None:
    client.post(reverse("account_login"), {"login": ann.email, "password": PASSWORD})
    assert is_proven(client)


# --- The page ------------------------------------------------------------------------------------


def test_the_password_leads_back_and_nothing_was_done(ann: User) -> None:
    client = signed_in(ann)
    page = client.get(reverse("step-up"), {"next": BACK}).content.decode()
    assert "Nothing has been changed and nothing was charged" in page
    assert "Your password" in page
    response = send(client, password=PASSWORD)
    assert (response.status_code, response["Location"]) == (302, BACK)
    assert is_proven(client)


def test_a_wrong_password_proves_nothing(ann: User) -> None:
    client = signed_in(ann)
    assert send(client, password="wrong").status_code == 422
    assert not is_proven(client)


def test_guessing_the_password_is_stopped(ann: User) -> None:
    client = signed_in(ann)
    for _ in range(12):
        response = send(client, password="wrong")
    assert "Too many" in response.content.decode()
    assert send(client, password=PASSWORD).status_code == 422


def test_with_an_app_only_its_code_counts(ann: User, settings: Settings) -> None:
    # The next half-minute may begin before the code is looked at.
    settings.MFA_TOTP_TOLERANCE = 1
    TOTP.activate(ann, SECRET)
    client = signed_in(ann)
    page = client.get(reverse("step-up")).content.decode()
    assert "authenticator app" in page and "Your password" not in page
    assert send(client, password=PASSWORD).status_code == 422
    assert not is_proven(client)
    assert send(client, code=app_code())["Location"] == BACK
    assert is_proven(client)


def test_a_recovery_code_stands_in_for_the_app(ann: User) -> None:
    TOTP.activate(ann, SECRET)
    code = RecoveryCodes.activate(ann).get_unused_codes()[0]
    client = signed_in(ann)
    assert send(client, code=code).status_code == 302
    assert is_proven(client)
    assert send(client, code=code).status_code == 422


def test_with_a_security_key_the_page_asks_the_browser_for_it(
    ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    Authenticator.objects.create(user=ann, type="webauthn", data={"name": "blue key"})
    options = {"publicKey": {"challenge": "abc"}}
    monkeypatch.setattr(
        "panel.accounts.authentication.step_up.begin_authentication", lambda user: options
    )
    page = signed_in(ann).get(reverse("step-up")).content.decode()
    assert "Use a security key" in page and "authenticateForm" in page
    assert send(signed_in(ann), credential="{}").status_code == 422


@pytest.mark.parametrize(
    "next_", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "my/", ""]
)
def test_it_leads_to_no_other_site(ann: User, next_: str) -> None:
    assert send(signed_in(ann), password=PASSWORD, next=next_)["Location"] == "/"


def test_a_proof_that_is_too_old_is_spoken_of(ann: User) -> None:
    client = prove(signed_in(ann), ann, age=1860)
    text = client.get(reverse("step-up")).content.decode()
    assert "You last signed in or confirmed your identity more than 5 minutes ago." in text


def test_a_part_of_a_page_sends_the_whole_page_there(ann: User) -> None:
    request: Any = signed_in(ann).get("/my/", headers={"HX-Request": "true"}).wsgi_request
    request.user = ann
    response = step_up.ask_for_proof(request)
    assert response.status_code == 403
    assert response["HX-Redirect"].startswith(reverse("step-up"))


# --- What it guards ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "verb"),
    [(Kind.DESTROY_VOLUME, "volume.destroy"), (Kind.DROP_CACHE, "cache.drop")],
)
def test_no_volume_is_destroyed_and_no_lost_cache_given_up_without_one(
    client: Client, kind: Kind, verb: str
) -> None:
    admin = make.staff_user()
    client.force_login(admin)
    preview = job(scene(), kind=kind, dry_run=True)
    step(preview, verb=verb)
    end(preview)
    response = client.post(reverse("preview-apply", args=[preview.key]))
    assert is_asked(response)
    assert f'href="{reverse("job", args=[preview.key])}"' in response.content.decode()
    assert not Job.objects.filter(dry_run=False).exists()
    prove(client, admin)
    assert not is_asked(client.post(reverse("preview-apply", args=[preview.key])))


def test_the_page_says_for_what_it_asks(ann: User) -> None:
    client = signed_in(ann)
    for name, action in (("host-new", "Add a host"), ("tokens", "API tokens")):
        page = client.get(reverse("step-up"), {"next": f"{reverse(name)}?name=x"})
        assert f"To continue with “{action}”, please confirm" in page.content.decode()
    assert "This action costs money" in client.get(reverse("step-up")).content.decode()


def test_every_page_that_a_proof_leads_back_to_is_named() -> None:
    for name, act in protected_actions.POLICY.items():
        if act.demand in (Demand.CHANGE, Demand.ALWAYS):
            assert (act.list_ or act.back or name) in action_names.NAMES, name
