"""Rate limits for tokens, sessions and addresses: 429 beyond. They apply to the API and to sign-in
forms, because each attempt costs a password digest.

A bucket (GCRA) is one number: the time at which it would be full again. Each process has its own
buckets and shares them through Redis, which covers all processes. Redis only ever reduces what a
process would allow on its own, and for no longer than a bucket takes to fill. So without Redis, or
with forged data in Redis, no caller is locked out, and none gets more than the rate of a process
times the processes.

Concurrency limits keep any one kind of request from holding all threads of web.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.cookies import CookieError
from threading import Condition, Lock
from typing import Any, Final

import redis
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from redis.backoff import NoBackoff
from redis.retry import Retry

from panel.accounts.api_tokens import WRITTEN
from panel.accounts.client_address import address_of, network_of
from panel.api.framework.parsing import whole_number
from panel.api.framework.problem import MEDIA_TYPE, ApiProblem
from panel.configuration.gunicorn import threads
from panel.http.request_log import id_of


class ConcurrencyLimit:
    """Limits the threads of this process for one kind of work, in total and per caller, so that the
    rest can serve other requests. Without a free place, up to `most_waiting` callers wait for one,
    each once."""

    def __init__(self, *, most: int, most_of_one: int, most_waiting: int = 0) -> None:
        self.most, self.most_of_one, self.most_waiting = most, most_of_one, most_waiting
        self._changed = Condition()
        self._taken: Counter[str] = Counter()
        self._waiting: set[str] = set()

    @contextmanager
    def one(self, name: str) -> Iterator[bool]:
        """A place for `name` until the end of the block; False where none is left."""
        with self._changed:
            is_free = self._has_room(name) or self._waited(name)
            self._taken[name] += is_free
        try:
            yield is_free
        finally:
            with self._changed:
                self._taken[name] -= is_free
                self._taken += Counter()  # forgets who has none
                self._changed.notify_all()

    def _has_room(self, name: str) -> bool:
        return self._taken.total() < self.most and self._taken[name] < self.most_of_one

    def _waited(self, name: str) -> bool:
        if len(self._waiting) >= self.most_waiting or name in self._waiting:
            return False
        self._waiting.add(name)
        try:
            return self._changed.wait_for(lambda: self._has_room(name), PATIENCE_SECONDS)
        finally:
            self._waiting.remove(name)


log = logging.getLogger(__name__)

API: Final = ("/api/", "/metrics")
ACCOUNT: Final = "/account/"
DOORS: Final = ("/enrol/", "/enter/", "/invitation/", "/notices/off/")
"""What a one-time link opens, without a session."""
PATIENCE_SECONDS: Final = 2.0
BURST_SECONDS: Final = 10
SIGN_IN_BURST_SECONDS: Final = 30
"""Burst after a pause, in seconds' worth of requests."""
COSTLY: Final = {"limit": 50, "points": 500}
"""A list or series longer than this counts as several requests."""
COSTLIEST: Final = 10_000
MOST_BUCKETS: Final = 10_000
AT_ONCE: Final = ConcurrencyLimit(most=threads * 3 // 4, most_of_one=3)
"""Some threads of a process are never the API's. Of one token two may wait while one works, and
those who may wait and one token together leave places to others."""
SIGN_INS_AT_ONCE: Final = ConcurrencyLimit(most=1, most_of_one=1, most_waiting=3)
"""A digest of a password keeps a whole core busy, for less than half a second."""
BUSY: Final = {"Retry-After": "1"}
REDIS_SECONDS: Final = 0.2
REDIS_RESTS_SECONDS: Final = 5.0
PREFIX: Final = "tiercel:limit:"

SHARED: Final = """
local at = redis.call('TIME')
local now = at[1] * 1000000 + at[2]
local cost, wait, full = tonumber(ARGV[1]), 0, {}
for i, key in ipairs(KEYS) do
    local window, step = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1]) * cost
    local kept = tonumber(redis.call('GET', key) or '') or now
    if not (kept > now) then kept = now end
    if kept > now + window then kept = now + window end
    full[i] = kept + step
    wait = math.max(wait, full[i] - now - window)
end
if wait <= 0 then
    for i, key in ipairs(KEYS) do
        local left = math.ceil((full[i] - now) / 1000)
        redis.call('SET', key, string.format('%.0f', full[i]), 'PX', left)
    end
end
local answer = {string.format('%.0f', wait)}
for i, key in ipairs(KEYS) do answer[i + 1] = string.format('%.0f', full[i] - now) end
return answer
"""
"""For each key a bucket in microseconds, of which each request takes a step; all of them
are taken from, or none. Answers how long to wait, and how far each would be from full."""


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Who is counted, and how many requests a second they may send for long."""

    name: str
    rate: float
    burst_seconds: float

    @property
    def most(self) -> int:
        return round(self.rate * self.burst_seconds)

    @property
    def policy(self) -> str:
        """By what it counts: address, token or sign-in."""
        return self.name.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether the request may pass, and what its headers say of the fullest bucket, whose
    `policy` allows `most` requests in `window_seconds`."""

    policy: str
    window_seconds: float
    wait_seconds: float
    most: int
    remaining: int
    full_seconds: float

    @property
    def headers(self) -> dict[str, str]:
        """RateLimit and its policy as in the IETF's draft, RateLimit-* as most services send them,
        and Retry-After where the caller must wait."""
        full_seconds = math.ceil(self.full_seconds)
        headers = {
            "RateLimit-Policy": f'"{self.policy}";q={self.most};w={self.window_seconds:g}',
            "RateLimit": f'"{self.policy}";r={self.remaining};t={full_seconds}',
            "RateLimit-Limit": str(self.most),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(full_seconds),
        }
        if self.wait_seconds > 0:
            headers["Retry-After"] = str(math.ceil(self.wait_seconds))
        return headers


class LocalBuckets:
    """The buckets of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full_at: dict[str, float] = {}
        self._lock = Lock()

    def take(self, buckets: Sequence[TokenBucket], cost: int) -> list[float]:
        """Take from all, or from none. How far each would be from full, in seconds."""
        with self._lock:
            now = self._clock()
            gaps = [
                max(self._full_at.get(each.name, now), now) - now + cost / each.rate
                for each in buckets
            ]
            if beyond(buckets, gaps) <= 0:
                for each, gap in zip(buckets, gaps, strict=True):
                    self._full_at[each.name] = now + gap
            if len(self._full_at) > MOST_BUCKETS:
                self._forget(now)
        return gaps

    def _forget(self, now: float) -> None:
        """Those that are full; if that is not enough, those that are nearly so."""
        kept = sorted((at, name) for name, at in self._full_at.items() if at > now)
        self._full_at = {name: at for at, name in kept[-MOST_BUCKETS // 2 :]}


class Limits:
    """The buckets of this process and, where Redis answers, those of all."""

    def __init__(self) -> None:
        self.own = LocalBuckets()
        self._redis_rests_until = 0.0

    def judge(self, buckets: Sequence[TokenBucket], cost: int) -> Admission:
        """Take `cost` from each of the buckets, or from none; a cost beyond what a bucket holds is
        all that it holds."""
        cost = min([cost, *(each.most for each in buckets)])
        gaps = self.own.take(buckets, cost)
        if beyond(buckets, gaps) <= 0 and (shared := self._shared(buckets, cost)):
            gaps = [max(pair) for pair in zip(gaps, shared, strict=True)]
        gap, bucket = max(
            zip(gaps, buckets, strict=True), key=lambda pair: pair[0] - pair[1].burst_seconds
        )
        wait = max(0.0, gap - bucket.burst_seconds)
        if wait:  # nothing was taken
            gap -= cost / bucket.rate
        remaining = max(0, int((bucket.burst_seconds - gap) * bucket.rate))
        return Admission(bucket.policy, bucket.burst_seconds, wait, bucket.most, remaining, gap)

    def _shared(self, buckets: Sequence[TokenBucket], cost: int) -> list[float]:
        """The same of Redis' buckets; nothing where Redis does not answer."""
        if time.monotonic() < self._redis_rests_until:
            return []
        numbers = [cost]
        for each in buckets:
            numbers += [round(each.burst_seconds * 1_000_000), round(1_000_000 / each.rate)]
        keys = [PREFIX + each.name for each in buckets]
        try:
            answer: list[bytes] = _script()(keys=keys, args=numbers)
            return [int(text) / 1_000_000 for text in answer[1:]]
        except (redis.RedisError, ValueError) as error:
            log.warning("Redis shares no request limits; each process keeps its own: %s", error)
            self._redis_rests_until = time.monotonic() + REDIS_RESTS_SECONDS
            return []


LIMITS = Limits()


def beyond(buckets: Sequence[TokenBucket], gaps: Sequence[float]) -> float:
    """How many seconds too early the request comes, by the bucket that has least left."""
    return max(gap - each.burst_seconds for each, gap in zip(buckets, gaps, strict=True))


class LimitMiddleware:
    """Stands before all that costs something: no session, token or row was looked at yet. The
    request is whole (`panel.http.request_worker`), so no place waits for a slow client."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a request to the API, or say how long to wait."""
        if request.path_info.startswith(API):
            buckets, places = buckets_of(request), AT_ONCE
        elif request.path_info.startswith(ACCOUNT) and request.method == "POST":
            buckets, places = [sign_in_bucket(request)], SIGN_INS_AT_ONCE
        elif request.path_info.startswith(DOORS):
            buckets, places = buckets_of(request)[:1], AT_ONCE
        else:
            return self.get_response(request)
        verdict = LIMITS.judge(buckets, cost_of(request))
        headers = verdict.headers
        if verdict.wait_seconds:
            answer = _too_many(request)
        else:
            with places.one(buckets[-1].name) as has_place:
                answer = self.get_response(request) if has_place else _too_many(request)
            headers = headers if has_place else headers | BUSY
        for name, text in headers.items():
            if name not in answer:
                answer[name] = text
        return answer


def buckets_of(request: HttpRequest) -> list[TokenBucket]:
    """Those of its address and of its token or session, as they were sent: a wrong token has a
    bucket of its own, and only a caller who knows a token can empty its bucket."""
    network = network_of(address_of(request))
    rate = settings.TIERCEL_API_ADDRESS_RATE
    buckets = [TokenBucket(f"address:{network}", rate, BURST_SECONDS)]
    token = WRITTEN.search(request.headers.get("Authorization", ""))
    sent = token[0] if token is not None else _session(request)
    if sent:
        digest = hashlib.sha256(sent.encode()).hexdigest()[:32]
        rate = settings.TIERCEL_API_TOKEN_RATE
        buckets.append(TokenBucket(f"token:{digest}", rate, BURST_SECONDS))
    return buckets


def sign_in_bucket(request: HttpRequest) -> TokenBucket:
    """That of the address; whose password is tried, and how often, is counted later
    (`panel.accounts.authentication.throttle`)."""
    name = f"sign-in:{network_of(address_of(request))}"
    return TokenBucket(name, settings.TIERCEL_SIGN_INS_A_MINUTE / 60, SIGN_IN_BURST_SECONDS)


def _session(request: HttpRequest) -> str:
    try:
        return request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    except CookieError:
        return ""


def cost_of(request: HttpRequest) -> int:
    """As how many requests it counts."""
    cost = 1
    for name, many in COSTLY.items():
        # A number that is out of range is refused, for the cost of one request.
        number = whole_number(request.GET.get(name, "")) or 0
        if number < COSTLIEST:
            cost = max(cost, math.ceil(number / many))
    return cost


def _too_many(request: HttpRequest) -> HttpResponseBase:
    answer = _problem(request) if request.path_info.startswith(API) else _page()
    # A flood is not to flood the log as well.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


def _page() -> HttpResponse:
    return HttpResponse(_text_of_page(), status=429)


@cache
def _text_of_page() -> str:
    return render_to_string("429.html")


def _problem(request: HttpRequest) -> HttpResponse:
    problem = ApiProblem(
        429,
        "too_many_requests",
        "Too many requests from this token, this session or this address.",
        "Wait as many seconds as Retry-After says. RateLimit-Remaining shows in advance how many "
        "requests are left.",
    )
    name = id_of(request)
    answer = JsonResponse(problem.to_json(name), status=429, content_type=MEDIA_TYPE)
    answer["X-Request-Id"] = name
    answer["Cache-Control"] = "private, no-store"
    return answer


@cache
def _script() -> Any:
    """The script on a client without retries: a limit is not worth a wait."""
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_SECONDS,
        socket_connect_timeout=REDIS_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    return client.register_script(SHARED)
