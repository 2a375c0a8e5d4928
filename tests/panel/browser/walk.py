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


def walk(client: Client, start: str = "/") -> Iterator[tuple[str, Any]]:
    """Address and answer of every page that links lead to, beginning at the first page."""
    queue, seen = [start], {_kind(start)}
    while queue:
        path = queue.pop(0)
        response: Any = client.get(path, follow=True)
        if response.streaming:  # a download, sent in pieces
            text = b"".join(response.streaming_content)
            response = HttpResponse(text, response["Content-Type"], response.status_code)
        yield path, response
        for target in links(path, response.content.decode()):
            if _kind(target) not in seen:
                seen.add(_kind(target))
                queue.append(target)


def _kind(path: str) -> str:
    """Every object has its page, but an order, a range or a filter of a page is the same for all of
    them: with a query, one object serves."""
    return KEY.sub("*", path) if "?" in path else path


def links(path: str, html: str) -> Iterator[str]:
    """Addresses of this panel that a page at `path` names, outside LEAVES."""
    for link in LINKS.findall(html):
        found = urlsplit(urljoin(path, unescape(link)))
        if not found.netloc and not found.path.startswith(LEAVES):
            yield found.path + (f"?{found.query}" if found.query else "")
