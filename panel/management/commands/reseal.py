"""`manage.py reseal`: the last step of changing TIERCEL_SECRET_KEY or the pair of the host keys."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from jobs.transport.key_encryption import CannotUnseal, seal, unseal
from panel.accounts.authentication import second_factor
from panel.models import AlertRoute
from storage.models import Host


class Command(BaseCommand):
    """Seal again all that is sealed in the database."""

    help = (
        "Seals second factors and the addresses of alert recipients with the newest"
        " TIERCEL_SECRET_KEY and, where this process has the secret half, the hosts' keys with"
        " TIERCEL_HOST_KEYS_PUBLIC."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Seal each kind as a whole; one with an unreadable value stays unchanged and is named."""
        self.stdout.write(f"second factors: {_factors()} sealed anew")
        self.stdout.write(f"addresses for alerts: {_alert_routes()} sealed anew")
        if not settings.TIERCEL_HOST_KEYS_SECRET:
            self.stdout.write("host keys: left, this process has no TIERCEL_HOST_KEYS_SECRET")
            return
        self.stdout.write(f"host keys: {_host_keys()} sealed anew")


@transaction.atomic
def _factors() -> int:
    rows = list(Authenticator.objects.select_for_update().exclude(type=Authenticator.Type.WEBAUTHN))
    for each in rows:
        try:
            each.data = second_factor.changed(
                each.data,
                lambda text: second_factor.seal(second_factor.unseal(text)),
            )
        except ValueError as error:
            raise CommandError(f"the second factor of {each.user}: {error}") from error
        each.save(update_fields=["data"])
    return len(rows)


@transaction.atomic
def _alert_routes() -> int:
    rows = list(AlertRoute.objects.select_for_update().exclude(url=""))
    for route in rows:
        try:
            for name in ("url", "secret"):
                if sealed := getattr(route, name):
                    setattr(route, name, second_factor.seal(second_factor.unseal(sealed)))
        except ValueError as error:
            raise CommandError(f"the address of {route.name}: {error}") from error
        route.save(update_fields=["url", "secret"])
    return len(rows)


@transaction.atomic
def _host_keys() -> int:
    rows = list(Host.objects.select_for_update().exclude(sealed_key=b""))
    for host in rows:
        try:
            host.sealed_key = seal(unseal(bytes(host.sealed_key)))
        except CannotUnseal as error:
            raise CommandError(f"the key of {host.name}: {error}") from error
        host.save(update_fields=["sealed_key"])
    return len(rows)
