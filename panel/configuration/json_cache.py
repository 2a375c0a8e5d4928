"""Django's cache in Redis, as JSON. The default, pickle, would run code that somebody wrote into
Redis. A value that this cache did not write itself counts as absent."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import ResponseError

log = logging.getLogger(__name__)


class JsonSerializer:
    """Whole numbers are written bare, so that Redis can count them."""

    def dumps(self, value: object) -> bytes:
        """The bytes to keep; raises TypeError for what JSON cannot say."""
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> object:
        """The value; raises ValueError for bytes that this class did not write."""
        return json.loads(data)


class JsonCache(RedisCache):
    """Somebody who writes into Redis ends no request with an error, and keeps nobody out for longer
    than a limit lasts from when they wrote last."""

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """The value, or `default` where nothing is there that was written in this way. Who asks for
        a list asks for the times that a limit counts: only those that have passed count."""
        try:
            value = super().get(key, default, version)
        except (ValueError, RecursionError, ResponseError) as error:
            log.warning("what lies in Redis under %r is not ours: %s", key, error)
            return default
        return _passed(value) if isinstance(default, list) else value

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Count on; from nothing where something else than a number lies there."""
        try:
            return super().incr(key, delta, version)
        except ResponseError as error:
            log.warning("what lies in Redis under %r is no number: %s", key, error)
            self.set(key, delta, version=version)
            return delta


def _passed(value: object) -> list[float]:
    now = time.time()
    times = value if isinstance(value, list) else []
    return [each for each in times if type(each) in (int, float) and each <= now]
