"""One-time links with which a billing panel sends its customer directly to one of the customer's
pages.

The database keeps only the token's digest. Opening a link shows a button and does not use it up, so
that a mail scanner cannot use it; pressing the button does. Such a link never counts as a proof of
identity (`panel.accounts.authentication.step_up`), and does not work for staff.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from datetime import timedelta
from http import HTTPStatus
from urllib.parse import urlsplit

from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from panel.accounts.authentication.step_up import LINK
from panel.accounts.security_log import security_entries
from panel.models import LoginLink, SecurityKind, User
from storage.planner import Refused

log = logging.getLogger(__name__)

SECONDS = 60
MOST_SECONDS = 600
PAGES = ("my-volumes", "my-volume", "my-plan")
"""Where a link may lead."""
KEPT = timedelta(days=1)


def make_link(user: User, next_path: str, seconds: int = SECONDS) -> str:
    """The address that signs the person in once, within `seconds` (1 to `MOST_SECONDS`), and leads
    to `next_path`. Raises `Refused` for staff, for an account that may not sign in, and for a page
    outside `PAGES`."""
    if user.staff_role or user.is_superuser:
        raise Refused(
            "not_allowed",
            "Staff cannot sign in with a link.",
            "Staff must sign in on the sign-in page.",
        )
    if not user.is_active:
        raise Refused(
            "not_active", f"{user.email} is deactivated.", "Reactivate the account first."
        )
    if not leads(next_path):
        raise Refused(
            "bad_request",
            f"A link cannot lead to {next_path[:80]!r}.",
            "Lead to /my/, a volume's page or its plans.",
        )
    if not 1 <= seconds <= MOST_SECONDS:
        raise Refused(
            "bad_request",
            "The lifetime of the link is out of range.",
            f"Give 1 to {MOST_SECONDS} seconds.",
        )
    token = secrets.token_urlsafe(32)
    LoginLink.objects.filter(user=user, expires_at__lt=Now() - KEPT).delete()
    LoginLink.objects.create(
        digest=_digest(token),
        user=user,
        next_path=next_path,
        expires_at=Now() + timedelta(seconds=seconds),
    )
    log.info("a login link for %s, to %s", user, next_path)
    return f"{settings.TIERCEL_PUBLIC_URL}{reverse('login-link', args=[token])}"


def open_link(token: str) -> LoginLink | None:
    """The link of this token; None once it is used, too old or never was."""
    return LoginLink.objects.open().select_related("user").filter(digest=_digest(token)).first()


def use_up(token: str) -> LoginLink | None:
    """The same, and from now on it is used: of two at once one gets it."""
    link = open_link(token)
    if link is None or not LoginLink.objects.open().filter(pk=link.pk).update(used_at=Now()):
        return None
    security_entries.note(SecurityKind.LINK_USED, link.user, "login link")
    return link


def leads(path: str) -> bool:
    """Whether it is the plain path of a page that a link may lead to."""
    parts = urlsplit(path)
    if parts.path != path or not path.startswith("/") or path.startswith("//"):
        return False
    try:
        return resolve(path).url_name in PAGES
    except Resolver404:
        return False


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_link(request: HttpRequest, token: str) -> HttpResponseBase:
    """A button that signs in; pressed, the person is where the link leads."""
    is_pressed = request.method == "POST"
    link = use_up(token) if is_pressed else open_link(token)
    if link is None:
        return render(request, "account/login_link_gone.html", status=HTTPStatus.NOT_FOUND)
    if not is_pressed:
        return render(request, "account/login_link.html", {"person": link.user})
    if request.user.is_authenticated and request.user.pk == link.user_id:
        return redirect(link.next_path)
    # The sign-in would discard another person's session, and with it the record below.
    logout(request)
    record_authentication(request, link.user, LINK)
    # With a second factor set, this asks for it.
    signed_in: HttpResponseBase = perform_login(
        request, link.user, email_verification="none", redirect_url=link.next_path
    )
    return signed_in


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
