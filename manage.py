#!/usr/bin/env python
"""Django's command line. The commands that make, copy or empty tables connect as their owner."""

import os
import sys

OWNER_COMMANDS = {"migrate", "flush", "backup", "restore"}


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
    if len(sys.argv) > 1 and sys.argv[1] in OWNER_COMMANDS:
        os.environ["TIERCEL_DB_ROLE"] = "owner"

    from django.core.management import execute_from_command_line

    from storage import row_security

    # Requests to a development server stand within walls of their own all the same.
    row_security.open_process()

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
