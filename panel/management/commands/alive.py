"""`manage.py alive worker`: whether the worker, housekeeping, collector or beat of this machine,
or container, gives signs of life. Exit code 1 if not. For health checks."""

import socket
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs import standstill
from jobs.models import PartKind


class Command(BaseCommand):
    """Ask PostgreSQL for the signs of one part here."""

    help = "Says whether one of the panel's processes on this machine gives signs of life."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Which part, by its name in the Procfile."""
        parser.add_argument("kind", choices=PartKind.values)

    def handle(self, *args: Any, kind: str, **options: Any) -> None:
        """One word, and the exit code."""
        node = f"{kind}@{socket.gethostname()}"
        is_alive = standstill.is_alive(standstill.work_record(), node)
        self.stdout.write(f"{node} {'is alive' if is_alive else 'gives no sign of life'}")
        if not is_alive:
            sys.exit(1)
