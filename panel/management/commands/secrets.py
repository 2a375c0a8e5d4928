"""`manage.py secrets`: creates `var/secrets.env` once. `--print`: new values, to change a
secret."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from panel.operations import secrets_file


class Command(BaseCommand):
    """Make the secrets file of a one-machine installation."""

    help = "Makes var/secrets.env, unless it is there."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to print instead."""
        parser.add_argument("--print", action="store_true", help="print fresh values instead")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file and say where it lies."""
        if options["print"]:
            self.stdout.write(secrets_file.lines(), ending="")
            return
        path = settings.BASE_DIR / "var" / "secrets.env"
        made = secrets_file.ensure(path)
        self.stdout.write(f"{path}: {'made' if made else 'kept'}")
