"""What every template may ask for."""

from django.conf import settings
from django.http import HttpRequest


def notice(request: HttpRequest) -> dict[str, str]:
    """Return `notice`, the text shown on every page ('' for none)."""
    return {"notice": settings.TIERCEL_NOTICE}
