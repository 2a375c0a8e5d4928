"""Headers of every answer that no other middleware sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase

NO_DEVICES: Final = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
OWN: Final = ("publickey-credentials-create", "publickey-credentials-get")
PERMISSIONS: Final = ", ".join(
    [*(f"{name}=()" for name in NO_DEVICES), *(f"{name}=(self)" for name in OWN)]
)


class HeaderMiddleware:
    """No other site embeds what the panel serves, no script uses a device, and what depends on who
    is signed in is kept by no cache, the browser's own included: after signing out nobody reads it
    there."""

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
