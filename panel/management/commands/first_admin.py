"""`manage.py first_admin EMAIL`: how the first person gets in."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panel import invitation
from storage.plan import Refused


class Command(BaseCommand):
    """Print the link to an admin's account."""

    help = (
        "Print a link that makes this person an admin; it works once, for an hour. With --force it "
        "also gives an existing admin a new password."
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
            _, token = invitation.to_first_admin(email, force=force)
        except Refused as refused:
            raise CommandError(f"{refused.message} {refused.correction}") from None
        self.stdout.write(invitation.link(token))
