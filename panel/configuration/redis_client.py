"""A connection to Redis that fails at once, for marks and health checks."""

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

WAIT_SECONDS = 2.0


def client() -> redis.Redis:
    """Return a client without the library's own retries, which take some seconds."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=WAIT_SECONDS,
        socket_connect_timeout=WAIT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
