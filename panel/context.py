"""What every template may ask for."""

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from storage.access import Right, may


def notice(request: HttpRequest) -> dict[str, str]:
    """Return `notice`, the text shown on every page ('' for none)."""
    return {"notice": settings.TIERCEL_NOTICE}


def rights(request: HttpRequest) -> dict[str, bool]:
    """Return `may_operate` and `may_administer`: what the staff role of the person allows. Pages
    of errors have no person."""
    user = getattr(request, "user", AnonymousUser())
    return {
        "may_operate": may(user, Right.OPERATE),
        "may_administer": may(user, Right.ADMINISTER),
    }
