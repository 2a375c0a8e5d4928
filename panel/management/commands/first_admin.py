"""`manage.py first_admin EMAIL`: prints a link that makes the person an admin."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panel.accounts import invitations
from storage.planner import Refused


class Command(BaseCommand):
    """Print the link to an admin's account."""

    help = (
        "Print a link that makes this person an admin. It works once, within an hour. With "
        "--force, the link also resets the password of an existing admin."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """An address."""
        parser.add_argument("email")
        parser.add_argument(
            "--force", action="store_true", help="even though there is an active admin"
        )

    def handle(self, *args: Any, email: str, force: bool, **options: Any) -> None:
        """Make the link."""
        try:
            _, token = invitations.to_first_admin(email, force=force)
        except Refused as refused:
            raise CommandError(f"{refused.message} {refused.correction}") from None
        self.stdout.write(invitations.link(token))
