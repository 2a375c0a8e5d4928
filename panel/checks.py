"""System checks of the panel's own settings; `manage.py check` runs them."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

MAKE_SECRETS = "run `manage.py secrets`, or set it in the environment"


@register(Tags.security)
def secrets_are_set(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Find secrets that are missing or too short."""
    found: list[CheckMessage] = []
    if len(settings.ENVIRONMENT.text("TIERCEL_SECRET_KEY")) < 50:
        found.append(Error("TIERCEL_SECRET_KEY is missing or short", MAKE_SECRETS, id="panel.E001"))
    if not settings.TIERCEL_HOST_KEYS_PUBLIC:
        found.append(
            Warning(
                "TIERCEL_HOST_KEYS_PUBLIC is missing: no host can be enrolled",
                MAKE_SECRETS,
                id="panel.W002",
            )
        )
    return found
