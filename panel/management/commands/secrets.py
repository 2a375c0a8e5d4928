"""`manage.py secrets`: creates `var/secrets.env` once, readable by its owner only. `--print`: new
values, to change a secret.
"""

import base64
import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from nacl.public import PrivateKey

HEADER = "# Secrets of this panel. Keep a copy: without them no stored host key can be read.\n"


def make_secrets() -> dict[str, str]:
    """Return fresh values for every secret setting.

    The host-key halves are X25519 keys (libsodium sealed boxes) in URL-safe base64.
    """
    host_keys = PrivateKey.generate()
    return {
        "TIERCEL_SECRET_KEY": secrets.token_urlsafe(64),
        "TIERCEL_HOST_KEYS_PUBLIC": base64.urlsafe_b64encode(bytes(host_keys.public_key)).decode(),
        "TIERCEL_HOST_KEYS_SECRET": base64.urlsafe_b64encode(bytes(host_keys)).decode(),
    }


def lines() -> str:
    """Fresh values for every secret setting, as the file has them."""
    return "".join(f"{name}={value}\n" for name, value in make_secrets().items())


def ensure(path: Path) -> bool:
    """Write the secrets file unless it is there; say whether it was made now."""
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    text = HEADER + lines()
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    try:
        path.hardlink_to(draft)  # unlike a rename, never replaces what another process made
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


class Command(BaseCommand):
    """Make the secrets file of a one-machine installation."""

    help = "Makes var/secrets.env, unless it is there."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to print instead."""
        parser.add_argument("--print", action="store_true", help="print fresh values instead")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file and print its path."""
        if options["print"]:
            self.stdout.write(lines(), ending="")
            return
        path = settings.BASE_DIR / "var" / "secrets.env"
        made = ensure(path)
        self.stdout.write(f"{path}: {'made' if made else 'kept'}")
