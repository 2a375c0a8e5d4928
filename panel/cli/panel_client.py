"""Requests to a panel. A request without an answer is repeated, and nothing is done twice."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from time import sleep
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from . import VERSION
from .exit_codes import CommandError, ExitCode, PanelRefusal
from .panel_profiles import PanelProfile, is_loopback

Json = dict[str, Any]
V1: Final = "/api/v1"
CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 60.0
TRIES: Final = 4
FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 60.0
PAGE_ITEMS: Final = 200
LATER: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""Nothing was done, and `Retry-After` says when to ask again."""
AT_WORK: Final = "idempotency_key_in_use"


@dataclass(frozen=True, slots=True)
class PanelAnswer:
    """An answer that is no problem."""

    status: int
    headers: Mapping[str, str]
    data: Any


class PanelClient:
    """A panel and a token. One request at a time."""

    def __init__(self, profile: PanelProfile) -> None:
        self.profile = profile
        self._pool = _pool_for(profile)

    def get(self, path: str, **query: object) -> Any:
        """What is there."""
        return self.ask("GET", path, query=query).data

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        is_repeatable: bool = True,
    ) -> PanelAnswer:
        """One request, repeated while it is lost on the way or is to come later. `key` is its
        Idempotency-Key, a new one unless given. Raises `CommandError`."""
        sent = {
            "Authorization": f"Bearer {self.profile.token.revealed()}",
            "Accept": "application/json",
            "User-Agent": f"tiercel-cli/{VERSION}",
            **(headers or {}),
        }
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        if method not in ("GET", "HEAD"):
            sent["Idempotency-Key"] = key or str(uuid.uuid4())
        url = self.profile.url + V1 + path + _query(query or {})
        for attempt in range(1, TRIES + 1):
            is_last = attempt == TRIES
            try:
                answer = self._pool.request(
                    method, url, body=content, headers=sent, redirect=False, retries=False
                )
            except urllib3.exceptions.HTTPError as error:
                was_sent = not isinstance(error, _UNSENT)
                if is_last or isinstance(error, _FINAL) or (was_sent and not is_repeatable):
                    raise self._no_answer(error) from None
                sleep(_pause(attempt))
                continue
            waits = _retry_after(answer)
            if is_last or not _comes_later(answer) or waits > LONGEST_PAUSE_SECONDS:
                return _read(answer)
            sleep(waits or _pause(attempt))
        raise AssertionError("the last attempt returns or raises")

    def items(self, path: str, most: int | None, **query: object) -> Iterator[Json]:
        """The items of a list, page by page; at most this many, None for all."""
        cursor: str | None = None
        while most is None or most > 0:
            limit = PAGE_ITEMS if most is None else min(PAGE_ITEMS, most)
            page = self.get(path, **query, limit=limit, cursor=cursor)
            yield from page["items"]
            if most is not None:
                most -= len(page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _no_answer(self, error: urllib3.exceptions.HTTPError) -> CommandError:
        # The error's own text may have the address with all its parts, never the token.
        why = {
            urllib3.exceptions.SSLError: "its certificate is not trusted",
            urllib3.exceptions.ProxyError: "the proxy refuses the connection",
            urllib3.exceptions.NameResolutionError: "its name cannot be resolved",
            urllib3.exceptions.ConnectTimeoutError: "nothing answers at its address",
            urllib3.exceptions.ReadTimeoutError: "it took too long",
            urllib3.exceptions.NewConnectionError: "nothing listens at its address",
        }
        reason = next((text for kind, text in why.items() if isinstance(error, kind)), "")
        return CommandError(
            f"{self.profile.url} does not answer{': ' + reason if reason else ''}.",
            "Check the address (tiercel panels list), the network, and the panel's /health.",
            ends_with=ExitCode.NO_ANSWER,
            code="no_answer",
        )


_UNSENT: Final = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
    urllib3.exceptions.ProxyError,
)
_FINAL: Final = (urllib3.exceptions.SSLError, urllib3.exceptions.LocationParseError)


def part(text: str) -> str:
    """One part of a path, whatever it holds; without one the path would be that of the list."""
    if not text:
        raise ValueError("A part of the path is empty.")
    return quote(text, safe="")


def _pool_for(profile: PanelProfile) -> urllib3.PoolManager:
    settings: dict[str, Any] = {
        "timeout": urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS),
        "cert_reqs": "CERT_REQUIRED",
        "ca_certs": profile.ca_file or None,
    }
    parts = urlsplit(profile.url)
    host = parts.hostname or ""
    proxy = getproxies().get(parts.scheme)
    if proxy and not is_loopback(host) and not proxy_bypass(host):
        return urllib3.ProxyManager(proxy, **settings)
    return urllib3.PoolManager(**settings)


def _query(query: Mapping[str, object]) -> str:
    values = [
        (name, each)
        for name, value in query.items()
        for each in (value if isinstance(value, list | tuple) else [value])
        if each is not None
    ]
    plain_values = [
        (name, str(each).lower() if isinstance(each, bool) else each) for name, each in values
    ]
    return f"?{urlencode(plain_values)}" if plain_values else ""


def _read(answer: urllib3.BaseHTTPResponse) -> PanelAnswer:
    """The answer; raises `PanelRefusal` for a problem."""
    try:
        data = json.loads(answer.data) if answer.data else None
    except ValueError:
        data = None
        is_readable = False
    else:
        is_readable = True
    if answer.status >= 400 and isinstance(data, dict) and "code" in data:
        raise PanelRefusal(answer.status, data)
    where = answer.headers.get("Location", "")
    if answer.status == HTTPStatus.PERMANENT_REDIRECT and where.startswith(f"{V1}/"):
        raise CommandError(
            "The API has no such path.",
            f"The next one is {where.removeprefix(V1)}.",
            ends_with=ExitCode.NOT_FOUND,
            code="not_found",
        )
    if answer.status >= 300 or not is_readable:
        raise CommandError(
            f"The server that answered is not a Tiercel API (status {answer.status}"
            f"{', which leads to ' + where if where else ''}).",
            "Check the panel's address, and any proxy in front of the panel.",
            ends_with=ExitCode.NO_ANSWER,
            code="no_api",
        )
    return PanelAnswer(answer.status, answer.headers, data)


def _comes_later(answer: urllib3.BaseHTTPResponse) -> bool:
    return answer.status in LATER or (
        answer.status == HTTPStatus.CONFLICT and AT_WORK.encode() in answer.data
    )


def _retry_after(answer: urllib3.BaseHTTPResponse) -> float:
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0


def _pause(attempt: int) -> float:
    return float(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
