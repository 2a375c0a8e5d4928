"""What happens to every request before and after its page, in the order of the settings: headers of
the answer, refusals of foreign host names and null characters, pages for outages, the row-security
scope (`storage.row_security`), access control, and records of who does what.

Nothing in the output is built from the host name in a request, but the script for a host that
enrols by another allowed name (`panel.api.hosts.enrolment_endpoints`): links in e-mails come from
TIERCEL_PUBLIC_URL.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlsplit

import pghistory
from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware, get_user
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import BadRequest, DisallowedHost, PermissionDenied
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    JsonResponse,
    QueryDict,
    StreamingHttpResponse,
)
from django.http.request import split_domain_port
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import is_valid_path, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from panel.accounts import sessions
from panel.accounts.authentication import protected_actions, second_factor, step_up
from panel.accounts.client_address import address_of
from panel.models import User
from storage import row_security
from storage.access import Person, ProofNeeded, is_staff
from storage.request_id import current_request_id

REFUSED_FEATURES: Final = (
    "camera",
    "display-capture",
    "geolocation",
    "microphone",
    "payment",
    "usb",
)
OWN_FEATURES: Final = ("publickey-credentials-create", "publickey-credentials-get")
PERMISSIONS: Final = ", ".join(
    [*(f"{name}=()" for name in REFUSED_FEATURES), *(f"{name}=(self)" for name in OWN_FEATURES)]
)


class HeaderMiddleware:
    """No other site embeds what the panel serves, no script uses a device, and no cache keeps what
    depends on the signed-in person, not even the browser's own: it would be readable after
    sign-out."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        response = self.get_response(request)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        session = getattr(request, "session", None)
        if session is not None and session.accessed:
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response


log = logging.getLogger(__name__)
BAD_REQUEST = 400
LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
PORTS = {"https": "443", "http": "80"}
SHOWN_CHARACTERS = 80
NUL: Final = "\0"
API = ("/api/", "/metrics")
PROBLEM = "application/problem+json"
WRONG_HOST: Final = "The panel does not serve this host name."


class HostMiddleware:
    """A name that is not the panel's, or the public name with another port than the public
    address has, is refused with one line in the log. Django's own refusal is a traceback at the
    level of an error, which anybody could fill the log with."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, or refuse."""
        if _is_ours(request):
            return self.get_response(request)
        log.warning(
            "a request for %r was refused", request.META.get("HTTP_HOST", "")[:SHOWN_CHARACTERS]
        )
        if request.path_info.startswith(API):
            return _problem(
                BAD_REQUEST, "bad_request", WRONG_HOST, "Use the address in TIERCEL_PUBLIC_URL."
            )
        return HttpResponse(f"{WRONG_HOST}\n", "text/plain", status=BAD_REQUEST)


