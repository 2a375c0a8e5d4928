"""`manage.py secrets`: make `var/secrets.env` once."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from panel import secrets


class Command(BaseCommand):
    """Make the secrets file of a one-machine installation."""

    help = "Makes var/secrets.env, unless it is there."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file and say where it lies."""
        path = settings.BASE_DIR / "var" / "secrets.env"
        made = secrets.ensure(path)
        self.stdout.write(f"{path}: {'made' if made else 'kept'}")
