"""`manage.py services start|stop|status`: the embedded PostgreSQL and Redis of this checkout."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panel.operations import local_services


class Command(BaseCommand):
    """Start, stop or list the embedded services. Needs no database."""

    help = "Starts, stops or lists the embedded PostgreSQL and Redis of this checkout."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """The one argument names the action."""
        parser.add_argument("action", choices=["start", "stop", "status"])

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        """Exit with 1 when a service fails, or when `status` finds one that does not answer."""
        services = local_services.every_service()
        try:
            if action == "start":
                local_services.start_services(services)
            elif action == "stop":
                local_services.stop(services)
            states = {service: service.is_running() for service in services}
        except local_services.ServiceError as error:
            raise CommandError(str(error)) from error
        for service, running in states.items():
            self.stdout.write(f"{service.name}: {'running' if running else 'stopped'}")
        if action == "start":
            self.stdout.write(f"sockets in {services[0].place.sockets}")
        if action == "status" and not all(states.values()):
            raise CommandError("not every service runs: `manage.py services start` starts them")
