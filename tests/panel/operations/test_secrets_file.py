"""The secrets of a one-machine installation."""

import base64
import stat
from pathlib import Path

from nacl.public import PrivateKey, PublicKey, SealedBox

from panel.configuration.environment import read_env_file
from panel.management.commands import secrets


def test_the_file_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secrets.env"
    assert secrets.ensure(path)
    first = path.read_text()
    assert not secrets.ensure(path)
    assert path.read_text() == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_the_written_values_read_back(tmp_path: Path) -> None:
    path = tmp_path / "secrets.env"
    secrets.ensure(path)
    assert read_env_file(path).keys() == secrets.make_secrets().keys()


def test_the_secret_half_opens_what_the_public_half_seals() -> None:
    made = secrets.make_secrets()
    public = PublicKey(base64.urlsafe_b64decode(made["TIERCEL_HOST_KEYS_PUBLIC"]))
    secret = PrivateKey(base64.urlsafe_b64decode(made["TIERCEL_HOST_KEYS_SECRET"]))
    assert SealedBox(secret).decrypt(SealedBox(public).encrypt(b"a host key")) == b"a host key"


def test_two_installations_share_no_secret() -> None:
    assert not set(secrets.make_secrets().values()) & set(secrets.make_secrets().values())
