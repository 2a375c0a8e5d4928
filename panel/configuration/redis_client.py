"""How the panel uses Redis: a client that fails at once, for marks and health checks, and Django's
cache as JSON. The default, pickle, would run code that an attacker wrote into Redis. A value that
this cache did not write itself counts as absent."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

import redis
from django.conf import settings
from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError
from redis.retry import Retry

WAIT_SECONDS = 2.0
log = logging.getLogger(__name__)


def client() -> redis.Redis:
    """Return a client without the library's own retries, which take some seconds."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=WAIT_SECONDS,
        socket_connect_timeout=WAIT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


class JsonSerializer:
    """Whole numbers are written bare, so that Redis can count them."""

    def dumps(self, value: object) -> bytes:
        """The bytes to keep; raises TypeError for what JSON cannot say."""
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> object:
        """The value; raises ValueError for bytes that this class did not write."""
        return json.loads(data)


class JsonCache(RedisCache):
    """An attacker who writes into Redis ends no request with an error, and locks users out for no
    longer than a limit lasts after the last write."""

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """The value, or `default` where nothing is there that was written in this way. A list holds
        the times that a limit counts: only those in the past count."""
        try:
            value = super().get(key, default, version)
        except (ValueError, RecursionError, ResponseError) as error:
            log.warning("the value in Redis under %r was not written by the panel: %s", key, error)
            return default
        return _passed(value) if isinstance(default, list) else value

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Increment; starts at zero if the value is not a number."""
        try:
            return super().incr(key, delta, version)
        except ResponseError as error:
            log.warning("the value in Redis under %r is not a number: %s", key, error)
            self.set(key, delta, version=version)
            return delta


def _passed(value: object) -> list[float]:
    now = time.time()
    times = value if isinstance(value, list) else []
    return [each for each in times if type(each) in (int, float) and each <= now]
