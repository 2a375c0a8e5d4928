"""Second factors lie sealed, outlive a change of the secret key, and are never made of junk."""

from __future__ import annotations

import time
from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from jobs.transport.key_encryption import CannotUnseal, seal, unseal
from panel.accounts import api_tokens, people
from panel.accounts.authentication import second_factor
from panel.management.commands import secrets
from panel.models import User
from tests import make
from tests.panel.deliveries.alerts.alert_messages import SECRET as WEBHOOK_SECRET
from tests.panel.deliveries.alerts.alert_messages import route_to

pytestmark = pytest.mark.django_db

SECRET = "JBSWY3DPEHPK3PXP"
NEW_KEY = "another-secret-key-" * 4


@pytest.fixture
def ann(settings: Settings) -> User:
    settings.MFA_TOTP_TOLERANCE = 1
    return people.add(email="ann@example.org", password="correct horse 9")


def is_right(user: User) -> bool:
    """Whether the app's digits of now are taken."""
    cache.clear()
    digits = format_hotp_value(hotp_value(SECRET, int(time.time()) // 30))
    return TOTP(Authenticator.objects.get(user=user, type="totp")).validate_code(digits)


def test_the_database_holds_no_factor_that_can_be_used(ann: User) -> None:
    TOTP.activate(ann, SECRET)
    codes = RecoveryCodes.activate(ann).get_unused_codes()
    kept = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert SECRET not in kept and kept.count(second_factor.MARK) == 2
    assert not any(code in kept for code in codes)
    assert is_right(ann)
    assert RecoveryCodes.activate(ann).validate_code(codes[3])


def test_each_secret_of_a_factor_is_changed_and_nothing_else() -> None:
    data = {"secret": "a", "seed": "b", "migrated_codes": ["c", "d"], "used_mask": 0}
    assert second_factor.changed(data, str.upper) == {
        "secret": "A",
        "seed": "B",
        "migrated_codes": ["C", "D"],
        "used_mask": 0,
    }


@pytest.mark.parametrize("kept", [SECRET, "", "sealed:", "sealed:AAAA", "sealed:?"])
def test_what_was_not_sealed_here_is_no_factor(ann: User, kept: str) -> None:
    Authenticator.objects.create(user=ann, type="totp", data={"secret": kept})
    with pytest.raises(ValidationError, match="cannot be read"):
        is_right(ann)
    client = Client()
    form = {"login": ann.email, "password": "correct horse 9"}
    client.post(reverse("account_login"), form)
    answer = client.post(reverse("mfa_authenticate"), {"code": "123456"})
    assert "cannot be read" in answer.content.decode()


def test_the_secret_key_is_changed_and_the_old_one_given_up(ann: User, settings: Settings) -> None:
    TOTP.activate(ann, SECRET)
    _, text = api_tokens.issue(ann, name="x", scopes=["read"], days=1)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = NEW_KEY
    assert is_right(ann)
    assert api_tokens.recognise(text) is not None
    call_command("reseal", stdout=StringIO())
    settings.SECRET_KEY_FALLBACKS = []
    assert is_right(ann)
    assert api_tokens.recognise(text) is not None


def test_addresses_and_secrets_of_alerts_outlive_a_change_of_the_key(settings: Settings) -> None:
    route = route_to("https://hooks.example.org/T0")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = NEW_KEY
    call_command("reseal", stdout=StringIO())
    settings.SECRET_KEY_FALLBACKS = []
    route.refresh_from_db()
    opened = second_factor.unseal(route.url), second_factor.unseal(route.secret)
    assert opened == ("https://hooks.example.org/T0", WEBHOOK_SECRET)


def test_without_the_old_key_nothing_is_changed_and_it_is_said(
    ann: User, settings: Settings
) -> None:
    TOTP.activate(ann, SECRET)
    before = Authenticator.objects.get().data
    settings.SECRET_KEY = NEW_KEY
    with pytest.raises(CommandError, match=r"ann@example\.org: it was sealed with another"):
        call_command("reseal", stdout=StringIO())
    assert Authenticator.objects.get().data == before


def test_the_pair_of_the_host_keys_is_changed(settings: Settings) -> None:
    host = make.host(sealed_key=seal(b"a private key"))
    made = secrets.make_secrets()
    settings.TIERCEL_HOST_KEYS_SECRET_FALLBACKS = [settings.TIERCEL_HOST_KEYS_SECRET]
    settings.TIERCEL_HOST_KEYS_SECRET = made["TIERCEL_HOST_KEYS_SECRET"]
    settings.TIERCEL_HOST_KEYS_PUBLIC = made["TIERCEL_HOST_KEYS_PUBLIC"]
    assert unseal(bytes(host.sealed_key)) == b"a private key"
    call_command("reseal", stdout=StringIO())
    settings.TIERCEL_HOST_KEYS_SECRET_FALLBACKS = []
    host.refresh_from_db()
    assert unseal(bytes(host.sealed_key)) == b"a private key"
    with pytest.raises(CannotUnseal):
        unseal(seal(b"x")[:-1])


def test_a_process_without_the_secret_half_leaves_the_host_keys(settings: Settings) -> None:
    settings.TIERCEL_HOST_KEYS_SECRET = ""
    output = StringIO()
    call_command("reseal", stdout=output)
    assert "host keys: left" in output.getvalue()


def test_fresh_values_are_printed_and_written_nowhere() -> None:
    output = StringIO()
    call_command("secrets", print=True, stdout=output)
    names = [line.partition("=")[0] for line in output.getvalue().splitlines()]
    assert names == list(secrets.make_secrets())
