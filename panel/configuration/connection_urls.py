"""PostgreSQL URLs as Django's DATABASES entries, Redis URLs as Celery wants them."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

SCHEMES = {"postgres", "postgresql"}


def database(url: str) -> dict[str, Any]:
    """Return the entry for `postgresql://user:password@host:port/name?option=value`.

    `?host=/folder` names a Unix socket's folder, as in libpq.
    """
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.path.strip("/"):
        raise ImproperlyConfigured(
            "a database URL reads postgresql://user:password@host:port/name; only PostgreSQL works"
        )
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "panel.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def broker(url: str) -> str:
    """Return a Redis URL in Celery's spelling, which differs for Unix sockets.

    `unix:///path?db=0` of redis-py is `redis+socket:///path?virtual_host=0` there.
    """
    if url.startswith(("redis://", "rediss://")):
        return url
    if not url.startswith("unix:///"):
        raise ImproperlyConfigured("REDIS_URL reads redis://host:6379/0 or unix:///socket?db=0")
    return url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=")
