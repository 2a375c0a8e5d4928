"""Typed readers of environment variables, the only input of the settings, and of connection URLs.

A variable X is taken from the environment, else from the file that X_FILE names (compose
secrets), else from `var/secrets.env` (made once by `manage.py secrets`).
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}
SCHEMES = {"postgres", "postgresql"}


def read_env_file(path: Path) -> dict[str, str]:
    """Return NAME=VALUE lines of a file, {} where there is none; `#` starts a comment line."""
    if not path.is_file():
        return {}
    lines = (line.strip() for line in path.read_text().splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


class Environment:
    """Reads settings as text, flag, whole number or list."""

    def __init__(self, env_file: Path, variables: Mapping[str, str] | None = None) -> None:
        self.variables = os.environ if variables is None else variables
        self.fallback = read_env_file(env_file)

    def text(self, name: str, default: str = "") -> str:
        """Return the value, or the default where it is set nowhere."""
        if name in self.variables:
            return self.variables[name]
        file_name = self.variables.get(f"{name}_FILE")
        if file_name:
            try:
                return Path(file_name).read_text().strip()
            except OSError as error:
                raise ImproperlyConfigured(
                    f"{name}_FILE names {file_name}, which cannot be read: {error.strerror}"
                ) from error
        return self.fallback.get(name, default)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a switch: 1/true/yes/on or 0/false/no/off."""
        value = self.text(name, "1" if default else "0").lower()
        if value not in TRUE | FALSE:
            raise ImproperlyConfigured(f"{name} is {value!r}; set it to 1 or 0")
        return value in TRUE

    def whole(self, name: str, default: int, *, least: int = 0, most: int | None = None) -> int:
        """Return a whole number that is at least `least` and at most `most`."""
        value = self.text(name, str(default))
        if not value.isdecimal() or int(value) < least or (most is not None and int(value) > most):
            until = "up" if most is None else f"to {most}"
            raise ImproperlyConfigured(
                f"{name} is {value!r}; set it to a number from {least} {until}"
            )
        return int(value)

    def number(self, name: str, default: float) -> float:
        """Return a number of 0 or more, also a fraction."""
        value = self.text(name, str(default))
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf:
            raise ImproperlyConfigured(f"{name} is {value!r}; set it to a number from 0 up")
        return number

    def choice(self, name: str, *known: str) -> str:
        """Return one of the known words; the first where it is set nowhere."""
        value = self.text(name, known[0])
        if value not in known:
            raise ImproperlyConfigured(f"{name} is {value!r}; set it to {' or '.join(known)}")
        return value

    def words(self, name: str, default: str = "") -> list[str]:
        """Return a list written with commas."""
        return [word.strip() for word in self.text(name, default).split(",") if word.strip()]


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
        "ENGINE": "panel.configuration.postgresql",
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
