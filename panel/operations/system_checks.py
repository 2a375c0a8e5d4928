"""System checks of the panel's own settings; `manage.py check` runs them."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from panel.deliveries.http_post import Forbidden, target_of
from panel.deliveries.signature import is_secret

MAKE_SECRETS = "run `manage.py secrets`, or set it in the environment"


@register(Tags.security)
def secrets_are_set(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Find secrets that are missing or too short."""
    messages: list[CheckMessage] = []
    if len(settings.ENVIRONMENT.text("TIERCEL_SECRET_KEY")) < 50:
        messages.append(
            Error("TIERCEL_SECRET_KEY is missing or short", MAKE_SECRETS, id="panel.E001")
        )
    if not settings.TIERCEL_HOST_KEYS_PUBLIC:
        messages.append(
            Warning(
                "TIERCEL_HOST_KEYS_PUBLIC is missing: no host can be enrolled",
                MAKE_SECRETS,
                id="panel.W002",
            )
        )
    return messages


NO_SUPPORT = (
    "Customers may order, and many sentences tell them to contact support: set "
    "TIERCEL_SUPPORT_EMAIL or TIERCEL_SUPPORT_URL."
)


def customers_reach_support() -> bool:
    """Whether customers who may order have a support contact."""
    is_selling = settings.TIERCEL_CUSTOMERS_MAY_ORDER
    return bool(not is_selling or settings.TIERCEL_SUPPORT_EMAIL or settings.TIERCEL_SUPPORT_URL)


@register()
def support_is_named(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Find a shop without a support contact."""
    return [] if customers_reach_support() else [Warning(NO_SUPPORT, id="panel.W005")]


@register(Tags.security)
def billing_can_be_asked(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Find an address that nothing may be sent to, and secrets that sign nothing."""
    messages: list[CheckMessage] = []
    url = settings.TIERCEL_BILLING_URL
    if url:
        try:
            target_of(url, settings.TIERCEL_BILLING_PRIVATE_HOSTS)
        except Forbidden as forbidden:
            hint = str(forbidden)
            messages.append(Error("TIERCEL_BILLING_URL cannot be used", hint, id="panel.E003"))
    for name, is_needed in (
        ("TIERCEL_BILLING_SECRETS", bool(url)),
        ("TIERCEL_BILLING_IN_SECRETS", False),
    ):
        secrets = getattr(settings, name)
        if (is_needed and not secrets) or not all(map(is_secret, secrets)):
            hint = "whsec_ and base64 of 24 to 64 random bytes; two with a comma while one changes"
            messages.append(Error(f"{name} is missing or holds no secret", hint, id="panel.E004"))
    return messages
