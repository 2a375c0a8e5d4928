"""`manage.py after_restore`: pauses all jobs and reports what differs from the hosts."""

from typing import Any

from django.core.management.base import BaseCommand

from jobs.engine import restore_check
from panel.operations import backup


class Command(BaseCommand):
    """What follows a restore; run it where the worker runs, for it asks the hosts."""

    help = (
        "Pauses all jobs, marks unfinished jobs as needing attention, takes over the hosts and "
        "reports what they did since the backup. Safe to repeat."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the report."""
        differs = 0
        for line in (*restore_check.stop(), *restore_check.reconcile()):
            differs += not line.is_well
            self.stdout.write(f"{line.host}: {line.text}" if line.host else line.text)
        for held in (*backup.held_messages(), *backup.restored_access()):
            self.stdout.write(held)
        if differs:
            self.stdout.write(
                "Resolve these first. The pages of hosts and volumes show what differs."
            )
        self.stdout.write("Then press Resume all jobs on the Jobs page.")
