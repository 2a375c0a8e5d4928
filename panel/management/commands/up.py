"""`manage.py up`: the panel on one machine with production settings, until Ctrl-C."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from panel.operations import doctor, local_services, supervisor


class Command(BaseCommand):
    """Services, migrations, static files, then the Procfile."""

    help = "Runs the whole panel on this machine, on loopback, until Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        """Only the port can be chosen here; all else is in the environment."""
        parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "8000")))

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        """Start everything in order and stop what was started in the reverse order."""
        if not supervisor.is_free(port):
            raise CommandError(f"something listens on port {port}: stop it, or choose PORT=")
        if not os.environ.get("TIERCEL_PUBLIC_URL"):
            local_services.here().remember_port(port)
        # A shell that starts a script in the background makes it ignore Ctrl-C.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt)
        try:
            with ExitStack() as stack:
                services = local_services.wanted(os.environ)
                started = local_services.start_services(services)
                stack.callback(local_services.stop, started)
                self.prepare()
                running = stack.enter_context(supervisor.Processes(os.environ, port))
                running.wait_healthy()
                for line in doctor.report_lines(doctor.examine(patience_seconds=30)):
                    self.stdout.write(line)
                self.stdout.write(f"Tiercel answers at http://localhost:{port} (Ctrl-C stops it)")
                self.stdout.flush()
                running.keep(services)
        except KeyboardInterrupt:
            self.stdout.write("stopped")
        except (local_services.ServiceError, supervisor.ProcessesError) as error:
            raise CommandError(str(error)) from error

    def prepare(self) -> None:
        """Migrate as the owner and collect the static files."""
        # This command has run the checks.
        for command in (["migrate", "--skip-checks"], ["collectstatic", "--no-input"]):
            # A process each: the owner's role is chosen when the settings are read.
            done = subprocess.run(
                [sys.executable, "manage.py", *command, "--verbosity=0"],
                cwd=settings.BASE_DIR,
                check=False,
            )
            if done.returncode:
                raise CommandError(f"manage.py {command[0]} failed; its lines above say why")


def interrupt(number: int, frame: FrameType | None) -> None:
    """Treat either signal as Ctrl-C."""
    raise KeyboardInterrupt
