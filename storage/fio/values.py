"""Numbers, names, amounts and times as fio writes them. What cannot be true is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from storage.byte_sizes import GIB, KIB, MIB
from storage.fio.results import FioRefusal

LARGEST: Final = 2**63 - 1
NAME_LENGTH: Final = 500
OPTIONS: Final = 200

_BINARY: Final = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": 1024**4, "p": 1024**5}
_DECIMAL: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
_SECONDS: Final = {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6}
_AMOUNT = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s*([kmgtp]?)(i?)(b?)", re.IGNORECASE)
_TIME = re.compile(r"(\d{1,15})(d|h|ms|m|us|s)?", re.IGNORECASE)
_VERSION = re.compile(r"(?:fio[- ]v?)?(\d{1,3})\.(\d{1,3})")


def number(row: Mapping[str, Any], key: str) -> float | None:
    """A figure that counts something. None where it is missing or fio wrote "nan"."""
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FioRefusal("not-a-number", f"The value of {clean(key)} is not a number.")
    if math.isnan(value):
        return None
    if not 0 <= value <= LARGEST:
        raise FioRefusal("impossible-number", f"The value of {clean(key)} is impossible.")
    return value


def whole(row: Mapping[str, Any], key: str) -> int | None:
    """A figure without a fraction."""
    value = number(row, key)
    if value is not None and value != int(value):
        raise FioRefusal("impossible-number", f"The value of {clean(key)} is not a whole number.")
    return None if value is None else int(value)


def integer(text: str) -> int | float:
    """An integer of a JSON file, infinite where it is longer than any count."""
    if len(text) <= 25:
        return int(text)
    return -math.inf if text.startswith("-") else math.inf


def clean(text: object, length: int = NAME_LENGTH) -> str:
    """A name of another machine, without what no page and no database can hold."""
    if not isinstance(text, str | int | float):
        return ""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for letter in str(text)[:length]
    )


def version_of(text: str | None) -> tuple[int, int] | None:
    """The numbers of "fio-3.36-17-gabcdef"."""
    match = _VERSION.match(text or "")
    return (int(match[1]), int(match[2])) if match else None


def seconds(text: str | None) -> float | None:
    """A time of an option; without a unit it is seconds."""
    match = _TIME.fullmatch(text.strip()) if text else None
    return int(match[1]) * _SECONDS[(match[2] or "s").lower()] if match else None


def amount(text: str) -> float | None:
    """An amount that fio prints: Ki, Mi are powers of 1024; K, M without an i of 1000."""
    match = _AMOUNT.fullmatch(text.strip())
    if not match:
        return None
    units = _BINARY if match[3] else _DECIMAL
    return float(match[1]) * units[match[2].lower()]


def amount_before_units(text: str) -> float | None:
    """The same before fio wrote "Ki": KB, MB and GB were powers of 1024, and TB was called PB."""
    match = _AMOUNT.fullmatch(text.strip())
    return float(match[1]) * _BINARY[match[2].lower().replace("p", "t")] if match else None


def options_of(*tables: object) -> dict[str, str]:
    """The options of a job, the later tables over the earlier ones."""
    merged: dict[str, str] = {}
    for table in tables:
        if isinstance(table, dict):
            merged |= {clean(key): clean(value) for key, value in list(table.items())[:OPTIONS]}
    return merged
