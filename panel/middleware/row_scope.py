"""Sets the row-security scope (`storage.row_security`) of each request to that of its person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

from django.contrib.auth.middleware import get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import SimpleLazyObject

from panel.models import User
from storage import row_security
from storage.access import Person, is_staff


class RowScopeMiddleware:
    """Nothing of customers is seen until somebody looks who asks (`request.user`), and then only
    what that person may see. It stands behind Django's, which it replaces, so that a request which
    never looks costs no query. Programs with a token: `panel.api.framework.resource`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request within its wall; what is streamed is read within it too."""
        with row_security.inside(row_security.NOBODY):
            request.user = SimpleLazyObject(partial(_request_user, request))  # type: ignore[assignment]
            response = self.get_response(request)
            if isinstance(response, StreamingHttpResponse):
                pieces = cast("Iterator[bytes]", response.streaming_content)
                response.streaming_content = _within(row_security.standing(), pieces)
            return response


def set_scope_for(user: Person) -> None:
    """For the rest of the request, see what the person may: everything, the rows of their
    customers, or nothing."""
    if is_staff(user):
        row_security.stand(row_security.ALL)
    else:
        row_security.stand(
            str(user.pk) if user.is_active and user.pk is not None else row_security.NOBODY
        )


def _request_user(request: HttpRequest) -> User | AnonymousUser:
    user: User | AnonymousUser = get_user(request)
    set_scope_for(user)
    return user


def _within(standing: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Each piece as it comes, made as if the request were still there."""
    while True:
        with row_security.inside(standing):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece
