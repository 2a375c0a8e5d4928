"""No line of a page ends between a number and its unit, or its currency.

Done once, in the finished HTML: the same texts go to programs, by the API, the command line, CSV
files and mails, and have plain spaces there. Commands and what a person types stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from storage.currency import CURRENCIES
from storage.formatting import UNITS

_VERBATIM: Final = "pre|code|script|style|textarea"
VERBATIM: Final = re.compile(rf"(<(?:{_VERBATIM})\b.*?</(?:{_VERBATIM})>)".encode(), re.DOTALL)
_CURRENCY: Final = f"(?:{'|'.join(sorted(CURRENCIES))})\\b"
PARTED: Final = re.compile(rf" (?<=\d )(?=(?:{UNITS}|{_CURRENCY})[^<>]*<)".encode())
"""Within a text: an attribute is followed by ">"."""
NO_BREAK_SPACE: Final = "\N{NO-BREAK SPACE}".encode()


class FigureMiddleware:
    """Joins the figures of HTML with their units."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        response = self.get_response(request)
        if isinstance(response, HttpResponse) and "text/html" in response.get("Content-Type", ""):
            response.content = unparted(response.content)
        return response


def unparted(html: bytes) -> bytes:
    """The HTML, in UTF-8, with spaces in its figures that end no line."""
    parts = VERBATIM.split(html)
    parts[::2] = [PARTED.sub(NO_BREAK_SPACE, part) for part in parts[::2]]
    return b"".join(parts)
