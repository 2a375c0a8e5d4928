"""Typed readers of environment variables, the only input of the settings.

A variable X is taken from the environment, else from the file that X_FILE names (compose
secrets), else from `var/secrets.env` (made once by `manage.py secrets`).
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


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

    def whole(self, name: str, default: int, *, least: int = 0) -> int:
        """Return a whole number that is at least `least`."""
        value = self.text(name, str(default))
        if not value.isdecimal() or int(value) < least:
            raise ImproperlyConfigured(f"{name} is {value!r}; set it to a number from {least} up")
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
