"""The language and the time zone of a page. Customers and visitors who are not signed in choose a
language; else the browser does. Staff pages and the API are English; the browser names the time
zone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.formats import get_format
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from panel.models import User
from storage import language
from storage.access import is_staff
from storage.planner.daily_window import zones

DEFAULT: Final = "en"
ZONE_COOKIE: Final = "zone"
YEAR_SECONDS: Final = 365 * 86_400


def listen() -> None:
    """Make pure modules use the language of the request, and store the browser's language at
    sign-in, for e-mails."""
    language.speak(language.Translator(translation.gettext, translation.ngettext, _separators))
    user_logged_in.connect(remember, dispatch_uid="language")


def _separators() -> tuple[str, str]:
    if translation.get_language() == DEFAULT:
        return language.ENGLISH
    return str(get_format("DECIMAL_SEPARATOR")), str(get_format("THOUSAND_SEPARATOR"))


def remember(request: HttpRequest | None, user: User, **given: object) -> None:
    """A user gets e-mails in the language of the browser at sign-in until they choose one."""
    if request is None or user.is_staff or user.language or not _says(request):
        return
    user.language = translation.get_language_from_request(request)
    user.save(update_fields=["language"])


def _says(request: HttpRequest) -> bool:
    """Whether the browser names a language, or a language was chosen in it."""
    cookie = settings.LANGUAGE_COOKIE_NAME
    return "Accept-Language" in request.headers or cookie in request.COOKIES


def language_of(request: HttpRequest) -> str:
    """The language for the request's person."""
    user = getattr(request, "user", AnonymousUser())
    if request.path.startswith("/api/") or is_staff(user):
        return DEFAULT
    chosen = getattr(user, "language", "")
    return chosen or translation.get_language_from_request(request)


def spoken_to(user: User) -> str:
    """The language of e-mails to the person."""
    return DEFAULT if user.is_staff else user.language or DEFAULT


def zone_of(request: HttpRequest) -> ZoneInfo | None:
    """The browser's time zone (`static/js/theme.js`), or UTC where the user prefers it; None where
    the browser names none, and for programs."""
    name = "" if request.path.startswith("/api/") else request.COOKIES.get(ZONE_COOKIE, "")
    return ZoneInfo(name) if name in zones() else None


class LanguageMiddleware:
    """Activates the language and the time zone of the request's user while the page is made."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        spoken = language_of(request)
        with translation.override(spoken), timezone.override(zone_of(request)):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", spoken)
        patch_vary_headers(response, ("Accept-Language",))
        return response


@login_not_required
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Change the language and redirect to the page on which it was chosen."""
    wanted = request.POST.get("language", "")
    back = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure())
    response = HttpResponseRedirect(back if is_ours and back.startswith("/") else "/")
    if wanted not in dict(settings.LANGUAGES):
        return response
    if request.user.is_authenticated:
        user = request.user
        user.language = wanted
        user.save(update_fields=["language"])
    cookie: dict[str, Any] = {
        "max_age": YEAR_SECONDS,
        "secure": settings.LANGUAGE_COOKIE_SECURE,
        "httponly": True,
        "samesite": "Lax",
    }
    response.set_cookie(settings.LANGUAGE_COOKIE_NAME, wanted, **cookie)
    return response
