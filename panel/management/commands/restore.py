"""`manage.py restore FILE`: restores a backup into an empty panel."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panel.operations import backup


class Command(BaseCommand):
    """Put a backup into an empty panel."""

    help = "Restores a backup into an empty panel, which then starts with all jobs paused."

    def add_arguments(self, parser: CommandParser) -> None:
        """The file, and whether only its secrets are printed."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--print-secrets",
            action="store_true",
            help="restore nothing; print the secrets in the file, for var/secrets.env",
        )
        parser.add_argument(
            "--keep-tokens",
            action="store_true",
            help="let API tokens of the backup work, also those that were revoked since",
        )

    def handle(
        self, *args: Any, file: Path, print_secrets: bool, keep_tokens: bool, **options: Any
    ) -> None:
        """Restore, and say what comes next."""
        try:
            if print_secrets:
                lines = backup.secrets_in(file)
                if not lines:
                    raise CommandError(f"{file} was made without the secrets")
                self.stdout.write(lines, ending="")
                return
            note = backup.restore(file, keeps_tokens=keep_tokens)
        except backup.BackupError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Restored the panel {note.panel} as it was at {note.made_at}.")
        for line in (*backup.held_messages(), *backup.restored_access()):
            self.stdout.write(line)
        self.stdout.write("All jobs are paused. Next: manage.py after_restore")
