"""`manage.py backup FILE`: the database, and the secrets where asked for, in one file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panel.operations import backup


class Command(BaseCommand):
    """Back the panel up while it runs."""

    help = "Writes the database, and with --with-secrets its secrets, into one new file."

    def add_arguments(self, parser: CommandParser) -> None:
        """The file, and whether the secrets go with it."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--with-secrets",
            action="store_true",
            help="also the keys that open the hosts' SSH keys: guard the file like them",
        )

    def handle(self, *args: Any, file: Path, with_secrets: bool, **options: Any) -> None:
        """Write the file and say what is in it."""
        try:
            note = backup.make_backup(file.absolute(), with_secrets=with_secrets)
        except backup.BackupError as error:
            raise CommandError(str(error)) from None
        secrets = "with its secrets" if with_secrets else "without its secrets: keep those apart"
        self.stdout.write(f"{file}: the panel {note.panel}, {secrets}")
