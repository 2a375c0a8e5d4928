"""Host keys at rest."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from jobs import transport
from jobs.transport.key_encryption import CannotUnseal, seal, unseal
from panel.management.commands import secrets
from tests import make


def test_what_is_sealed_comes_back_only_with_the_secret(settings: Settings) -> None:
    private_key, public_key = transport.new_key_pair()
    sealed = seal(private_key)
    assert private_key not in sealed
    assert b"OPENSSH" not in sealed
    assert unseal(sealed) == private_key
    assert public_key.startswith("ssh-ed25519 ")
    settings.TIERCEL_HOST_KEYS_SECRET = ""
    seal(private_key)
    with pytest.raises(CannotUnseal, match="cannot read host keys"):
        unseal(sealed)


def test_a_key_of_another_installation_says_so(settings: Settings) -> None:
    sealed = seal(b"key")
    settings.TIERCEL_HOST_KEYS_SECRET = secrets.make_secrets()["TIERCEL_HOST_KEYS_SECRET"]
    with pytest.raises(CannotUnseal) as caught:
        unseal(sealed)
    assert "TIERCEL_HOST_KEYS_SECRET" in caught.value.correction


@pytest.mark.django_db
def test_a_process_without_the_secret_opens_no_connection(settings: Settings) -> None:
    host = make.host(sealed_key=seal(b"key"), host_key=transport.new_key_pair()[1])
    settings.TIERCEL_HOST_KEYS_SECRET = ""
    with pytest.raises(CannotUnseal):
        transport.call(host, "hello")
