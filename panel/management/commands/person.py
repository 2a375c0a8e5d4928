"""`manage.py person EMAIL`: create a user. Sign-up is closed."""

import getpass
import secrets
import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email

from panel.accounts import people
from panel.models import User
from storage.access import StaffRole


class Command(BaseCommand):
    """Add a person."""

    help = "Adds a person who may sign in. Without a terminal a password is made and printed."

    def add_arguments(self, parser: CommandParser) -> None:
        """An address, and what the person is."""
        parser.add_argument("email")
        parser.add_argument("--name", default="")
        parser.add_argument(
            "--staff", choices=list(StaffRole), default="", help="role in the provider's staff"
        )

    def handle(self, *args: Any, email: str, name: str, staff: str, **options: Any) -> None:
        """Ask for the password, or make one."""
        try:
            validate_email(email)
        except ValidationError as error:
            raise CommandError(f"{email!r} is no e-mail address") from error
        if User.objects.filter(email__iexact=email).exists():
            raise CommandError(f"{email} already exists; the person can request a new password")
        typed = getpass.getpass("Password (empty: make one): ") if sys.stdin.isatty() else ""
        password = typed or secrets.token_urlsafe(12)
        people.add(email=email, password=password, name=name, staff_role=staff)
        self.stdout.write(f"{email} can sign in" + ("" if typed else f" with {password}"))
