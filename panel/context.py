"""What every template may ask for."""

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from jobs.models import Halt
from storage.access import Right, is_staff, may


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


def halt(request: HttpRequest) -> dict[str, Halt | None]:
    """Return `halt`, the global stop while there is one; for staff."""
    if not is_staff(getattr(request, "user", AnonymousUser())):
        return {"halt": None}
    return {"halt": Halt.objects.select_related("actor").first()}
