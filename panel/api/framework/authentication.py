"""Authentication: a bearer token or, for reading only, a session of the pages."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import get_adapter
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from panel.accounts import api_tokens
from panel.accounts.authentication import second_factor
from panel.accounts.client_address import address_of
from panel.models import ApiToken, User

READING = ("GET", "HEAD", "OPTIONS")
REALM = 'Bearer realm="tiercel"'


class Bearer(BaseAuthentication):
    """`Authorization: Bearer tcl_<key>.<secret>`; `request.auth` is the token."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """None without the header; another scheme or a token that opens nothing is refused."""
        given = request.headers.get("Authorization", "")
        if not given:
            return None
        scheme, _, text = given.partition(" ")
        token = api_tokens.recognise(text.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise AuthenticationFailed("The token is not valid.")
        if not api_tokens.is_allowed_from(token, address_of(request._request)):
            raise AuthenticationFailed("The token is not valid from this address.")
        api_tokens.note_use(token, get_adapter().get_client_ip(request._request))
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return REALM


class Session(BaseAuthentication):
    """The session of the pages. Only for reading, so that no other site can make it act."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        """None without a sign-in or a second factor that the person needs, and for a request that
        would change something."""
        user = getattr(request._request, "user", None)
        if request.method not in READING or not isinstance(user, User) or not user.is_active:
            return None
        if second_factor.is_missing(user):
            return None
        return user, None


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the description names it."""

    target_class = Bearer
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A bearer token in the header."""
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "tcl_<key>.<secret>",
            "description": "Made at /tokens/ or by `manage.py token`.",
        }


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the description names it."""

    target_class = Session
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The cookie of the pages."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The session of the pages; read-only.",
        }
