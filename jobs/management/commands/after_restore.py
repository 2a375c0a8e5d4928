"""`manage.py after_restore`: nothing goes on by itself, and what differs from the hosts is told."""

from typing import Any

from django.core.management.base import BaseCommand

from jobs import restored


class Command(BaseCommand):
    """What follows a restore; run it where the worker runs, for it asks the hosts."""

    help = (
        "Stops all jobs, puts unfinished ones before a person, takes the hosts over and reports "
        "what they were told since the backup. Safe to be repeated."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the report."""
        differs = 0
        for line in (*restored.stop(), *restored.reconcile()):
            differs += not line.is_well
            self.stdout.write(f"{line.host}: {line.text}" if line.host else line.text)
        if differs:
            self.stdout.write("Settle these first; pages of hosts and volumes show what differs.")
        self.stdout.write("Then let jobs go on: the button on the Jobs page.")
