"""A walk through every link of the pages, as one person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.http import HttpResponse
from django.test import Client

LINKS = re.compile(r"""(?:href|src|hx-get|data-[\w-]*url)="([^"]+)\"""")
LEAVES = ("/static/", "/account/")
KEY = re.compile(r"\b[a-z2-7]{16}\b")
CLOCK = re.compile(r"T\d\d%3A.*")
"""The time of day in a parameter: it is another one a minute later."""


def walk(client: Client, start: str = "/") -> Iterator[tuple[str, Any]]:
    """Address and answer of every page that links lead to, beginning at the first page."""
    queue, seen = [start], _kinds(start)
    while queue:
        path = queue.pop(0)
        response: Any = client.get(path, follow=True)
        if response.streaming:  # a download, sent in pieces
            text = b"".join(response.streaming_content)
            response = HttpResponse(text, response["Content-Type"], response.status_code)
        yield path, response
        for target in links(path, response.content.decode()):
            if not _kinds(target) <= seen:
                seen |= _kinds(target)
                queue.append(target)


def _kinds(path: str) -> set[str]:
    """What makes a link worth a visit: each object has its page, and a kind of page, whichever
    object's, has each value of an order, a range or a filter. Combinations of these add nothing."""
    page, _, query = path.partition("?")
    if not query:
        return {page}
    kind = KEY.sub("*", page)
    return {f"{kind}?{CLOCK.sub('', KEY.sub('*', pair))}" for pair in query.split("&")}


def links(path: str, html: str) -> Iterator[str]:
    """Addresses of this panel that a page at `path` names, outside LEAVES."""
    for link in LINKS.findall(html):
        found = urlsplit(urljoin(path, unescape(link)))
        if not found.netloc and not found.path.startswith(LEAVES):
            yield found.path + (f"?{found.query}" if found.query else "")
