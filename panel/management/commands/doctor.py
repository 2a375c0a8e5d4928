"""`manage.py doctor`: checks the panel itself. Exit code 1 if there is a problem."""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from panel.operations import doctor


class Command(BaseCommand):
    """Examine the panel."""

    help = "Checks the panel itself and says how to fix each problem."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Text for people, JSON for programs; --only serves the health checks of containers."""
        parser.add_argument("--json", action="store_true")
        parser.add_argument("--only", action="append", choices=list(doctor.CHECKS), default=[])

    def handle(self, *args: Any, json: bool, only: list[str], **options: Any) -> None:
        """Print one finding a line."""
        findings = list(doctor.examine(only or doctor.CHECKS))
        if json:
            self.stdout.write(dump(findings))
        else:
            for line in doctor.report_lines(findings):
                self.stdout.write(line)
        if not all(finding.is_ok for finding in findings):
            sys.exit(1)


def dump(findings: list[doctor.Finding]) -> str:
    """Return the findings as a JSON list."""
    return json.dumps([{**asdict(finding), "ok": finding.is_ok} for finding in findings], indent=1)
