"""`manage.py token EMAIL --name N --scopes read,volumes:write`: a token for automation."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError

from panel.accounts import api_tokens
from panel.models import Scope, User


class Command(BaseCommand):
    """Make an API token and print it, once."""

    help = "Prints a new API token of a person. It is shown only this once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose, what for and how long."""
        parser.add_argument("email")
        parser.add_argument("--name", default="manage.py")
        parser.add_argument(
            "--scopes", default=str(Scope.READ), help=f"comma-separated: {', '.join(Scope.values)}"
        )
        parser.add_argument("--days", type=int, default=api_tokens.DEFAULT_DAYS)

    def handle(
        self, *args: Any, email: str, name: str, scopes: str, days: int, **options: Any
    ) -> None:
        """Print the token alone, so that a shell can take it."""
        try:
            user = User.objects.filter(email__iexact=email, is_active=True).first()
        except ProgrammingError:
            raise CommandError(
                "The database of this checkout has no tables. A demo has a database of its own: "
                "make the token on its page /tokens/."
            ) from None
        if user is None:
            raise CommandError(f"{email} has no account here")
        scope_names = [scope.strip() for scope in scopes.split(",")]
        try:
            _, text = api_tokens.issue(user, name=name[:64], scopes=scope_names, days=days)
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(text)