def _problem(
    status: int, code: str, detail: str, correction: str, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """What a program is answered where no view is reached."""
    body = {
        "type": f"urn:tiercel:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": f"urn:tiercel:request:{current_request_id()}",
        "code": code,
        "correction": correction,
    }
    return JsonResponse(body, status=status, headers=headers, content_type=PROBLEM)


def _is_ours(request: HttpRequest) -> bool:
    try:
        name, port = split_domain_port(request.get_host())
    except DisallowedHost:
        return False
    public = urlsplit(settings.TIERCEL_PUBLIC_URL)
    # A panel of this machine alone may be reached through a tunnel, which has a port of its own.
    if name != public.hostname or name in LOOPBACK or not port:
        return True
    return port == (str(public.port) if public.port else PORTS[public.scheme])


class NullCharacterMiddleware:
    """Answers 404 for a path with a NUL character and 400 for such a query. The API has its own
    refusal (`panel.api.framework.resource`), and forms mark the field."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        _view: Callable[..., HttpResponseBase],
        _args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> None:
        """Let the view answer; else raise `Http404` or `BadRequest`."""
        if has_nul(kwargs.values()):
            raise Http404
        if not request.path_info.startswith(API) and with_nul(request.GET):
            raise BadRequest


def has_nul(values: Iterable[object]) -> bool:
    """Whether some text among the values holds it."""
    return any(isinstance(value, str) and NUL in value for value in values)


def with_nul(sent: QueryDict) -> list[str]:
    """The names of the parameters that hold it."""
    return [name for name, texts in sent.lists() if has_nul([name, *texts])]


UNAVAILABLE, BROKEN = 503, 500
RETRY_SECONDS = 30
NO_DATABASE = marked("The panel cannot reach its database.")
BACK_SOON: Final = marked("Back soon")


class MaintenanceMiddleware:
    """While `TIERCEL_MAINTENANCE` is set, it is the answer to all but the health checks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, or say that the panel is being worked on."""
        text: str = settings.TIERCEL_MAINTENANCE
        if not text or request.path in (reverse("health"), reverse("health-work")):
            return self.get_response(request)
        return unavailable(request, BACK_SOON, text)


def broken(request: HttpRequest) -> HttpResponse:
    """Django's handler of unexpected errors: 503 if the database is unreachable, else 500."""
    if is_outage(sys.exc_info()[1]):
        return unavailable(request, BACK_SOON, NO_DATABASE)
    return HttpResponse(render_to_string("500.html"), status=BROKEN)


def is_outage(error: BaseException | None) -> bool:
    """Whether the database is unreachable, rather than one statement wrong."""
    return isinstance(error, InterfaceError | OperationalError) and not reaches_database()


def unavailable(request: HttpRequest, title: str, text: str) -> HttpResponse:
    """A page (for programs a problem) that needs neither session nor database."""
    headers = {"Retry-After": str(RETRY_SECONDS)}
    if request.path_info.startswith(API):
        return _problem(UNAVAILABLE, "service_unavailable", text, "Try again later.", headers)
    context = {"title": gettext(title), "text": gettext(text), "retry_seconds": RETRY_SECONDS}
    html = render_to_string("503.html", context)
    return HttpResponse(html, status=UNAVAILABLE, headers=headers)


def reaches_database() -> bool:
    """Whether PostgreSQL answers now, by a new connection where the old one broke."""
    try:
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        log.warning("the database does not answer: %s", error)
        return False
    return True


class RowScopeMiddleware:
    """Hides all rows of customers until `request.user` is read, and then shows only what that
    person may see. It follows Django's own middleware, whose `request.user` it replaces, so that
    a request which never reads it costs no query. Programs with a token:
    `panel.api.framework.resource`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request within its wall; what is streamed is read within it too."""
        with row_security.scope(row_security.NO_ROWS):
            request.user = SimpleLazyObject(partial(_request_user, request))  # type: ignore[assignment]
            response = self.get_response(request)
            if isinstance(response, StreamingHttpResponse):
                pieces = cast("Iterator[bytes]", response.streaming_content)
                response.streaming_content = _within(row_security.current_scope(), pieces)
            return response


def set_scope_for(user: Person) -> None:
    """For the rest of the request, see what the person may: everything, the rows of their
    customers, or nothing."""
    if is_staff(user):
        row_security.set_scope(row_security.ALL)
    else:
        row_security.set_scope(
            str(user.pk) if user.is_active and user.pk is not None else row_security.NO_ROWS
        )


def _request_user(request: HttpRequest) -> User | AnonymousUser:
    user: User | AnonymousUser = get_user(request)
    set_scope_for(user)
    request.asked_by = user.pk  # type: ignore[attr-defined]
    return user


def _within(scope: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Each piece as it comes, made as if the request were still there."""
    while True:
        with row_security.scope(scope):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


UNAUTHORIZED, FORBIDDEN = 401, 403
# Pages of one's own account: the password, the factors, signing out.
ACCOUNT_PAGES = ("account_", "mfa_")
# What a one-time link alone does not open: a thief of the link could set a password, a factor, an
# address or a token, and would keep the account.
NOT_ALLOWED: Final = 405
OWN_KEY_PAGES = (*ACCOUNT_PAGES, "tokens")


class AccessMiddleware(LoginRequiredMiddleware):
    """Django's, except that a part of a page that renews itself is not answered with another page
    in its place: the whole page is loaded again and leads to the sign-in, or the browser is sent
    to where a second factor is set up."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Let in, or send to the sign-in page or to the page of second factors."""
        answer = super().process_view(request, view_func, view_args, view_kwargs)
        is_part = "HX-Request" in request.headers
        if answer is not None:
            if is_part:
                return HttpResponse(status=UNAUTHORIZED, headers={"HX-Refresh": "true"})
            return answer
        cast("Any", request).is_proven = lambda: step_up.is_proven(request)
        if (asked_again := step_up.take_proof(request)) is not None:
            return asked_again
        if _opens_by_key(request, view_func) and (proof_demand := step_up.demand_of_link(request)):
            return proof_demand
        if _is_closed(request, view_func) and second_factor.is_missing(request.user):
            place = reverse("mfa_index")
            if is_part:
                return HttpResponse(status=FORBIDDEN, headers={"HX-Redirect": place})
            return redirect(place)
        back = (
            protected_actions.demand_by_route(request)
            if getattr(view_func, "login_required", True)
            else None
        )
        return None if back is None else step_up.demand(request, back)

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Lead a person who opens the address of a button, as after signing in again, to the page
        that has the button. Programs get the 405."""
        is_opened = request.method == "GET" and "text/html" in request.headers.get("Accept", "")
        if response.status_code != NOT_ALLOWED or not is_opened or "HX-Request" in request.headers:
            return response
        page = None if request.path_info.startswith(API) else _page_above(request.path_info)
        return response if page is None else redirect(page)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Where a view found that it takes a fresh proof, ask for it. Who asked for what they may
        not is written down."""
        if isinstance(exception, PermissionDenied):
            name = request.resolver_match.view_name if request.resolver_match else ""
            log.warning("%s may not %s %s", request.user, request.method, name)
        return (
            step_up.ask_for_proof(request, exception.back)
            if isinstance(exception, ProofNeeded)
            else None
        )


def _page_above(path: str) -> str | None:
    """The nearest page above `path`; addresses of pages end with a slash."""
    parts = path.strip("/").split("/")
    for count in range(len(parts) - 1, -1, -1):
        address = "/".join(["", *parts[:count], ""])
        if is_valid_path(address):
            return address
    return None


def _opens_by_key(request: HttpRequest, view_func: Callable[..., HttpResponseBase]) -> bool:
    """Whether a page changes how one's account is opened."""
    name = (request.resolver_match.url_name if request.resolver_match else None) or ""
    is_closed: bool = getattr(view_func, "login_required", True)
    return is_closed and name.startswith(OWN_KEY_PAGES) and name != "account_logout"


def _is_closed(request: HttpRequest, view_func: Callable[..., HttpResponseBase]) -> bool:
    """Whether a page requires all factors that the person needs."""
    name = (request.resolver_match.url_name if request.resolver_match else None) or ""
    return getattr(view_func, "login_required", True) and not name.startswith(ACCOUNT_PAGES)


RECORD_SECONDS = 60
REMEMBERED_SESSIONS = 10_000


class SessionActivityMiddleware:
    """Writes at most once a minute for a session, in each process; only for pages that ask who is
    there, so that the others need no database. It comes after `AccessMiddleware`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._noted: dict[str, float] = {}

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        args: object,
        kwargs: object,
    ) -> None:
        """Note the session once its time has come."""
        key = request.session.session_key
        if not settings.USERSESSIONS_TRACK_ACTIVITY or not key:
            return
        if not getattr(view_func, "login_required", True) or not request.user.is_authenticated:
            return
        now = time.monotonic()
        if now - self._noted.get(key, -RECORD_SECONDS) < RECORD_SECONDS:
            return
        if len(self._noted) >= REMEMBERED_SESSIONS:
            self._noted.clear()
        self._noted[key] = now
        sessions.note_session(request)


SAFE = ("GET", "HEAD", "OPTIONS")


class HistoryMiddleware:
    """Whatever a request that may change something writes carries its person, address and route.
    The API adds the token, once it knows it (`panel.api.framework.resource`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request within its context."""
        if request.method in SAFE:
            return self.get_response(request)
        actor = getattr(request.user, "email", "")
        with pghistory.context(
            actor=actor, address=address_of(request), request_id=current_request_id()
        ):
            return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> None:
        """Add the route's name; the path itself may hold a one-time token."""
        if request.method not in SAFE and request.resolver_match is not None:
            pghistory.context(route=request.resolver_match.url_name)
